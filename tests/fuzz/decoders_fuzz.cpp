// libFuzzer harness for every decoder that another process's bytes reach before or after it has
// proved itself: run by tests/fuzz/run.py. The first byte picks the decoder, so that one corpus
// serves all of them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/codec.hpp"
#include "base/hmac.hpp"
#include "transport/bootstrap/handshake.hpp"
#include "transport/bootstrap/messages.hpp"
#include "transport/bootstrap/unique_id.hpp"

namespace {

using namespace gyre;
using namespace gyre::transport;

constexpr Secret secret = {std::byte{1}};
constexpr Nonce server = {std::byte{2}};
constexpr Nonce client = {std::byte{3}};

void demand(bool condition) {
  if (!condition) std::abort();
}

void try_hello(std::span<const std::byte> bytes) {
  if (bytes.size() >= Hello::prefix_bytes) {
    const auto total = hello_bytes(bytes.first(Hello::prefix_bytes));
    demand(!total || (*total <= Hello::bytes_max && *total > Hello::prefix_bytes));
  }
  // Nobody guesses a MAC: what is accepted here would be a forgery.
  demand(!decode_hello(secret, server, bytes));
}

void try_welcome(std::span<const std::byte> bytes) {
  if (bytes.size() >= Welcome::prefix_bytes) {
    const auto total = welcome_bytes(bytes.first(Welcome::prefix_bytes));
    demand(!total || (*total <= Welcome::bytes_max && *total > Welcome::prefix_bytes));
  }
  demand(!decode_welcome(secret, server, client, bytes));
}

/// A client that knows the secret may still say anything: fields as the fuzzer likes them.
void try_honest_hello(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Hello hello;
  hello.protocol = static_cast<std::uint16_t>(protocol_version + reader.u8() % 2);
  hello.purpose = static_cast<Purpose>(reader.u8());
  hello.build = reader.u32();
  hello.job_nonce = reader.u64();
  hello.rank = reader.i32();
  hello.size = reader.i32();
  hello.client_nonce = reader.array<sizeof(Nonce)>();
  const auto message = encode_hello(secret, server, hello);
  demand(message.ok());
  const auto decoded = decode_hello(secret, server, *message);
  demand(decoded.has_value() && decoded->protocol == hello.protocol);
  demand(hello.protocol != protocol_version || decoded->rank == hello.rank);
}

void try_messages(std::span<const std::byte> bytes) {
  if (const auto contribution = decode_contribution(bytes))
    demand(contribution->record.size() <= bytes.size());
  if (const auto record = decode_record(bytes)) demand(record->record.size() <= bytes.size());
  if (const auto failure = decode_failure(bytes))
    demand(failure->text.size() <= GroupFailure::text_bytes_max);
  (void)decode_round_complete(bytes);
  (void)decode_goodbye(bytes);
  (void)decode_process(bytes);
  (void)decode_shared_memory(bytes);
  (void)decode_lifeline(bytes);
  (void)decode_received(bytes);
  (void)decode_fetch(bytes);
  (void)decode_segment_answer(bytes);
  (void)decode_withdrawal(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 6) {
    case 0: try_hello(bytes); break;
    case 1: try_welcome(bytes); break;
    case 2: try_honest_hello(bytes); break;
    case 3: try_messages(bytes); break;
    case 4: (void)decode_challenge(bytes); break;
    case 5: (void)UniqueId::decode(bytes); break;
  }
  return 0;
}
