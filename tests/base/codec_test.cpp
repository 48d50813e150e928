#include "base/codec.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>

using gyre::Reader;
using gyre::Writer;

TEST_CASE("what a writer writes a reader reads, in little endian") {
  std::array<std::byte, 64> buffer = {};
  Writer writer(buffer);
  writer.u8(0x12);
  writer.u16(0x3456);
  writer.u32(0x789abcde);
  writer.u64(0x0123456789abcdefu);
  writer.i32(-2);
  writer.text("ring", 16);
  REQUIRE(writer.ok());
  CHECK(writer.written().size() == 1 + 2 + 4 + 8 + 4 + 2 + 4);
  CHECK(buffer[1] == std::byte{0x56});
  CHECK(buffer[2] == std::byte{0x34});
  CHECK(buffer[3] == std::byte{0xde});

  Reader reader(writer.written());
  CHECK(reader.u8() == 0x12);
  CHECK(reader.u16() == 0x3456);
  CHECK(reader.u32() == 0x789abcde);
  CHECK(reader.u64() == 0x0123456789abcdefu);
  CHECK(reader.i32() == -2);
  CHECK(reader.text(16) == "ring");
  CHECK(reader.finished());
}

TEST_CASE("a writer never writes past its buffer and says so") {
  std::array<std::byte, 8> buffer = {};
  Writer writer{std::span(buffer).first(4)};
  writer.u16(1);
  writer.u32(2);
  writer.u8(3);
  CHECK_FALSE(writer.ok());
  CHECK(writer.written().size() == 2);
  CHECK(buffer[2] == std::byte{0});
  CHECK(buffer[4] == std::byte{0});
}

TEST_CASE("every shorter message is a failure and reads as zeroes") {
  std::array<std::byte, 15> buffer;
  buffer.fill(std::byte{0xff});
  for (std::size_t length = 0; length < buffer.size(); ++length) {
    Reader reader(std::span<const std::byte>(buffer).first(length));
    reader.u8();
    reader.u16();
    reader.u32();
    const auto last = reader.u64();
    CHECK_FALSE(reader.ok());
    CHECK_FALSE(reader.finished());
    CHECK(last == 0);
    CHECK(reader.u8() == 0);
  }
}

TEST_CASE("bytes left over are rejected") {
  const std::array<std::byte, 5> buffer = {};
  Reader reader(buffer);
  reader.u32();
  CHECK(reader.ok());
  CHECK_FALSE(reader.finished());
  CHECK(reader.left() == 1);
}

TEST_CASE("a count that a peer chose cannot overflow") {
  const std::array<std::byte, 8> buffer = {};
  Reader reader(buffer);
  reader.u32();
  CHECK(reader.bytes(static_cast<std::size_t>(-1)).empty());
  CHECK_FALSE(reader.ok());
}

TEST_CASE("texts are cut when written and refused when read too long") {
  std::array<std::byte, 32> buffer = {};
  Writer writer(buffer);
  writer.text("abcdefgh", 4);
  REQUIRE(writer.written().size() == 6);
  Reader fits(writer.written());
  CHECK(fits.text(4) == "abcd");
  Reader too_long(writer.written());
  CHECK(too_long.text(3).empty());
  CHECK_FALSE(too_long.ok());
}

TEST_CASE("an array that is not there in full reads as zeroes") {
  const std::array<std::byte, 3> buffer = {std::byte{1}, std::byte{2}, std::byte{3}};
  Reader reader(buffer);
  CHECK(reader.array<4>() == std::array<std::byte, 4>{});
  CHECK_FALSE(reader.ok());
}
