// What the ring asks of the machine: ordered memory operations, sleeping and waking, time. The ring is a template
// over this, so that the explorer (native/tests/explore.cpp) can run the very same code one step at a time, and the
// chaos build can die at a named point.
//
// No fences anywhere: only ordered operations, because ThreadSanitizer does not model fences.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

// The instants at which a process can die and leave the ring in a state of its own. docs/ring.md names each and
// says why it is safe; tests kill processes at each.
enum class CrashPoint : int {
  before_claim,
  after_intent,
  after_claim,
  after_first_header,  // at a wrap: the record's header stands, the flush record before it does not
  after_header,
  mid_copy,
  before_commit,
  after_commit,
  between_packets,
  after_poll,
  after_reclaim_mark,
  mid_clearing,
  before_free,
  after_free,
  after_bell,
  count,
};

struct LinuxPlatform {
  template <class T>
  static T load(const T& word, std::memory_order order) {
    return std::atomic_ref<T>(const_cast<T&>(word)).load(order);
  }
  template <class T>
  static void store(T& word, T value, std::memory_order order) {
    std::atomic_ref<T>(word).store(value, order);
  }
  template <class T>
  static T exchange(T& word, T value, std::memory_order order) {
    return std::atomic_ref<T>(word).exchange(value, order);
  }
  template <class T>
  static T fetch_add(T& word, T value, std::memory_order order) {
    return std::atomic_ref<T>(word).fetch_add(value, order);
  }
  template <class T>
  static T fetch_or(T& word, T value, std::memory_order order) {
    return std::atomic_ref<T>(word).fetch_or(value, order);
  }
  // Sequentially consistent; on failure `expected` becomes what was found.
  template <class T>
  static bool compare_exchange(T& word, T& expected, T desired) {
    return std::atomic_ref<T>(word).compare_exchange_strong(expected, desired, std::memory_order_seq_cst);
  }
  static void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

  // Not FUTEX_PRIVATE: the two sides are different processes (and std::atomic::wait is always private).
  static void futex_wait(std::uint32_t& word, std::uint32_t expected, std::int64_t timeout_ns) {
    const timespec limit{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
  }
  static void futex_wake(std::uint32_t& word, int sleepers) {
    syscall(SYS_futex, &word, FUTEX_WAKE, sleepers, nullptr, nullptr, 0);
  }
  static std::int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  static void at(CrashPoint) {}
  // How many times the consumer looks again for a header before it asks whose claim lacks one.
  static constexpr int kPatience = 64;
  // A payload up to this is copied in a microsecond or two: a sleeper that is woken before would win nothing.
  static constexpr std::uint32_t kWakeEarlyAbove = 64 * 1024;
};

static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic_ref<std::uint32_t>::is_always_lock_free);

// Shared counters have one writer each: a plain read-modify-write with relaxed accesses loses nothing.
template <class P>
void bump(std::uint64_t& counter, std::uint64_t by = 1) {
  P::store(counter, P::load(counter, std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace penstock
