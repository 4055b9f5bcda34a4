// Runs the ring's own code through every schedule of small scenarios, up to a number of preemptions, with threads
// killed and stopped at every step, and checks what must hold at the end of each.
//
//   explore                      all scenarios, in about a minute
//   explore --deep               one preemption more
//   explore --scenario NAME      one of them
//   explore --scenario NAME --replay SCHEDULE     one schedule, as printed by a failure
//   explore --self-test          the explorer must find every bug in explorer_platform.hpp
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios.hpp"

namespace penstock::explorer {
namespace {

struct Outcome {
  std::uint64_t schedules = 0;
  std::uint64_t kills = 0;
  std::string failure;  // empty: every schedule was right
  std::string schedule;
};

void run_once(World& world, const Scenario& scenario, const Budget& budget) {
  Actors actors(world);
  scenario.set_up(world, actors);
  Scheduler::the().run(budget, [&world] { world.check_delivery(); });
  world.check_end();
}

// A schedule only means something together with the budget it was made under.
std::string described(const Budget& budget, const std::string& schedule) {
  return std::to_string(budget.preemptions) + "." + std::to_string(budget.kills) + "." + std::to_string(budget.stops) +
         "." + std::to_string(budget.timeouts) + "/" + schedule;
}

// Few preemptions first: a failure is then as simple as can be.
Outcome explore(World& world, const Scenario& scenario, const Budget& most) {
  Outcome outcome;
  Scheduler& scheduler = Scheduler::the();
  Budget budget = most;
  for (budget.preemptions = 0; budget.preemptions <= most.preemptions; ++budget.preemptions) {
    outcome.schedules = outcome.kills = 0;  // the larger bound includes the smaller
    scheduler.first_schedule();
    do {
      try {
        run_once(world, scenario, budget);
      } catch (const Violation& violation) {
        outcome.failure = violation.what();
        outcome.schedule = described(budget, scheduler.schedule());
        return outcome;
      }
      ++outcome.schedules;
      outcome.kills += static_cast<std::uint64_t>(budget.kills - scheduler.kills_left());
    } while (scheduler.next_schedule());
  }
  return outcome;
}

int run_all(World& world, std::string_view only, bool deep) {
  int failures = 0;
  std::printf("%-20s %12s %12s %9s  (p)reemptions (k)ills (s)tops (t)imeouts\n", "scenario", "schedules", "kills",
              "seconds");
  for (const Scenario& scenario : scenarios()) {
    if (!only.empty() && only != scenario.name) continue;
    const Budget& budget = deep ? scenario.deep_budget : scenario.budget;
    const auto began = std::chrono::steady_clock::now();
    const Outcome outcome = explore(world, scenario, budget);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%-20s %12lu %12lu %9.2f  p%d k%d s%d t%d\n", scenario.name.c_str(), outcome.schedules, outcome.kills,
                took.count(), budget.preemptions, budget.kills, budget.stops, budget.timeouts);
    if (!outcome.failure.empty()) {
      std::printf("  FAILED: %s\n  again with: explore --scenario %s --replay %s\n", outcome.failure.c_str(),
                  scenario.name.c_str(), outcome.schedule.c_str());
      ++failures;
    }
    std::fflush(stdout);
  }
  return failures == 0 ? 0 : 1;
}

int replay(World& world, std::string_view name, const std::string& text) {
  Budget budget;
  int used = 0;
  if (std::sscanf(text.c_str(), "%d.%d.%d.%d/%n", &budget.preemptions, &budget.kills, &budget.stops, &budget.timeouts,
                  &used) != 4 || used == 0)
    return std::fprintf(stderr, "not a schedule: %s\n", text.c_str()), 2;
  for (const Scenario& scenario : scenarios()) {
    if (name != scenario.name) continue;
    Scheduler::the().replay(text.substr(static_cast<std::size_t>(used)));
    P::trace = true;
    try {
      run_once(world, scenario, budget);
    } catch (const Violation& violation) {
      return std::printf("FAILED: %s\n", violation.what()), 1;
    }
    return std::printf("this schedule is right\n"), 0;
  }
  return std::fprintf(stderr, "no such scenario: %.*s\n", static_cast<int>(name.size()), name.data()), 2;
}

// The explorer is worth something only if it finds bugs that are there.
int self_test(World& world) {
  int missed = 0;
  for (const auto& [mutant, name] : kMutants) {
    P::mutant = mutant;
    std::string found;
    for (const Scenario& scenario : scenarios()) {
      const Outcome outcome = explore(world, scenario, scenario.budget);
      if (outcome.failure.empty()) continue;
      found = "found by " + scenario.name + ": " + outcome.failure;
      break;
    }
    std::printf("%-24s %s\n", name, found.empty() ? "MISSED" : found.c_str());
    std::fflush(stdout);
    missed += found.empty();
  }
  return missed == 0 ? 0 : 1;
}

int main(const std::vector<std::string>& arguments) {
  std::string scenario, schedule;
  bool deep = false, testing_itself = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool more = i + 1 < arguments.size();
    if (arguments[i] == "--deep") {
      deep = true;
    } else if (arguments[i] == "--self-test") {
      testing_itself = true;
    } else if (arguments[i] == "--scenario" && more) {
      scenario = arguments[++i];
    } else if (arguments[i] == "--replay" && more) {
      schedule = arguments[++i];
    } else {
      return std::fprintf(stderr, "usage: explore [--deep | --self-test] [--scenario NAME [--replay SCHEDULE]]\n"), 2;
    }
  }
  World world;
  if (!schedule.empty()) return replay(world, scenario, schedule);
  return testing_itself ? self_test(world) : run_all(world, scenario, deep);
}

}  // namespace
}  // namespace penstock::explorer

int main(int count, char** arguments) {
  return penstock::explorer::main({arguments + 1, arguments + count});
}
