// How long to look before going to sleep.
//
// A sleep and a wake-up cost some ten microseconds, so looking a little longer pays when the next record usually comes
// soon and a core is free, and takes a core from somebody else otherwise. So nobody spins who has not asked for it, and
// for those who have the recent waits decide.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

class AdaptiveSpin {
 public:
  // Longer than a sleep and a wake-up together, spinning cannot win anything.
  static constexpr std::int64_t kMostNs = 20'000;

  // 0 or less: never.
  explicit AdaptiveSpin(std::int64_t most_ns)
      : most_ns_(std::clamp<std::int64_t>(most_ns, 0, kMostNs)), expected_ns_(most_ns_) {}

  std::int64_t budget_ns() const { return expected_ns_ <= most_ns_ ? most_ns_ : 0; }

  // Tells how long it took until there was something. For waits only: a poll that would not have waited says nothing
  // about when something comes. One very long wait counts as a long one, no more: it is forgotten as fast.
  void waited(std::int64_t ns) { expected_ns_ += (std::min(ns, kLong * most_ns_) - expected_ns_) / 4; }

  // Nothing came in time, however short that was: spinning would have been for nothing.
  void waited_in_vain() { waited(kLong * most_ns_); }

 private:
  static constexpr std::int64_t kLong = 4;

  std::int64_t most_ns_;
  std::int64_t expected_ns_;
};

}  // namespace penstock
