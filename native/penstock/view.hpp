// A ring's segment as its users see it: where things are, with the sizes that were checked once, at attach.
// Sizes are never read from shared memory again, so a peer that scribbles over them cannot move our bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "errors.hpp"
#include "layout.hpp"
#include "platform.hpp"

namespace penstock {

class RingView {
 public:
  RingView(std::byte* base, std::uint64_t capacity, std::uint32_t max_producers, std::uint64_t max_message)
      : control_(reinterpret_cast<ControlBlock*>(base)),
        slots_(reinterpret_cast<ProducerSlot*>(base + sizeof(ControlBlock))),
        data_(base + data_offset(max_producers)),
        capacity_(capacity),
        max_message_(max_message),
        max_producers_(max_producers) {}

  // Memory is all zeros (a fresh memfd). `version` goes last: who sees it sees the rest.
  template <class P>
  void initialise(std::uint64_t nonce) {
    Identity& identity = control_->identity;
    identity.magic = kMagic;
    identity.max_producers = max_producers_;
    identity.capacity = capacity_;
    identity.max_message = max_message_;
    identity.nonce = nonce;
    for (std::uint32_t i = 0; i < max_producers_; ++i) slots_[i].claim.claim_begin = kNoClaim;
    P::store(identity.version, kLayoutVersion, std::memory_order_release);
  }

  // Throws RingMemory unless `bytes` bytes at `base` are a ring of this layout.
  template <class P>
  static RingView validated(std::byte* base, std::size_t bytes) {
    if (bytes < sizeof(ControlBlock)) throw RingMemory("not a ring: bytes=" + std::to_string(bytes));
    const Identity& identity = reinterpret_cast<ControlBlock*>(base)->identity;
    const std::uint32_t version = P::load(identity.version, std::memory_order_acquire);
    const Identity seen = identity;
    if (seen.magic != kMagic) throw RingMemory("not a ring: the segment does not begin with a ring's magic number");
    if (version != kLayoutVersion)
      throw RingMemory("ring layout version wanted=" + std::to_string(kLayoutVersion) + " got=" + std::to_string(version));
    check_sizes(seen.capacity, seen.max_producers);
    const std::size_t wanted = segment_bytes(seen.capacity, seen.max_producers);
    if (bytes != wanted)
      throw RingMemory("ring segment size wanted=" + std::to_string(wanted) + " got=" + std::to_string(bytes));
    return RingView(base, seen.capacity, seen.max_producers, seen.max_message);
  }

  static void check_sizes(std::uint64_t capacity, std::uint32_t max_producers) {
    if (capacity < kMinCapacity || capacity > kMaxCapacity || (capacity & (capacity - 1)) != 0)
      throw RingMemory("ring capacity must be a power of two from " + std::to_string(kMinCapacity) + " to " +
                       std::to_string(kMaxCapacity) + " bytes, got " + std::to_string(capacity));
    if (max_producers == 0 || max_producers > kMaxProducers)
      throw RingMemory("max_producers must be from 1 to " + std::to_string(kMaxProducers) + ", got " +
                       std::to_string(max_producers));
  }

  ControlBlock& control() const { return *control_; }
  std::uint64_t& tail() const { return control_->tail_group.tail; }
  std::uint64_t& free() const { return control_->free_group.free; }
  ProducerSlot& slot(std::uint32_t index) const { return slots_[index]; }
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t max_message() const { return max_message_; }
  std::uint32_t max_producers() const { return max_producers_; }
  std::uint64_t offset(std::uint64_t position) const { return position & (capacity_ - 1); }
  std::byte* at(std::uint64_t position) const { return data_ + offset(position); }
  RecordHeader& header(std::uint64_t position) const { return *reinterpret_cast<RecordHeader*>(at(position)); }
  std::uint64_t& state_word(std::uint64_t position) const { return header(position).state_word; }

  // Wakes the consumer if it sleeps or is about to. The caller has stored what there is to see with seq_cst; the
  // consumer sets the flag with seq_cst and looks again before it sleeps: one of the two must see the other.
  template <class P>
  bool wake_consumer() const {
    std::uint32_t& waiting = control_->waiting_group.consumer_waiting;
    std::uint32_t seen = P::load(waiting, std::memory_order_seq_cst);
    if (seen == 0) return false;
    // 2 = being woken. Only the consumer goes back to 0: if a waker dies or stops before its system call, the next
    // one still sees that the consumer needs it.
    if (seen == 1) P::compare_exchange(waiting, seen, std::uint32_t{2});
    P::futex_wake(waiting, 1);
    return true;
  }

  // Wants the consumer for other reasons than a record: any thread of any process that has the ring. The bell is set
  // before the flag is looked at, and the consumer looks at the bell after it has set the flag (Consumer::sleep): the
  // handshake of a commit. Bits stay until they are taken, so a ringer that dies before its system call is heard as
  // soon as anything else wakes the consumer.
  template <class P>
  void ring_bell(std::uint32_t bits) const {
    P::fetch_or(control_->waiting_group.bell, bits, std::memory_order_seq_cst);
    P::at(CrashPoint::after_bell);
    wake_consumer<P>();
  }
  template <class P>
  bool bell_rung() const {
    return P::load(control_->waiting_group.bell, std::memory_order_seq_cst) != 0;
  }
  // What was rung since the bell was last taken. Whoever takes it sees all that the ringers did before they rang.
  template <class P>
  std::uint32_t take_bell() const {
    return P::exchange(control_->waiting_group.bell, std::uint32_t{0}, std::memory_order_seq_cst);
  }

  // The same handshake in the other direction. Producers share one flag, so all of them are woken.
  template <class P>
  void wake_producers(bool in_any_case = false) const {
    SpaceGroup& space = control_->space_group;
    if (P::load(space.producers_waiting, std::memory_order_seq_cst) == 0 && !in_any_case) return;
    P::store(space.producers_waiting, std::uint32_t{0}, std::memory_order_seq_cst);
    P::fetch_add(space.space_sequence, std::uint32_t{1}, std::memory_order_seq_cst);
    P::futex_wake(space.space_sequence, 1 << 30);
  }

 private:
  ControlBlock* control_;
  ProducerSlot* slots_;
  std::byte* data_;
  std::uint64_t capacity_;
  std::uint64_t max_message_;
  std::uint32_t max_producers_;
};

}  // namespace penstock
