#include "collectives/announcing.hpp"

#include <cstring>

namespace gyre::collectives {

namespace {

/// The payload of a large operation. Only ranks of one machine map each other's memory, so the
/// words are in that machine's order.
struct RefWords {
  std::uint32_t input_segment;
  std::uint32_t input_generation;
  std::uint64_t input_offset;
  std::uint32_t output_segment;
  std::uint32_t output_generation;
  std::uint64_t output_offset;
};
static_assert(sizeof(RefWords) == refs_bytes &&
              refs_bytes <= transport::Announcement::payload_bytes_max);

}  // namespace

void encode_refs(const Buffers& buffers, transport::Announcement& announcement) {
  const RefWords words{buffers.input_ref.segment,     buffers.input_ref.generation,
                       buffers.input_ref.offset,      buffers.output_ref.segment,
                       buffers.output_ref.generation, buffers.output_ref.offset};
  std::memcpy(announcement.payload.data(), &words, sizeof words);
}

void decode_refs(const transport::Announcement& announcement, transport::MappedRef& input,
                 transport::MappedRef& output) {
  RefWords words;
  std::memcpy(&words, announcement.payload.data(), sizeof words);
  input = {words.input_segment, words.input_generation, words.input_offset};
  output = {words.output_segment, words.output_generation, words.output_offset};
}

}  // namespace gyre::collectives
