// Frames that came over links, on their way into the worker's own ring: what they look like, which of them are missing,
// which are refused. Whoever receives them hands them over here, as one more producer of the ring.
//
//   0      8        16       20       24       28           32      36
//   +------+--------+--------+--------+--------+------------+-------+---------- - -
//   | link | number | target | source | stream | assignment | flags | payload          all little-endian
//   +------+--------+--------+--------+--------+------------+-------+---------- - -
//
// A link is a random number, and its frames are numbered from 0: ZeroMQ reconnects by itself, and loses what was under
// way.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "errors.hpp"
#include "layout.hpp"
#include "packets.hpp"
#include "producer.hpp"
#include "view.hpp"

namespace penstock {

struct LinkNumber {
  std::uint64_t link;
  std::uint64_t number;
};
inline constexpr std::size_t kLinkHeadBytes = sizeof(LinkNumber) + sizeof(Route);
static_assert(std::endian::native == std::endian::little && sizeof(LinkNumber) == 16 && sizeof(Route) == 20);

inline std::array<char, kLinkHeadBytes> pack_link_head(const LinkNumber& number, const Route& route) {
  std::array<char, kLinkHeadBytes> head;
  std::memcpy(head.data(), &number, sizeof(number));
  std::memcpy(head.data() + sizeof(number), &route, sizeof(route));
  return head;
}

// One thread uses it; any may look at the counts.
template <class P = LinuxPlatform>
class LinkIntake {
 public:
  // `mapping` keeps the memory behind `view` mapped; `slot` is nobody else's to write with.
  LinkIntake(std::shared_ptr<const void> mapping, RingView view, std::uint32_t slot)
      : mapping_(std::move(mapping)), max_message_(view.max_message()), producer_(view, slot) {}
  LinkIntake(const LinkIntake&) = delete;
  LinkIntake& operator=(const LinkIntake&) = delete;

  // Takes up a message, of which this is the first of so many parts; false if it is no frame, or one that the ring never
  // takes. The bytes must stay until deliver() is done with them.
  bool take(std::span<const std::byte> frame, std::size_t parts) {
    if (parts != 1) return refuse("a frame has one part, got " + std::to_string(parts));
    LinkNumber number;
    if (frame.size() < sizeof(number))
      return refuse("a frame's number has " + std::to_string(sizeof(number)) + " bytes, got " + std::to_string(frame.size()));
    std::memcpy(&number, frame.data(), sizeof(number));
    count(number);
    if (frame.size() < kLinkHeadBytes)
      return refuse("a frame's head has " + std::to_string(kLinkHeadBytes) + " bytes, got " + std::to_string(frame.size()));
    const std::span<const std::byte> payload = frame.subspan(kLinkHeadBytes);
    if (payload.size() > max_message_)
      return refuse("payload_bytes=" + std::to_string(payload.size()) + " limit=" + std::to_string(max_message_) +
                    " (the ring's max_message_bytes)");
    std::memcpy(&route_, frame.data() + sizeof(number), sizeof(route_));
    check_open();
    payload_ = payload;
    under_way_ = true;
    if (payload.size() > producer_.max_payload())
      large_.emplace(producer_, producer_.next_large_message(), route_, payload.data(), payload.size());
    return true;
  }

  // Writes what there is room for of the frame that was taken up, and sleeps until there is room for more, `most_ns` at
  // most. True when the ring has all of it. Throws RingClosed.
  bool deliver(std::int64_t most_ns) {
    if (advance()) return true;
    if (!std::exchange(waited_, true)) producer_.count_full_wait();
    const std::uint32_t sequence = producer_.prepare_wait();
    if (advance()) return true;
    producer_.sleep(sequence, most_ns);
    return false;
  }

  // Forgets the ring and what is under way; the counts stay. Not while another thread is in deliver().
  void close() {
    settle();
    mapping_.reset();
  }

  // How many were no frames, or such as the ring never takes.
  std::uint64_t refused() const { return refused_.load(std::memory_order_acquire); }
  // Why the first of them was, if refused() has said that there is one.
  const std::string& first_refusal() const { return first_refusal_; }
  // How many were sent and did not arrive.
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  bool refuse(std::string why) {
    const std::uint64_t before = refused_.load(std::memory_order_relaxed);
    if (before == 0) first_refusal_ = std::move(why);  // never written again: so it may be read without a lock
    refused_.store(before + 1, std::memory_order_release);
    return false;
  }

  void count(const LinkNumber& came) {
    std::uint64_t& wanted = next_numbers_[came.link];
    if (came.number > wanted) {
      const std::uint64_t before = lost_.load(std::memory_order_relaxed);
      const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - before;  // whatever a peer says
      lost_.store(before + std::min(came.number - wanted, most), std::memory_order_relaxed);
    }
    wanted = came.number + 1;
  }

  void check_open() const {
    if (!mapping_) throw RingClosed("the intake of this link is closed, or it was made before a fork");
  }

  bool advance() {
    if (!under_way_) return true;
    check_open();
    if (!(large_ ? sent_large() : written())) return false;
    settle();
    return true;
  }
  bool written() {
    const auto length = static_cast<std::uint32_t>(payload_.size());  // of a record: it was compared with max_payload()
    const auto fill = [&](std::byte* to) { P::copy(to, payload_.data(), payload_.size()); };
    const WriteResult result = producer_.try_write(route_, Kind::message, length, fill);
    if (result == WriteResult::closed) throw_closed();
    return result == WriteResult::written;
  }
  bool sent_large() {
    const SendResult result = large_->advance();
    if (result == SendResult::closed) throw_closed();
    return result == SendResult::settled;
  }
  [[noreturn]] static void throw_closed() { throw RingClosed("the ring was closed by its consumer"); }

  void settle() {
    large_.reset();
    payload_ = {};
    under_way_ = waited_ = false;
  }

  std::shared_ptr<const void> mapping_;
  const std::uint64_t max_message_;
  Producer<P> producer_;
  std::unordered_map<std::uint64_t, std::uint64_t> next_numbers_;  // by link
  // The frame that was taken up last, and is not in the ring yet.
  bool under_way_ = false;
  bool waited_ = false;
  Route route_;
  std::span<const std::byte> payload_;
  std::optional<PacketSender<P>> large_;

  std::string first_refusal_;
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace penstock
