#include "transport/bootstrap/messages.hpp"

#include <catch2/catch_test_macros.hpp>

#include "base/random.hpp"

using namespace gyre;
using namespace gyre::transport;

namespace {

/// What on_message gets of a frame.
std::span<const std::byte> body(const std::vector<std::byte>& frame) {
  return std::span(frame).subspan(frame_prefix_bytes);
}

/// Every decoder on the same bytes; how many found them good.
int decoded(std::span<const std::byte> message) {
  return decode_contribution(message).has_value() + decode_record(message).has_value() +
         decode_round_complete(message).has_value() + decode_failure(message).has_value() +
         decode_goodbye(message).has_value() + decode_process(message).has_value() +
         decode_shared_memory(message).has_value() + decode_lifeline(message).has_value() +
         static_cast<int>(decode_received(message)) + decode_fetch(message).has_value() +
         decode_segment_answer(message).has_value() + decode_withdrawal(message).has_value();
}

std::vector<std::vector<std::byte>> one_of_each() {
  static const std::vector<std::byte> record(100, std::byte{4});
  GroupFailure failure;
  failure.what.code = Code::aborted;
  failure.text = "because";
  return {encode(Contribution{3, 30'000, record}),
          encode(Record{3, 7, record}),
          encode(RoundComplete{3}),
          encode(failure),
          encode(Goodbye{2}),
          encode(Process{}),
          encode(SharedMemory{4096}),
          encode(Lifeline{5, 4, true}),
          encode(Received{}),
          encode(Fetch{1, 2}),
          encode(SegmentAnswer{1, 2, true, 4096, 8192}),
          encode(Withdrawal{1, 2})};
}

}  // namespace

TEST_CASE("each message is read as it was written, and by its own decoder only") {
  for (const auto& frame : one_of_each()) {
    CHECK(frame.size() <= frame_bytes_max);
    CHECK(decoded(body(frame)) == 1);
  }
  const auto failure_frame = one_of_each()[3];
  const auto failure = decode_failure(body(failure_frame));
  CHECK(failure->what.code == Code::aborted);
  CHECK(failure->text == "because");
  const auto answer_frame = one_of_each()[10];
  const auto answer = decode_segment_answer(body(answer_frame));
  CHECK(answer->offset == 4096);
  CHECK(answer->bytes == 8192);
  CHECK(answer->found);
}

TEST_CASE("a message that is cut or has bytes left over is no message") {
  for (auto frame : one_of_each()) {
    const auto whole = body(frame);
    for (std::size_t length = 0; length < whole.size(); ++length)
      CHECK(decoded(whole.first(length)) == 0);
    frame.push_back({});
    CHECK(decoded(body(frame)) == 0);
  }
}

TEST_CASE("a failure without a code of failure is no message") {
  GroupFailure failure;
  CHECK_FALSE(decode_failure(body(encode(failure))));  // ok is none
  failure.what.code = static_cast<Code>(200);
  CHECK_FALSE(decode_failure(body(encode(failure))));
}

TEST_CASE("the greatest record and text fit into a frame") {
  const std::vector<std::byte> record(Group::record_bytes_max, std::byte{1});
  const auto frame = encode(Record{1, 2, record});
  REQUIRE(decode_record(body(frame)));
  CHECK(decode_record(body(frame))->record.size() == Group::record_bytes_max);
  GroupFailure failure;
  failure.what.code = Code::internal;
  failure.text.assign(10'000, 'x');
  const auto cut = encode(failure);
  CHECK(decode_failure(body(cut))->text.size() == GroupFailure::text_bytes_max);
}

TEST_CASE("decoders survive any bytes") {
  Random random(3);
  for (int round = 0; round < 10'000; ++round) {
    auto frames = one_of_each();
    auto& frame = frames[random.below(frames.size())];
    for (int change = 0; change < 3; ++change)
      frame[random.below(frame.size())] = static_cast<std::byte>(random.below(256));
    if (random.chance(1, 2)) frame.resize(frame_prefix_bytes + random.below(frame.size()));
    CHECK(decoded(body(frame)) <= 1);
  }
}
