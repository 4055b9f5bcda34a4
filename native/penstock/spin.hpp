// How long to look before going to sleep.
//
// A sleep and a wake-up cost some ten microseconds, so looking a little longer pays when the next record usually comes
// soon, and wastes a core when it does not. The recent waits decide.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

class AdaptiveSpin {
 public:
  explicit AdaptiveSpin(std::int64_t most_ns) : most_ns_(most_ns), expected_ns_(most_ns) {}

  std::int64_t budget_ns() const { return expected_ns_ <= most_ns_ ? most_ns_ : 0; }

  // Tells how long the last wait took. One very long wait counts as a long one, no more: it is forgotten as fast.
  void waited(std::int64_t ns) { expected_ns_ += (std::min(ns, 4 * most_ns_) - expected_ns_) / 4; }

 private:
  std::int64_t most_ns_;
  std::int64_t expected_ns_;
};

}  // namespace penstock
