// The rule of how long to spin, which is pure: waits in, budget out. What it is told by whom is in
// native/bindings/read_end.hpp.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "penstock/spin.hpp"

namespace penstock::spin {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::exit(1);
}

void nobody_spins_who_has_not_asked() {
  for (const std::int64_t most : {std::int64_t{0}, std::int64_t{-1}}) {
    AdaptiveSpin spin(most);
    for (const std::int64_t ns : {0, 1, 1'000'000}) {
      require(spin.budget_ns() == 0, "spins, though it was not asked for");
      spin.waited(ns);
      spin.waited_in_vain();
    }
  }
}

void nobody_spins_for_long() {
  require(AdaptiveSpin(1'000'000).budget_ns() == AdaptiveSpin::kMostNs, "spins for longer than spinning can win");
  require(AdaptiveSpin::kMostNs <= 20'000, "the limit is above 20 us");
}

void long_waits_end_the_spinning_and_short_ones_bring_it_back() {
  AdaptiveSpin spin(10'000);
  require(spin.budget_ns() == 10'000, "does not begin with a spin");
  spin.waited(1'000'000'000);
  require(spin.budget_ns() == 0, "spins after a long wait");
  int waits = 0;
  for (; spin.budget_ns() == 0; ++waits) spin.waited(1'000);
  require(waits <= 4, "one very long wait is not forgotten soon");
  spin.waited_in_vain();
  require(spin.budget_ns() == 0, "spins after it waited for nothing");
}

// Whatever it is told: the budget is all or nothing, and a steady stream decides it.
void any_waits(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::int64_t most = static_cast<std::int64_t>(1 + random() % 20) * 1'000;  // settings are in microseconds
  AdaptiveSpin spin(most);
  for (int i = 0; i < 100; ++i) {
    if (random() % 4 == 0)
      spin.waited_in_vain();
    else
      spin.waited(static_cast<std::int64_t>(random() >> random() % 64 >> 1));
    require(spin.budget_ns() == 0 || spin.budget_ns() == most, "a budget between nothing and all");
  }
  for (int i = 0; i < 100; ++i) spin.waited(most / 2);
  require(spin.budget_ns() == most, "does not spin, though everything comes soon");
  for (int i = 0; i < 100; ++i) spin.waited(2 * most);
  require(spin.budget_ns() == 0, "spins, though everything comes late");
}

}  // namespace
}  // namespace penstock::spin

int main() {
  using namespace penstock::spin;
  nobody_spins_who_has_not_asked();
  nobody_spins_for_long();
  long_waits_end_the_spinning_and_short_ones_bring_it_back();
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) any_waits(seed);
}
