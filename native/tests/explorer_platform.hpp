// The ring's platform under the explorer: every access to the segment is a step of the scheduler.
//
// Memory is sequentially consistent here: the explorer finds wrong protocols, not missing memory orders (that is
// ThreadSanitizer's part, see stress.cpp).
//
// It can also be wrong on purpose. Each Mutant is a bug that one could have written; `explore --self-test` fails
// unless the explorer finds every one of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "penstock/layout.hpp"
#include "penstock/platform.hpp"
#include "penstock/view.hpp"
#include "scheduler.hpp"

namespace penstock::explorer {

enum class Mutant {
  none,
  commit_before_copy,
  intent_after_claim,
  free_before_clearing,
  no_reclaim_mark,
  commit_of_dead_missed,
  slot_reused_early,
  wake_dropped,
  sleep_without_look,
  bell_after_wake,
  bell_read_early,
};
inline constexpr std::pair<Mutant, const char*> kMutants[] = {
    {Mutant::commit_before_copy, "commit before copy"},        // the record is ready before its payload is there
    {Mutant::intent_after_claim, "intent after claim"},        // the intent is published after the compare-and-swap
    {Mutant::free_before_clearing, "free before clearing"},    // space is given back before it is cleared
    {Mutant::no_reclaim_mark, "no reclaim mark"},              // a new consumer cannot tell what the old one cleared
    {Mutant::commit_of_dead_missed, "commit of dead missed"},  // no second look at a dead producer's record
    {Mutant::slot_reused_early, "slot reused early"},          // a slot is given away while the ring still refers to it
    {Mutant::wake_dropped, "wake dropped"},                    // nobody is ever woken
    {Mutant::sleep_without_look, "sleep without look"},        // the consumer says that it will sleep, and does
    {Mutant::bell_after_wake, "bell after wake"},              // the ringer looks at the flag before it sets the bell
    {Mutant::bell_read_early, "bell read early"},              // the consumer looks at the bell before it sets the flag
};

struct ExplorerPlatform {
  static inline Mutant mutant = Mutant::none;
  static inline bool trace = false;  // print each access, for a replay
  static inline std::byte* base = nullptr;
  static inline std::size_t bytes = 0;
  static inline std::uint32_t slots = 0;
  // Told of each commit as it happens, with the record's state.
  static inline std::function<void(const RecordState&)> committed;

  template <class T>
  static T load(const T& word, std::memory_order) {
    before_access(&word);
    if constexpr (std::is_same_v<T, SlotState>) {
      mine().slot_looked_at = true;
    } else if constexpr (std::is_same_v<T, std::uint32_t>) {
      if (mutant == Mutant::bell_read_early && &word == &control().waiting_group.bell) return early_bell;
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (mutant == Mutant::slot_reused_early && slot_field(&word, offsetof(ProducerSlot, owner.retired_at))) return 0;
      if (mutant == Mutant::commit_of_dead_missed) {
        if (std::exchange(mine().slot_looked_at, false) && &word == mine().last_word) return mine().last_seen;
        mine() = {&word, word, false};
      }
    }
    return word;
  }
  template <class T>
  static void store(T& word, T value, std::memory_order) {
    if (word == value && in_data(&word)) return;  // a line that is clear already: no schedule can tell
    if (&word == static_cast<void*>(&control().waiting_group.consumer_waiting)) early_bell = control().waiting_group.bell;
    before_access(&word);
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (in_data(&word)) value = record_stored(value);
      if (mutant == Mutant::intent_after_claim && slot_field(&word, offsetof(ProducerSlot, claim.claim_begin)) &&
          value != kNoClaim) {
        postponed = Postponed{&word, value, Scheduler::the().current()};
        return;
      }
      if (&word == &control().free_group.reclaim) {
        if (mutant == Mutant::no_reclaim_mark) return;
        if (mutant == Mutant::free_before_clearing) control().free_group.free = value;
      }
    }
    word = value;
  }
  template <class T>
  static T exchange(T& word, T value, std::memory_order) {
    before_access(&word);
    return std::exchange(word, value);
  }
  template <class T>
  static T fetch_add(T& word, T value, std::memory_order) {
    before_access(&word);
    return std::exchange(word, static_cast<T>(word + value));
  }
  template <class T>
  static T fetch_or(T& word, T value, std::memory_order) {
    before_access(&word);
    return std::exchange(word, static_cast<T>(word | value));
  }
  template <class T>
  static bool compare_exchange(T& word, T& expected, T desired) {
    before_access(&word);
    const bool won = word == expected;
    (won ? word : expected) = won ? desired : word;
    if (postponed && postponed->thread == Scheduler::the().current()) {
      before_access(postponed->word);
      *postponed->word = postponed->value;
      postponed.reset();
    }
    return won;
  }
  static void copy(void* to, const void* from, std::size_t length) {
    const std::size_t half = length / 2;
    std::memcpy(to, from, half);
    Scheduler::the().step();
    std::memcpy(static_cast<std::byte*>(to) + half, static_cast<const std::byte*>(from) + half, length - half);
  }
  static void futex_wait(std::uint32_t& word, std::uint32_t expected, std::int64_t) {
    Scheduler::the().futex_wait(word, expected);
  }
  static void futex_wake(std::uint32_t& word, int sleepers) {
    if (mutant == Mutant::wake_dropped) return;
    Scheduler::the().futex_wake(word, sleepers);
  }
  static std::int64_t now_ns() { return 0; }
  static void pause() {}
  static void at(CrashPoint) {}  // every step is one
  static constexpr int kPatience = 0;
  static constexpr std::uint32_t kWakeEarlyAbove = 400;

  static ControlBlock& control() { return *reinterpret_cast<ControlBlock*>(base); }
  static void forget() {
    postponed.reset();
    early_bell = 0;
    looks = {};
  }

 private:
  struct Postponed {
    std::uint64_t* word;
    std::uint64_t value;
    std::size_t thread;
  };
  static inline std::optional<Postponed> postponed;
  static inline std::uint32_t early_bell = 0;  // the bell before the consumer's flag was last stored
  // What each thread looked at last.
  struct Look {
    const std::uint64_t* last_word;
    std::uint64_t last_seen;
    bool slot_looked_at;
  };
  static inline std::array<Look, 16> looks{};
  static Look& mine() { return looks[Scheduler::the().current() % looks.size()]; }

  static std::size_t offset(const void* address) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base);
  }
  static bool in_data(const void* address) { return offset(address) >= data_offset(slots) && offset(address) < bytes; }
  static bool in_slots(const void* address) {
    return offset(address) >= sizeof(ControlBlock) &&
           offset(address) < sizeof(ControlBlock) + slots * sizeof(ProducerSlot);
  }
  static bool slot_field(const void* address, std::size_t field) {
    return in_slots(address) && (offset(address) - sizeof(ControlBlock)) % sizeof(ProducerSlot) == field;
  }
  // Counters have one writer, and no thread of a scenario reads another's: no schedule can tell when they change.
  static bool is_counter(const void* address) {
    const std::size_t in_slot = (offset(address) - sizeof(ControlBlock)) % sizeof(ProducerSlot);
    return (in_slots(address) && in_slot >= offsetof(ProducerSlot, counters)) ||
           (offset(address) >= offsetof(ControlBlock, counters) && offset(address) < offsetof(ControlBlock, board));
  }
  static void before_access(const void* address) {
    if (is_counter(address)) return;
    Scheduler::the().step();
    if (trace) std::printf("  thread %zu at %s\n", Scheduler::the().current(), place(address).c_str());
  }

  static std::string place(const void* address) {
    if (in_data(address)) return "record at offset " + std::to_string(offset(address) - data_offset(slots));
    if (!in_slots(address)) return "control block + " + std::to_string(offset(address));
    const std::size_t at = offset(address) - sizeof(ControlBlock);
    return "slot " + std::to_string(at / sizeof(ProducerSlot)) + " + " + std::to_string(at % sizeof(ProducerSlot));
  }

  static std::uint64_t record_stored(std::uint64_t value) {
    const RecordState state = RecordState::unpack(value);
    const bool early = mutant == Mutant::commit_before_copy;
    if (state.status == (early ? Status::writing : Status::ready)) committed(state);
    return early && state.status == Status::writing ? state.with(Status::ready).pack() : value;
  }
};

}  // namespace penstock::explorer
