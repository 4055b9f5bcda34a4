// A platform that dies, or stops, at a named point: for tests only (penstock._native_chaos). The production module
// is built on LinuxPlatform and holds none of this.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string_view>

#include "platform.hpp"

namespace penstock {

inline constexpr std::array<std::string_view, static_cast<std::size_t>(CrashPoint::count)> kCrashPointNames = {
    "before_claim", "after_intent", "after_claim",     "after_first_header", "after_header",
    "mid_copy",     "before_commit", "after_commit",   "between_packets",    "after_poll",
    "after_reclaim_mark", "mid_clearing", "before_free", "after_free",         "after_bell",
};

struct ChaosPlatform : LinuxPlatform {
  struct Armed {
    CrashPoint point;
    int signal;
    int passes;  // how many more times the point is passed unharmed
  };
  static inline std::optional<Armed> armed;

  static void at(CrashPoint point) {
    if (!armed || armed->point != point || armed->passes-- > 0) return;
    const int signal = armed->signal;
    armed.reset();
    kill(getpid(), signal);
  }
  static void copy(void* to, const void* from, std::size_t bytes) {
    const std::size_t half = bytes / 2;
    LinuxPlatform::copy(to, from, half);
    at(CrashPoint::mid_copy);
    LinuxPlatform::copy(static_cast<std::byte*>(to) + half, static_cast<const std::byte*>(from) + half, bytes - half);
  }
};

}  // namespace penstock
