// Who may write: the consumer's side of the producer slots. Called by the door, which learns from the kernel who
// lives; it never guesses from a clock.
#pragma once

#include <cstdint>
#include <optional>

#include "layout.hpp"
#include "platform.hpp"
#include "view.hpp"

namespace penstock {

template <class P = LinuxPlatform>
class SlotTable {
 public:
  explicit SlotTable(RingView view) : view_(view) {}

  // Gives a slot to a new producer; nothing if all are taken. One caller at a time.
  std::optional<std::uint32_t> admit(std::uint32_t pid, std::uint64_t start_time) {
    for (std::uint32_t i = 0; i < view_.max_producers(); ++i) {
      ProducerSlot& slot = view_.slot(i);
      if (!reusable(slot)) continue;
      P::store(slot.claim.claim_begin, kNoClaim, std::memory_order_relaxed);
      P::store(slot.owner.settled_message, std::uint32_t{0}, std::memory_order_relaxed);
      P::store(slot.owner.retired_at, kNotRetired, std::memory_order_relaxed);
      P::store(slot.owner.pid, pid, std::memory_order_relaxed);
      P::store(slot.owner.start_time, start_time, std::memory_order_relaxed);
      P::store(slot.owner.state, SlotState::live, std::memory_order_seq_cst);
      return i;
    }
    return std::nullopt;
  }

  // The producer is gone for good: it left, or the kernel says that its process is no more. The consumer is woken,
  // since it may be waiting for a claim that will now never be finished.
  void retire(std::uint32_t index) {
    ProducerSlot& slot = view_.slot(index);
    const std::uint64_t tail = P::load(view_.tail(), std::memory_order_seq_cst) & ~kClosed;
    P::store(slot.owner.retired_at, tail, std::memory_order_seq_cst);
    if (state(index) == SlotState::live) P::store(slot.owner.state, SlotState::dead, std::memory_order_seq_cst);
    view_.template wake_consumer<P>();
  }

  // For a new consumer: producers that left while there was none to notice.
  void retire_the_gone() {
    for (std::uint32_t i = 0; i < view_.max_producers(); ++i) {
      const SlotState now = state(i);
      if (now != SlotState::left && now != SlotState::dead) continue;
      if (P::load(view_.slot(i).owner.retired_at, std::memory_order_seq_cst) == kNotRetired) retire(i);
    }
  }

  SlotState state(std::uint32_t index) const {
    return P::load(view_.slot(index).owner.state, std::memory_order_seq_cst);
  }

  // Nothing in the ring refers to this producer any more. Until then the slot stays taken: an unfinished record
  // that names it must not seem to belong to a newcomer who lives.
  bool forgotten(std::uint32_t index) const {
    const std::uint64_t retired_at = P::load(view_.slot(index).owner.retired_at, std::memory_order_seq_cst);
    return retired_at != kNotRetired && P::load(view_.free(), std::memory_order_seq_cst) >= retired_at;
  }

 private:
  bool reusable(const ProducerSlot& slot) const {
    const auto index = static_cast<std::uint32_t>(&slot - &view_.slot(0));
    const SlotState now = state(index);
    return now == SlotState::vacant || (now != SlotState::live && forgotten(index));
  }

  RingView view_;
};

}  // namespace penstock
