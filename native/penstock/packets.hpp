// Large messages: cut into packets by the producer, put together by the consumer. Packets of different producers
// interleave; one producer has one large message under way at a time.
//
// Nothing is lost when the consumer dies half-way: the producer keeps the message until the consumer has settled it
// (handed it out whole and come back for more), and sends all of it again if another consumer took over meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "consumer.hpp"
#include "layout.hpp"
#include "producer.hpp"
#include "slots.hpp"

namespace penstock {

enum class SendResult { settled, pending, closed };

// A large message on its way. Call advance() until it is settled; the bytes must stay until then.
template <class P = LinuxPlatform>
class PacketSender {
 public:
  PacketSender(Producer<P>& producer, std::uint32_t message_id, const Route& route, const std::byte* bytes,
               std::uint64_t total)
      : producer_(producer), route_(route), bytes_(bytes), total_(total), message_id_(message_id) {
    per_packet_ = producer.max_payload() - sizeof(PacketHead);
    packet_count_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (total + per_packet_ - 1) / per_packet_));
    generation_ = producer.consumer_generation();
  }

  // Sends as many packets as there is room for.
  SendResult advance() {
    if (all_sent() && producer_.settled_message() == message_id_) return SendResult::settled;
    const std::uint64_t generation = producer_.consumer_generation();
    if (generation != generation_) {
      generation_ = generation;
      next_ = 0;
    }
    for (; next_ != packet_count_; ++next_) {
      const std::uint64_t begin = next_ * per_packet_;
      const std::uint64_t bytes = std::min(per_packet_, total_ - begin);
      const PacketHead head{message_id_, next_, packet_count_, 0, total_};
      const WriteResult result = producer_.try_write(
          route_, Kind::packet, static_cast<std::uint32_t>(sizeof(head) + bytes), [&](std::byte* to) {
            P::copy(to, &head, sizeof(head));
            P::copy(to + sizeof(head), bytes_ + begin, bytes);
          });
      if (result == WriteResult::closed) return SendResult::closed;
      if (result == WriteResult::full) return SendResult::pending;
      P::at(CrashPoint::between_packets);
    }
    return producer_.settled_message() == message_id_ ? SendResult::settled : SendResult::pending;
  }

  // Whether every packet is in the ring: the message arrives, unless its consumer dies before it has settled it.
  bool all_sent() const { return next_ == packet_count_; }

 private:
  Producer<P>& producer_;
  Route route_;
  const std::byte* bytes_;
  std::uint64_t total_;
  std::uint64_t per_packet_;
  std::uint64_t generation_;
  std::uint32_t message_id_;
  std::uint32_t packet_count_;
  std::uint32_t next_ = 0;
};

// A large message put together again.
struct Assembled {
  std::unique_ptr<std::byte[]> bytes;
  std::uint64_t length;
  std::uint32_t slot;
  std::uint32_t message_id;
};

// Every number in a packet's head comes from another process: each is checked before it is used.
template <class P = LinuxPlatform>
class Assembler {
 public:
  explicit Assembler(RingView view) : view_(view), slots_(view) {}

  // Takes a packet; gives the message back when it was the last one. The record may be finished afterwards.
  std::optional<Assembled> add(const Delivery& packet) {
    PacketHead head;
    if (packet.state.length < sizeof(head)) corrupt(packet, "is shorter than its head");
    P::copy(&head, packet.payload, sizeof(head));
    const std::uint64_t bytes = packet.state.length - sizeof(head);
    if (head.total_bytes > view_.max_message()) corrupt(packet, "belongs to a message beyond the limit");
    if (head.packet_number >= head.packet_count) corrupt(packet, "has a number beyond the count");

    // Sent again for a new consumer, though this one, or the former, had all of it.
    const std::uint32_t settled = P::load(view_.slot(packet.state.slot).owner.settled_message, std::memory_order_seq_cst);
    const auto last = completed_.find(packet.state.slot);
    if (head.message_id == settled || (last != completed_.end() && last->second == head.message_id)) return std::nullopt;

    auto found = partial_.find(packet.state.slot);
    if (head.packet_number == 0) {
      if (found != partial_.end()) drop(found);  // its producer began anew, or a new producer has the slot
      Partial fresh{{std::make_unique_for_overwrite<std::byte[]>(head.total_bytes), head.total_bytes,
                     packet.state.slot, head.message_id}, 0, 0};
      found = partial_.insert_or_assign(packet.state.slot, std::move(fresh)).first;
    } else if (found == partial_.end()) {
      return std::nullopt;  // the tail of a message whose head a former consumer took: it is sent again
    }
    Partial& partial = found->second;
    if (head.message_id != partial.message.message_id || head.packet_number != partial.next_packet ||
        head.total_bytes != partial.message.length || bytes > partial.message.length - partial.filled)
      corrupt(packet, "does not continue its message");
    P::copy(partial.message.bytes.get() + partial.filled, packet.payload + sizeof(head), bytes);
    partial.filled += bytes;
    if (++partial.next_packet != head.packet_count) return std::nullopt;
    if (partial.filled != partial.message.length) corrupt(packet, "is the last, but its message is not whole");
    Assembled whole = std::move(partial.message);
    completed_[whole.slot] = whole.message_id;
    partial_.erase(found);
    return whole;
  }

  // Forgets unfinished messages of producers that are gone and have nothing left in the ring.
  void drop_orphans() {
    for (auto it = partial_.begin(); it != partial_.end();) {
      const auto current = it++;
      if (slots_.forgotten(current->first)) drop(current);
    }
  }

 private:
  struct Partial {
    Assembled message;
    std::uint64_t filled;
    std::uint32_t next_packet;
  };
  using Partials = std::unordered_map<std::uint32_t, Partial>;

  void drop(typename Partials::iterator it) {
    partial_.erase(it);
    bump<P>(view_.control().counters.dropped_messages);
  }

  [[noreturn]] static void corrupt(const Delivery& packet, const char* why) {
    throw RingCorrupt("ring is corrupt: packet at position=" + std::to_string(packet.position) +
                      " slot=" + std::to_string(packet.state.slot) + " " + why);
  }

  RingView view_;
  SlotTable<P> slots_;
  Partials partial_;
  std::unordered_map<std::uint32_t, std::uint32_t> completed_;
};

}  // namespace penstock
