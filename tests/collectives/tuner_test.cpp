// The choice of an algorithm is a pure function, the same on every rank.
#include "collectives/tuner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "collectives/configuration.hpp"

using Catch::Matchers::ContainsSubstring;
using gyre::Collective;
using gyre::DataType;
using namespace gyre::collectives;

namespace {

Call call_of(Collective collective, std::uint64_t count) {
  Call call;
  call.collective = collective;
  call.count = count;
  return call;
}

}  // namespace

TEST_CASE("every collective has a rule for every size and number of ranks") {
  const Tuning tuning;
  for (const auto& row : gyre::collective_table) {
    for (const std::uint64_t count : {0ull, 1ull, 100ull, 1ull << 20, 1ull << 40}) {
      for (const int size : {1, 2, 3, 64, 1024}) {
        for (const bool mapped : {false, true}) {
          const auto choice = choose(tuning, call_of(row.collective, count), size, mapped);
          REQUIRE(choice.ok());
          REQUIRE(choice->schedule != nullptr);
          CHECK(choice->schedule->collective == row.collective);
          if (!mapped) CHECK(choice->schedule->needs == gyre::schedules::Needs::slots);
        }
      }
    }
  }
}

TEST_CASE("a forced algorithm is taken where the collective has it, else said why not") {
  Tuning tuning;
  tuning.forced = "ring";
  CHECK(choose(tuning, call_of(Collective::all_reduce, 100), 4, false)->schedule->algorithm ==
        "ring");
  tuning.forced = "mapped";
  const auto plain = choose(tuning, call_of(Collective::all_reduce, 100), 4, false);
  CHECK(plain->schedule->algorithm != "mapped");
  CHECK_THAT(std::string(plain->reason), ContainsSubstring("mappable buffers"));
}

TEST_CASE("an unknown algorithm is refused with the known ones named") {
  CHECK(check_algorithm("ring").ok());
  CHECK_THAT(check_algorithm("rign").message(),
             ContainsSubstring("GYRE_ALGORITHM=rign: no such algorithm; there are ring"));
}

TEST_CASE("plans with other pieces or slots have another hash") {
  Tuning tuning;
  const Choice choice = *choose(tuning, call_of(Collective::all_reduce, 1 << 20), 2, false);
  Choice other = choice;
  other.piece_bytes /= 2;
  CHECK(hash_of(choice, tuning) != hash_of(other, tuning));
  Tuning fewer = tuning;
  fewer.slots = 4;
  CHECK(hash_of(choice, tuning) != hash_of(choice, fewer));
}

TEST_CASE("a rank's record survives the journey, and a damaged one is refused") {
  RankRecord record;
  record.cpus.words[0] = 5;
  record.strict = true;
  record.tuning.forced = "ring";
  record.tuning.slots = 3;
  const auto bytes = record.encode();
  const auto read = RankRecord::decode(bytes);
  REQUIRE(read.ok());
  CHECK(read->cpus.count() == 2);
  CHECK(read->strict);
  CHECK(read->tuning.forced == "ring");
  CHECK(read->tuning.slots == 3);
  CHECK(read->tuning.rules.size() == record.tuning.rules.size());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    CHECK_FALSE(RankRecord::decode(std::span(bytes).first(cut)).ok());
}

TEST_CASE("a call is described in words, and any bits are survived") {
  Call call = call_of(Collective::broadcast, 8);
  call.type = DataType::int32;
  call.root = 2;
  CHECK(describe(call) == "broadcast of 8 int32 from rank 2");
  CHECK_THAT(describe(encode(call, true, 0xbeef)), ContainsSubstring("(plan beef)"));
  CHECK(encode(call, true, 1).agrees_with(encode(call, false, 1)));
  CHECK_FALSE(encode(call, true, 1).agrees_with(encode(call, true, 2)));
  Header garbage{{~0ull, ~0ull}};
  CHECK_FALSE(describe(garbage).empty());
}
