// A queue of messages from one rank to one or more readers, as a simulated wire: it decides when
// bytes are copied, when each side learns of it, and checks that nobody touches what is not theirs.
//
// The sender's slots and the readers' slots are different memory: what a message carries is copied
// at a drawn moment between its hand-over and its arrival, and slots are overwritten with a pattern
// when they change hands. So reading early or late, or writing after handing over, changes results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "transport/link.hpp"
#include "transport/sim/core.hpp"

namespace gyre::transport {

class SimChannel {
 public:
  /// What overwritten slots hold.
  static constexpr std::byte poison{0xa5};

  SimChannel(SimCore& core, int id, int from, std::vector<int> readers, int places);
  SimChannel(const SimChannel&) = delete;

  // The sender's calls, as in SendLink.
  std::span<std::byte* const> reserve(std::size_t bytes);
  void publish(std::size_t bytes);
  bool post(const std::byte* data, std::size_t bytes);
  std::uint64_t posted() const { return posted_; }
  std::uint64_t released() const;
  std::uint64_t bytes_sent() const { return bytes_sent_; }

  // The calls of reader number `reader`, as in RecvLink.
  const std::byte* peek(int reader, std::size_t bytes);
  void place(int reader, std::byte* into, std::size_t bytes);
  void release(int reader);

  // What the event queue says. `value` is a number of messages.
  void on_message(int reader, std::uint64_t value);
  void on_credit(int reader, std::uint64_t value);
  void on_source(std::uint64_t value);

  /// Message links: lets the sender, or a reader, see what has arrived. True if anything had.
  bool pump_sender();
  bool pump_reader(int reader);
  bool has_for_sender() const;
  bool has_for_reader(int reader) const;

  /// The sender has died: what is already on the wire arrives, the rest may be lost.
  void cut();
  /// The sender has seen the communicator fail: its memory is not read any more.
  void forget_sources();
  /// Reader `reader` has: its memory is not written any more.
  void forget_place(int reader);

 private:
  struct Message {
    const std::byte* source = nullptr;
    std::size_t bytes = 0;
    std::uint64_t hash = 0;
    std::uint64_t serial = 0;  ///< among all messages of the sender
    bool from_user = false;
  };
  static constexpr std::size_t not_looked = SIZE_MAX;
  struct Reader {
    int rank = -1;
    std::uint64_t copied = 0;    ///< messages that are in `slots`
    std::uint64_t arrived = 0;   ///< messages that could be seen
    std::uint64_t seen = 0;      ///< messages that can be seen (after a pump, on message links)
    std::uint64_t consumed = 0;  ///< messages given back
    std::uint64_t credit_arrived = 0;
    std::uint64_t credit_seen = 0;
    std::uint64_t cut_at = UINT64_MAX;  ///< messages from here on never arrive
    Nanoseconds message_at = 0;         ///< when the newest message arrives
    Nanoseconds credit_at = 0;
    std::byte* into = nullptr;  ///< a granted wish for message number `consumed`
    std::size_t into_bytes = 0;
    std::size_t expected_bytes = not_looked;  ///< of message number `consumed`
    bool wished = false;                      ///< for message number `consumed`
    bool in_place = false;                    ///< message number `consumed` lies at `into`
    std::vector<std::byte> slots;
  };

  Reader& reader_at(int reader) { return readers_[static_cast<std::size_t>(reader)]; }
  Message& message_at(std::uint64_t index) {
    return messages_[static_cast<std::size_t>(index - first_)];
  }
  std::byte* slot(Reader& reader, std::uint64_t index);
  bool has_credit();
  void hand_over(const Message& message, SimAct what);
  /// Copies message `index` from its source to what `reader` will see.
  void copy(Reader& reader, std::uint64_t index);
  void check_source(const Message& message, std::uint64_t index);
  void drop_finished();

  SimCore& core_;
  int id_;
  int from_;
  int factor_;  ///< this link is so many times slower than the profile says
  std::vector<Reader> readers_;
  std::deque<Message> messages_;
  std::uint64_t first_ = 0;  ///< number of messages_[0]
  std::uint64_t posted_ = 0;
  std::uint64_t source_done_ = 0;  ///< messages whose source was read
  std::uint64_t source_seen_ = 0;
  std::uint64_t bytes_sent_ = 0;
  Nanoseconds source_at_ = 0;
  bool sources_forgotten_ = false;
  std::optional<std::size_t> reserved_;  ///< bytes
  std::vector<std::byte> staging_;  ///< the sender's side: places x slots
  std::vector<std::byte*> places_;  ///< of the message that is reserved
  std::size_t place_count_;
};

class SimSendLink final : public SendLink {
 public:
  explicit SimSendLink(SimChannel& channel) : channel_(channel) {}
  std::span<std::byte* const> reserve(std::size_t bytes) override {
    return channel_.reserve(bytes);
  }
  void publish(std::size_t bytes) override { channel_.publish(bytes); }
  bool post(const std::byte* data, std::size_t bytes) override {
    return channel_.post(data, bytes);
  }
  std::uint64_t posted() const override { return channel_.posted(); }
  std::uint64_t released() const override { return channel_.released(); }
  std::uint64_t bytes_sent() const override { return channel_.bytes_sent(); }

 private:
  SimChannel& channel_;
};

class SimRecvLink final : public RecvLink {
 public:
  SimRecvLink(SimChannel& channel, int reader) : channel_(channel), reader_(reader) {}
  const std::byte* peek(std::size_t bytes) override { return channel_.peek(reader_, bytes); }
  void place(std::byte* into, std::size_t bytes) override { channel_.place(reader_, into, bytes); }
  void release() override { channel_.release(reader_); }

 private:
  SimChannel& channel_;
  int reader_;
};

}  // namespace gyre::transport
