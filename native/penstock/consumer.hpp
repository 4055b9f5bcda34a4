// The reading side: a window that slides over the ring.
//
//      free        left                       right        tail
//   ----|-----------|--------------------------|------------|----
//       | read, to  | the window: read records,| not looked |
//       | be cleared| stalled claims, records  | at yet     |
//       |           | still in the reader's    |            |
//       |           | hands                    |            |
//
// `right` takes every record that is ready, and goes around claims that are not (TurboStream's sliding window).
// `left` follows over records that are read. Unlike the paper's, the window never skips a slow writer's bytes: they
// are reused only when the record has been read, or when its producer is proven dead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout.hpp"
#include "platform.hpp"
#include "view.hpp"

namespace penstock {

// A ready record, still in the ring. Its bytes stay until finish(position).
struct Delivery {
  std::uint64_t position;
  RecordState state;
  Route route;
  const std::byte* payload;
};

// A claim that the window went around, waiting for its producer.
struct Stall {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t slot;
  std::int64_t since_ns;
};

template <class P = LinuxPlatform>
class Consumer {
 public:
  // Takes the ring over where the last consumer left it: what that one read but had not finished comes again.
  Consumer(RingView view, std::uint32_t pid, std::uint64_t start_time, std::uint64_t pid_namespace) : view_(view) {
    OwnerGroup& owner = view_.control().owner;
    owner.pid = pid;
    owner.start_time = start_time;
    owner.pid_namespace = pid_namespace;
    FreeGroup& group = view_.control().free_group;
    const std::uint64_t free = P::load(group.free, std::memory_order_acquire);
    const std::uint64_t reclaim = P::load(group.reclaim, std::memory_order_acquire);
    const std::uint64_t tail = load_tail();
    if (reclaim < free || reclaim > tail || tail - free > view_.capacity() || (free | reclaim | tail) % kLine != 0)
      throw RingCorrupt("ring positions make no sense: free=" + std::to_string(free) +
                        " reclaim=" + std::to_string(reclaim) + " tail=" + std::to_string(tail));
    free_ = free;
    left_ = right_ = reclaim;
    P::store(owner.generation, P::load(owner.generation, std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    if (free_ != left_) give_back();  // our predecessor died while it cleared; clearing twice does no harm
    // Our predecessor may have died while it woke them; and a large message under way starts over (packets.hpp).
    view_.template wake_producers<P>(true);
  }

  // Appends up to `most` ready records to `out`, oldest claims first. Never blocks.
  void poll(std::size_t most, std::vector<Delivery>& out) {
    advance_left();
    const std::size_t full = out.size() + most;
    const std::uint64_t tail = load_tail();
    if (tail < right_ || tail - free_ > view_.capacity() || tail % kLine != 0)
      throw_corrupt("tail", tail, RecordState::unpack(0));
    for (std::size_t i = 0; i < stalls_.size() && out.size() < full;) {
      take(stalls_[i].begin, stalls_[i].end, tail, full, out, &stalls_[i]);
      if (stalls_[i].begin == stalls_[i].end)
        stalls_.erase(stalls_.begin() + static_cast<std::ptrdiff_t>(i));
      else
        ++i;
    }
    take(right_, tail, tail, full, out, nullptr);
    P::at(CrashPoint::after_poll);
  }

  // The reader is done with a record: its space comes back once everything before it is done too. Callable from
  // another thread while poll() runs: it touches nothing but the record's own state word.
  void finish(const Delivery& delivery) {
    P::store(view_.state_word(delivery.position), delivery.state.with(Status::read).pack(), std::memory_order_seq_cst);
  }
  // Tells a producer that its large message was taken whole, so that it need not keep it.
  void settle(std::uint32_t slot, std::uint32_t message_id) {
    P::store(view_.slot(slot).owner.settled_message, message_id, std::memory_order_seq_cst);
    view_.template wake_producers<P>();
  }

  // Sleeping: prepare_sleep(); poll() once more; then sleep() if that found nothing, else cancel_sleep(). Sleeps only
  // while nobody has rung the bell: a caller that goes on sleeping without taking it would not sleep at all.
  void prepare_sleep() { P::store(waiting(), std::uint32_t{1}, std::memory_order_seq_cst); }
  void cancel_sleep() { P::store(waiting(), std::uint32_t{0}, std::memory_order_relaxed); }
  void sleep(std::int64_t timeout_ns) {
    advance_left();  // the last poll may have recovered space, and what it found may be finished by now
    // We may sleep because they wait: never both. But only if there is something new for them: they wake us before
    // they sleep, so an idle word from each side would keep both awake for ever.
    if (unannounced_) announce_space();
    // The flag is set, so a bell that we do not see here is followed by a look at the flag (RingView::ring_bell).
    if (!view_.template bell_rung<P>()) {
      bump<P>(view_.control().counters.sleeps);
      P::futex_wait(waiting(), 1, timeout_ns);
    }
    cancel_sleep();
  }

  // Whether a look at the ring could find something that the last poll() did not: for spinning, one load.
  bool stirred() const {
    return !stalls_.empty() || P::load(view_.state_word(right_), std::memory_order_acquire) != 0;
  }

  // Whether a large record is being copied that the last poll() was the first to go around, or nearly: its producer has
  // woken us early, and a short wait is better than to sleep again. A producer that is stopped is not waited for twice.
  bool copying() const {
    return std::any_of(stalls_.begin(), stalls_.end(), [](const Stall& stall) {
      return stall.end - stall.begin > P::kWakeEarlyAbove && P::now_ns() - stall.since_ns < kCopyNs;
    });
  }

  // No claim succeeds from now on; what is committed can still be read.
  void close() {
    P::fetch_or(view_.tail(), kClosed, std::memory_order_seq_cst);
    view_.template wake_producers<P>();
  }

  const std::vector<Stall>& stalls() const { return stalls_; }
  const RingView& view() const { return view_; }
  // Everything that was ever claimed has been read, and its space is back.
  bool drained() const { return free_ == load_tail(); }

 private:
  static constexpr std::int64_t kCopyNs = 50'000;  // about 1 MiB, the largest record of a ring of 8 MiB

  std::uint32_t& waiting() const { return view_.control().waiting_group.consumer_waiting; }
  std::uint64_t load_tail() const { return P::load(view_.tail(), std::memory_order_seq_cst) & ~kClosed; }

  // Takes what is ready in [begin, end) and moves `begin` on. With `stall`, the stretch is one claim that was not
  // ready before; without, it is the ring behind the window, and claims that are not ready become stalls.
  void take(std::uint64_t& begin, std::uint64_t end, std::uint64_t tail, std::size_t full, std::vector<Delivery>& out,
            Stall* stall) {
    while (begin != end && out.size() < full) {
      const std::uint64_t word = P::load(view_.state_word(begin), std::memory_order_seq_cst);
      const RecordState state = RecordState::unpack(word);
      std::uint64_t next = end;
      std::uint32_t slot = state.slot;
      if (word == 0) {
        if (appears_soon(begin)) continue;
        const Hole hole = inspect_hole(begin, tail);
        if (hole.kind == Hole::filled) continue;
        if (hole.kind == Hole::unknown) return;
        if (hole.kind == Hole::dead) {
          recover(begin, std::min(hole.end, end));
          continue;
        }
        next = hole.end;
        slot = hole.slot;
      } else {
        check(begin, state, tail);
        next = begin + state.extent();
        if (next > end) throw_corrupt("record", tail, state, begin);  // a stalled claim that grew
        if (state.status == Status::ready) deliver(begin, state, out);
        if (state.status != Status::writing) {
          begin = next;
          continue;
        }
        if (gone(state.slot)) {
          // Its last store may have been the commit: look again now that no further one can come.
          if (P::load(view_.state_word(begin), std::memory_order_seq_cst) == word) recover(begin, next);
          continue;
        }
      }
      if (stall != nullptr) return;  // still not ready
      stalls_.push_back({begin, next, slot, P::now_ns()});
      bump<P>(view_.control().counters.stalls);
      begin = next;
    }
  }

  void deliver(std::uint64_t position, const RecordState& state, std::vector<Delivery>& out) {
    RecordHeader header;
    P::copy(&header.target, &view_.header(position).target, sizeof(RecordHeader) - offsetof(RecordHeader, target));
    out.push_back({position, state, {header.target, header.source, header.stream, header.assignment, header.flags},
                   view_.at(position) + sizeof(RecordHeader)});
    bump<P>(view_.control().counters.records);
    bump<P>(view_.control().counters.bytes, state.length);
  }

  void check(std::uint64_t position, const RecordState& state, std::uint64_t tail) const {
    const std::uint64_t extent = state.extent();
    const std::uint64_t limit =
        state.status == Status::flush ? view_.capacity() : view_.capacity() / kRecordsPerRing;
    if (state.status == Status::none || state.status > Status::flush || state.kind > Kind::packet ||
        state.slot >= view_.max_producers() || extent > limit || extent > tail - position ||
        view_.offset(position) + extent > view_.capacity())
      throw_corrupt("record", tail, state, position);
  }

  bool gone(std::uint32_t slot) const {
    const SlotState state = P::load(view_.slot(slot).owner.state, std::memory_order_seq_cst);
    return state == SlotState::dead || state == SlotState::left;
  }

  // A producer that is running stores its header within nanoseconds of its claim.
  bool appears_soon(std::uint64_t position) const {
    for (int i = 0; i < P::kPatience; ++i) {
      P::pause();
      if (P::load(view_.state_word(position), std::memory_order_acquire) != 0) return true;
    }
    return false;
  }

  // Turns the dead's [begin, end) into a flush record, which left_ will pass.
  void recover(std::uint64_t begin, std::uint64_t end) {
    const RecordState flush{Status::flush, Kind::message, 0,
                            static_cast<std::uint32_t>(end - begin - sizeof(RecordHeader))};
    P::store(view_.state_word(begin), flush.pack(), std::memory_order_seq_cst);
    bump<P>(view_.control().counters.recovered_records);
    bump<P>(view_.control().counters.recovered_bytes, end - begin);
  }

  // Claimed, but without a header: whose is it, and how far does it reach?
  struct Hole {
    enum { filled, unknown, stalled, dead } kind;
    std::uint64_t end = 0;
    std::uint32_t slot = 0;
  };

  // The winner of the claim at `position` published its intent before the compare-and-swap that moved `tail`, and
  // publishes no other before its header stands. We have seen that `tail`; so if the header is still missing after
  // we have read all intents, the winner's is among those that begin here. Others that begin here tried and lost.
  Hole inspect_hole(std::uint64_t position, std::uint64_t tail) const {
    std::uint64_t nearest = tail, furthest = 0;  // ends of the claims that may stand here
    std::uint64_t limit = tail;                  // where the next claim by a living producer begins
    std::optional<std::uint32_t> living;
    for (std::uint32_t i = 0; i < view_.max_producers(); ++i) {
      const ProducerSlot& slot = view_.slot(i);
      const SlotState state = P::load(slot.owner.state, std::memory_order_acquire);  // first: the dead do not change
      if (state == SlotState::vacant || state == SlotState::left) continue;
      const std::uint64_t claim_begin = P::load(slot.claim.claim_begin, std::memory_order_acquire);
      if (claim_begin < position || claim_begin >= tail) continue;
      const std::uint64_t claim_end = P::load(slot.claim.claim_end, std::memory_order_acquire);
      if (P::load(slot.claim.claim_begin, std::memory_order_acquire) != claim_begin) return {Hole::unknown};
      if (claim_begin != position) {
        if (state != SlotState::dead) limit = std::min(limit, claim_begin);
        continue;
      }
      nearest = std::min(nearest, claim_end);
      furthest = std::max(furthest, claim_end);
      if (state != SlotState::dead) living = i;
    }
    // Several tried: the true end is one of theirs. If the nearest were not, it would lie inside the winner's claim,
    // whose lines are clear as long as its header is missing.
    const bool certain = nearest == furthest || (nearest > position && nearest < tail && nearest % kLine == 0 &&
                         P::load(view_.state_word(nearest), std::memory_order_acquire) != 0);
    // Last of all: whatever we looked at above, we saw it before the winner had a header.
    if (P::load(view_.state_word(position), std::memory_order_seq_cst) != 0) return {Hole::filled};
    if (!living) return {Hole::dead, dead_end(position, limit)};
    if (nearest <= position || nearest > tail || nearest % kLine != 0) return {Hole::unknown};
    if (!certain) return {Hole::unknown};
    return {Hole::stalled, nearest, *living};
  }

  // The dead left clear lines behind. Everything up to the next header, the next claim of a living producer, or the
  // end of the lap was theirs.
  std::uint64_t dead_end(std::uint64_t position, std::uint64_t limit) const {
    const std::uint64_t lap_end = position - view_.offset(position) + view_.capacity();
    const std::uint64_t stop = std::min(limit, lap_end);
    std::uint64_t end = position + kLine;
    while (end < stop && P::load(view_.state_word(end), std::memory_order_acquire) == 0) end += kLine;
    return end;
  }

  void advance_left() {
    // Never into a stalled claim, even if its first header is a flush record by now: take() still has to go through
    // it, and would find cleared lines. Stalls are in order, so the first one is the limit.
    const std::uint64_t limit = stalls_.empty() ? right_ : stalls_.front().begin;
    while (left_ != limit) {
      const RecordState state = RecordState::unpack(P::load(view_.state_word(left_), std::memory_order_acquire));
      if (state.status != Status::read && state.status != Status::flush) break;
      if (state.extent() > limit - left_) throw_corrupt("record", right_, state, left_);
      left_ += state.extent();
    }
    if (left_ != free_) give_back();
  }

  // Clears the first word of each line in [free_, left_), then lets producers have them.
  void give_back() {
    FreeGroup& group = view_.control().free_group;
    P::store(group.reclaim, left_, std::memory_order_seq_cst);
    P::at(CrashPoint::after_reclaim_mark);
    for (std::uint64_t line = free_; line != left_; line += kLine) {
      P::store(view_.state_word(line), std::uint64_t{0}, std::memory_order_relaxed);
      if (line == free_) P::at(CrashPoint::mid_clearing);
    }
    P::at(CrashPoint::before_free);
    free_ = left_;
    P::store(group.free, free_, std::memory_order_seq_cst);
    P::at(CrashPoint::after_free);
    unannounced_ = true;
    // A quarter of the ring at a time, so that a full ring does not wake its producers for every record.
    const std::uint64_t used = load_tail() - free_;
    if (used <= view_.capacity() - view_.capacity() / 4) announce_space();
  }
  void announce_space() {
    unannounced_ = false;
    view_.template wake_producers<P>();
  }

  [[noreturn]] void throw_corrupt(const char* what, std::uint64_t tail, const RecordState& state,
                                  std::uint64_t position = 0) const {
    throw RingCorrupt(std::string("ring is corrupt: ") + what + " at position=" + std::to_string(position) +
                      " status=" + std::to_string(static_cast<int>(state.status)) +
                      " kind=" + std::to_string(static_cast<int>(state.kind)) + " slot=" + std::to_string(state.slot) +
                      " length=" + std::to_string(state.length) + " tail=" + std::to_string(tail) +
                      " window=" + std::to_string(left_) + ".." + std::to_string(right_));
  }

  RingView view_;
  std::uint64_t free_ = 0;
  std::uint64_t left_ = 0;
  std::uint64_t right_ = 0;
  std::vector<Stall> stalls_;
  bool unannounced_ = false;  // space was given back, and producers that wait for it were not told
};

}  // namespace penstock
