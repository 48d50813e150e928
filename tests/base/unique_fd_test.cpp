#include "base/unique_fd.hpp"

#include <fcntl.h>

#include <catch2/catch_test_macros.hpp>

using gyre::UniqueFd;

namespace {

int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

}  // namespace

TEST_CASE("a descriptor is closed once, by its last owner") {
  const int fd = open_null();
  REQUIRE(fd >= 0);
  {
    UniqueFd first(fd);
    UniqueFd second = std::move(first);
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): empty is what is promised
    CHECK(second.get() == fd);
    UniqueFd& same = second;
    second = std::move(same);
    CHECK(is_open(fd));
  }
  CHECK_FALSE(is_open(fd));
}

TEST_CASE("a released descriptor stays open and reset closes the old one") {
  UniqueFd owner(open_null());
  const int released = owner.release();
  CHECK_FALSE(owner);
  CHECK(is_open(released));
  owner.reset(released);
  owner.reset(open_null());
  CHECK_FALSE(is_open(released));
  CHECK(is_open(owner.get()));
}
