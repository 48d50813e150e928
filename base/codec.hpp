// The one way in which bytes that come from, or go to, another process are read and written: fixed
// width, little endian, bounded. A reader that has failed stays failed and returns zeroes, so a
// decoder reads all fields first and asks once, at the end, whether they were there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace gyre {

/// Writes into a fixed buffer. What does not fit is not written and makes ok() false.
class Writer {
 public:
  explicit Writer(std::span<std::byte> into) : into_(into) {}

  void u8(std::uint8_t value) { integer(value); }
  void u16(std::uint16_t value) { integer(value); }
  void u32(std::uint32_t value) { integer(value); }
  void u64(std::uint64_t value) { integer(value); }
  void i32(std::int32_t value) { integer(static_cast<std::uint32_t>(value)); }

  void bytes(std::span<const std::byte> data) {
    if (std::byte* at = take(data.size()); at && !data.empty())
      std::memcpy(at, data.data(), data.size());
  }

  /// A 16-bit length and the characters; longer texts are cut at `bytes_max`.
  void text(std::string_view text, std::size_t bytes_max) {
    text = text.substr(0, bytes_max < 0xffff ? bytes_max : 0xffff);
    u16(static_cast<std::uint16_t>(text.size()));
    bytes(std::as_bytes(std::span(text)));
  }

  bool ok() const { return ok_; }
  std::span<const std::byte> written() const { return into_.first(used_); }

 private:
  std::byte* take(std::size_t count) {
    ok_ = ok_ && count <= into_.size() - used_;
    if (!ok_) return nullptr;
    std::byte* at = into_.data() + used_;
    used_ += count;
    return at;
  }

  template <typename T>
  void integer(T value) {
    static_assert(std::is_unsigned_v<T>);
    std::byte* at = take(sizeof(T));
    if (!at) return;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      at[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }

  std::span<std::byte> into_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

/// Reads from untrusted bytes. After the first field that is not there every value is zero.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) : from_(from) {}

  std::uint8_t u8() { return integer<std::uint8_t>(); }
  std::uint16_t u16() { return integer<std::uint16_t>(); }
  std::uint32_t u32() { return integer<std::uint32_t>(); }
  std::uint64_t u64() { return integer<std::uint64_t>(); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }

  /// A view of the next `count` bytes; empty on failure.
  std::span<const std::byte> bytes(std::size_t count) {
    ok_ = ok_ && count <= from_.size() - used_;
    if (!ok_) return {};
    const auto view = from_.subspan(used_, count);
    used_ += count;
    return view;
  }

  template <std::size_t Count>
  std::array<std::byte, Count> array() {
    std::array<std::byte, Count> value = {};
    if (const auto view = bytes(Count); view.size() == Count && Count > 0)
      std::memcpy(value.data(), view.data(), Count);
    return value;
  }

  /// What Writer::text wrote; longer than `bytes_max` is a failure.
  std::string text(std::size_t bytes_max) {
    const std::size_t count = u16();
    ok_ = ok_ && count <= bytes_max;
    const auto view = ok_ ? bytes(count) : std::span<const std::byte>{};
    return std::string(reinterpret_cast<const char*>(view.data()), view.size());
  }

  std::size_t left() const { return from_.size() - used_; }
  bool ok() const { return ok_; }
  /// Whether every field was there and nothing is left over.
  bool finished() const { return ok_ && left() == 0; }

 private:
  template <typename T>
  T integer() {
    const auto view = bytes(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < view.size(); ++i)
      value |= std::to_integer<std::uint64_t>(view[i]) << (8 * i);
    return static_cast<T>(value);
  }

  std::span<const std::byte> from_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

}  // namespace gyre
