#include "base/status.hpp"

#include <catch2/catch_test_macros.hpp>

using gyre::Code;
using gyre::Result;
using gyre::Status;

TEST_CASE("a default status is ok and says nothing") {
  const Status status;
  CHECK(status.ok());
  CHECK(status.code() == Code::ok);
  CHECK(status.rank() == Status::no_rank);
  CHECK(status.message().empty());
}

TEST_CASE("context is put before the cause and keeps code and rank") {
  const Status status = Status(Code::peer_failed, "connection closed", 3).within("all_reduce");
  CHECK(status.code() == Code::peer_failed);
  CHECK(status.rank() == 3);
  CHECK(status.message() == "all_reduce: connection closed");
  CHECK(Status().within("all_reduce").ok());
}

TEST_CASE("a system error has errno's words") {
  CHECK(gyre::system_error("open /nowhere", 2).message() ==
        "open /nowhere: No such file or directory");
}

TEST_CASE("a result holds a value or the reason why not") {
  Result<int> good = 7;
  REQUIRE(good.ok());
  CHECK(*good == 7);
  Result<int> bad = Status(Code::timeout, "too late");
  CHECK_FALSE(bad.ok());
  CHECK(bad.status().code() == Code::timeout);
}
