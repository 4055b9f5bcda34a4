// The writing side: claim by one compare-and-swap, copy once, commit by one store. Nothing here takes a lock.
//
// One Producer serves one thread at a time (Python threads take turns under the interpreter lock).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "layout.hpp"
#include "platform.hpp"
#include "view.hpp"

namespace penstock {

enum class WriteResult { written, full, closed };

template <class P = LinuxPlatform>
class Producer {
 public:
  Producer(RingView view, std::uint32_t slot)
      : view_(view), slot_index_(static_cast<std::uint16_t>(slot)), slot_(view.slot(slot)) {}

  std::uint32_t slot_index() const { return slot_index_; }
  std::uint32_t max_payload() const { return max_record_payload(view_.capacity()); }

  // Writes one record of `length` payload bytes, at most max_payload(), which `fill(std::byte*)` copies in.
  template <class Fill>
  WriteResult try_write(const Route& route, Kind kind, std::uint32_t length, Fill&& fill) {
    const RecordState writing{Status::writing, kind, slot_index_, length};
    std::uint64_t position;
    P::at(CrashPoint::before_claim);
    const WriteResult result = claim(writing, position);
    if (result != WriteResult::written) return result;
    // A sleeping consumer wakes up while we copy. This is a hint and no part of the handshake: the consumer finds a
    // record that is not ready, and if it sleeps again before the commit, the commit wakes it as any other does.
    if (length > P::kWakeEarlyAbove) wake_consumer();

    RecordHeader& header = view_.header(position);
    const RecordHeader routed{0, route.target, route.source, route.stream, route.assignment, route.flags, 0};
    P::copy(&header.target, &routed.target, sizeof(RecordHeader) - offsetof(RecordHeader, target));
    fill(view_.at(position) + sizeof(RecordHeader));
    P::at(CrashPoint::before_commit);

    // Commit. seq_cst, not release: the consumer's sleep handshake needs this store ordered before our look at
    // its flag (see RingView::wake_consumer).
    P::store(header.state_word, writing.with(Status::ready).pack(), std::memory_order_seq_cst);
    P::at(CrashPoint::after_commit);
    bump<P>(slot_.counters.records);
    bump<P>(slot_.counters.bytes, length);
    wake_consumer();
    return WriteResult::written;
  }

  // Sleeps until the consumer has made room since `sequence` was read, or `timeout_ns` has passed. The caller loops:
  //   sequence = prepare_wait(); try again; sleep(sequence, timeout)
  std::uint32_t prepare_wait() {
    SpaceGroup& space = view_.control().space_group;
    const std::uint32_t sequence = P::load(space.space_sequence, std::memory_order_seq_cst);
    P::store(space.producers_waiting, std::uint32_t{1}, std::memory_order_seq_cst);
    return sequence;
  }
  void sleep(std::uint32_t sequence, std::int64_t timeout_ns) {
    view_.template wake_consumer<P>();  // it may sleep because our intent was in its way: never both
    P::futex_wait(view_.control().space_group.space_sequence, sequence, timeout_ns);
  }
  void count_full_wait() { bump<P>(slot_.counters.full_waits); }

  // A number for the next large message: never zero, and never one that this slot has had before.
  std::uint32_t next_large_message() {
    bump<P>(slot_.counters.large_messages);
    const auto id = static_cast<std::uint32_t>(P::load(slot_.counters.large_messages, std::memory_order_relaxed));
    return id != 0 ? id : next_large_message();
  }

  // The consumer's incarnation, and the last large message that it took whole from us (see packets.hpp).
  std::uint64_t consumer_generation() const {
    return P::load(view_.control().owner.generation, std::memory_order_acquire);
  }
  std::uint32_t settled_message() const {
    return P::load(slot_.owner.settled_message, std::memory_order_seq_cst);
  }

  // Detaches in good order: nothing is under way, so nothing needs recovery.
  void leave() {
    P::store(slot_.claim.claim_begin, kNoClaim, std::memory_order_release);
    P::store(slot_.owner.state, SlotState::left, std::memory_order_seq_cst);
  }

 private:
  void wake_consumer() {
    if (view_.template wake_consumer<P>()) bump<P>(slot_.counters.wakes);
  }

  // On success [position, position + extent) is ours, and its header says who writes there.
  //
  // The intent (claim_begin, claim_end) is published before the compare-and-swap that makes it true. So while a
  // claim has no header yet, the consumer can read in our slot how far it reaches, whoever we are and whether or
  // not we still live.
  WriteResult claim(const RecordState& writing, std::uint64_t& position) {
    const std::uint64_t extent = writing.extent();
    std::uint64_t tail = P::load(view_.tail(), std::memory_order_seq_cst);
    for (bool retry = false;; retry = true) {
      if (tail & kClosed) return give_up(WriteResult::closed);
      if (tail % kLine != 0) check_positions(tail);
      const std::uint64_t to_end = view_.capacity() - view_.offset(tail);
      const std::uint64_t flush = extent <= to_end ? 0 : to_end;
      const std::uint64_t end = tail + flush + extent;
      if (end - free_seen_ > view_.capacity()) {
        // `free` before `tail`: then tail >= free holds for the pair, whatever moves meanwhile.
        free_seen_ = P::load(view_.free(), std::memory_order_seq_cst);
        const std::uint64_t newer = P::load(view_.tail(), std::memory_order_seq_cst);
        if (newer != tail) {
          tail = newer;
          continue;
        }
        check_positions(tail);  // `tail` was the same before and after: the two values stood side by side
        if (end - free_seen_ > view_.capacity()) return give_up(WriteResult::full);
      }
      // A failed attempt's intent is withdrawn before its end changes: whoever reads the same claim_begin before
      // and after reading claim_end has a pair that belongs together.
      if (retry) P::store(slot_.claim.claim_begin, kNoClaim, std::memory_order_release);
      P::store(slot_.claim.claim_end, end, std::memory_order_release);
      P::store(slot_.claim.claim_begin, tail, std::memory_order_release);
      P::at(CrashPoint::after_intent);
      if (!P::compare_exchange(view_.tail(), tail, end)) continue;
      P::at(CrashPoint::after_claim);

      position = tail + flush;
      P::store(view_.state_word(position), writing.pack(), std::memory_order_release);
      if (flush != 0) {
        // Last, so that a header at the claim's beginning means that all its headers stand.
        P::at(CrashPoint::after_first_header);
        const RecordState padding{Status::flush, Kind::message, slot_index_,
                                  static_cast<std::uint32_t>(flush - sizeof(RecordHeader))};
        P::store(view_.state_word(tail), padding.pack(), std::memory_order_release);
      }
      P::at(CrashPoint::after_header);
      return WriteResult::written;
    }
  }

  WriteResult give_up(WriteResult result) {
    P::store(slot_.claim.claim_begin, kNoClaim, std::memory_order_release);
    return result;
  }

  void check_positions(std::uint64_t tail) const {
    if (tail - free_seen_ > view_.capacity() || (tail | free_seen_) % kLine != 0)
      throw RingCorrupt("ring positions make no sense: tail=" + std::to_string(tail) +
                        " free=" + std::to_string(free_seen_) + " capacity=" + std::to_string(view_.capacity()));
  }

  RingView view_;
  std::uint16_t slot_index_;
  ProducerSlot& slot_;
  std::uint64_t free_seen_ = 0;  // an old value is only too careful
};

}  // namespace penstock
