// A deterministic scheduler: runs the threads of a scenario as coroutines on one real thread, one step at a time, and
// explores their schedules depth-first.
//
// A thread asks before each step whether it may go on. Every answer that could have been another is a choice; the list
// of choices is the schedule. To try the next schedule the scenario is run again from the start, with the last choice
// that has an alternative left changed. Going around a thread that could go on is a preemption; their number is
// bounded (most bugs need few), while switches away from a thread that waits or has ended cost nothing.
//
// Besides, a thread may be killed before any step (it never runs again) or stopped (it runs again only when all
// others have come to rest), a bounded number of times per schedule.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace penstock::explorer {

// An invariant does not hold. Thrown inside a scenario's thread or by its last check.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Budget {
  int preemptions = 0;
  int kills = 0;
  int stops = 0;
  int timeouts = 0;  // futex waits that end though nobody woke them
};

enum class Fate { safe, mortal };

class Scheduler {
 public:
  static constexpr std::size_t kNobody = ~std::size_t{0};  // as a thread: one that has ended before the scenario began

  static Scheduler& the() { return instance_; }

  // Called while a scenario is set up. `fate` says whether the thread may be killed or stopped.
  std::size_t spawn(Fate fate, std::function<void()> body) {
    Thread& thread = threads_.emplace_back();
    thread.body = std::move(body);
    thread.fate = fate;
    return threads_.size() - 1;
  }

  // Runs one schedule until nothing moves any more. `at_rest` is called when only stopped threads could still move.
  void run(const Budget& budget, std::function<void()> at_rest) {
    left_ = budget;
    at_rest_ = std::move(at_rest);
    depth_ = steps_ = 0;
    failure_.clear();
    for (std::size_t i = 0; i < threads_.size(); ++i) prepare(i);
    current_ = pick_next();
    if (_setjmp(main_) == 0) enter(threads_[current_]);
    if (!failure_.empty()) throw Violation(failure_);
  }
  void clear() {
    threads_.clear();
    current_ = kNobody;
  }

  // Moves on to the next schedule; false when all have been run.
  bool next_schedule() {
    choices_.resize(depth_);
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().options) choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }
  void first_schedule() { choices_.clear(); }

  // The schedule as text: "choice number:option taken" where the option is not the first.
  std::string schedule() const {
    std::ostringstream text;
    for (std::size_t i = 0; i < depth_; ++i)
      if (choices_[i].taken != 0) text << (text.tellp() > 0 ? "," : "") << i << ':' << choices_[i].taken;
    return text.tellp() > 0 ? text.str() : "0:0";
  }
  void replay(const std::string& text) {
    choices_.clear();
    std::istringstream in(text);
    std::size_t number = 0;
    int taken = 0;
    for (char colon = 0; in >> number >> colon >> taken; in.ignore()) {
      if (choices_.size() <= number) choices_.resize(number + 1);
      choices_[number].taken = taken;
    }
  }

  // What the threads of a scenario call.

  // Runs `action` without taking steps.
  template <class Action>
  auto quietly(const Action& action) {
    quiet_ = true;
    struct Loud {
      ~Loud() { the().quiet_ = false; }
    } loud_again;
    return action();
  }

  // A step is about to be taken: others may go first, or we may not live to take it.
  void step() {
    if (quiet_) return;
    Thread& me = threads_[current_];
    if (++steps_ > kMostSteps) throw Violation("endless: more than " + std::to_string(kMostSteps) + " steps");
    if (std::exchange(me.just_begun, false)) return;  // nothing was done since it was chosen
    const int others = left_.preemptions > 0 ? count_movable(current_) : 0;
    const bool mortal = me.fate == Fate::mortal;
    const bool killable = mortal && left_.kills > 0, stoppable = mortal && left_.stops > 0;
    int taken = choose(1 + others + killable + stoppable);
    if (taken == 0) return;
    if (taken <= others) {
      --left_.preemptions;
      switch_to(movable(taken - 1, current_));
      return;
    }
    taken -= others + 1;
    const bool kill = killable && taken == 0;
    --(kill ? left_.kills : left_.stops);
    me.state = kill ? State::killed : State::stopped;
    switch_to(pick_next());
  }

  void futex_wait(const std::uint32_t& word, std::uint32_t expected) {
    step();
    if (word != expected) return;
    threads_[current_].state = State::asleep;
    threads_[current_].futex = &word;
    switch_to(pick_next());
  }
  void futex_wake(const std::uint32_t& word, int most) {
    step();
    for (Thread& thread : threads_)
      if (most > 0 && thread.state == State::asleep && thread.futex == &word) {
        thread.state = State::ready;
        --most;
      }
  }
  // Rests until `condition`, which takes no steps, holds: for the scenario's own threads, not for the code under test.
  void wait_until(std::function<bool()> condition) {
    if (quietly(condition)) return;
    threads_[current_].condition = std::move(condition);
    threads_[current_].state = State::conditional;
    switch_to(pick_next());
  }

  std::size_t current() const { return current_; }
  bool killed(std::size_t thread) const { return state(thread) == State::killed; }
  bool stopped(std::size_t thread) const { return state(thread) == State::stopped; }
  bool finished(std::size_t thread) const { return state(thread) == State::finished; }
  bool asleep(std::size_t thread) const { return state(thread) == State::asleep; }
  int kills_left() const { return left_.kills; }

 private:
  enum class State { ready, asleep, conditional, finished, killed, stopped };
  struct Thread {
    std::function<void()> body;
    std::function<bool()> condition;
    Fate fate = Fate::safe;
    State state = State::ready;
    bool just_begun = true;
    const std::uint32_t* futex = nullptr;
    ucontext_t start{};  // where it begins
    jmp_buf resume{};    // where it goes on; swapcontext would save signal masks, a system call per switch
    bool started = false;
  };
  struct Choice {
    int taken = 0;
    int options = 0;  // 0: not known yet, in a replay
  };

  static constexpr std::size_t kStackBytes = 128 * 1024;
  static constexpr std::size_t kMostSteps = 20'000;

  State state(std::size_t thread) const { return thread == kNobody ? State::finished : threads_[thread].state; }

  void prepare(std::size_t index) {
    if (stacks_.size() <= index) stacks_.push_back(std::make_unique<std::byte[]>(kStackBytes));
    ucontext_t& context = threads_[index].start;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_[index].get();
    context.uc_stack.ss_size = kStackBytes;
    makecontext(&context, &Scheduler::begin, 0);
  }

  // A thread that is killed or still waits at the end is simply never resumed: scenarios keep everything that owns
  // memory outside of their threads' stacks.
  static void begin() {
    Scheduler& scheduler = the();
    try {
      scheduler.threads_[scheduler.current_].body();
      scheduler.threads_[scheduler.current_].state = State::finished;
      scheduler.switch_to(scheduler.pick_next());
    } catch (const std::exception& error) {
      scheduler.failure_ = error.what();
    }
    _longjmp(scheduler.main_, 1);
  }

  int choose(int options) {
    if (options == 1) return 0;
    if (depth_ == choices_.size()) choices_.push_back({0, options});
    Choice& choice = choices_[depth_++];
    if (choice.options == 0) choice.options = options;
    if (choice.options != options || choice.taken >= options)
      throw Violation("this schedule does not fit the scenario: it is not deterministic, or was made for another");
    return choice.taken;
  }

  bool can_move(Thread& thread) {
    return thread.state == State::ready || (thread.state == State::conditional && quietly(thread.condition));
  }
  bool may_time_out(const Thread& thread) const { return thread.state == State::asleep && left_.timeouts > 0; }

  bool may_run(std::size_t index) { return can_move(threads_[index]) || may_time_out(threads_[index]); }
  int count_movable(std::size_t except) {
    int count = 0;
    for (std::size_t i = 0; i < threads_.size(); ++i) count += i != except && may_run(i);
    return count;
  }
  std::size_t movable(int wanted, std::size_t except) {
    for (std::size_t i = 0;; ++i)
      if (i != except && may_run(i) && wanted-- == 0) return i;
  }

  // Who runs when the current thread cannot; nobody, when all have come to rest. A time-out alone is no movement:
  // otherwise it would hide that a wake-up was lost.
  std::size_t pick_next() {
    const auto moves = [this](Thread& thread) { return can_move(thread); };
    const auto is_stopped = [](const Thread& thread) { return thread.state == State::stopped; };
    if (std::none_of(threads_.begin(), threads_.end(), moves)) {
      if (std::none_of(threads_.begin(), threads_.end(), is_stopped)) return kNobody;
      at_rest_();
      for (Thread& thread : threads_)
        if (is_stopped(thread)) thread.state = State::ready;
    }
    return movable(choose(count_movable(kNobody)), kNobody);
  }

  void switch_to(std::size_t next) {
    if (next == kNobody) _longjmp(main_, 1);
    Thread& thread = threads_[next];
    if (thread.state == State::asleep) --left_.timeouts;
    thread.state = State::ready;
    const std::size_t leaving = std::exchange(current_, next);
    if (leaving != next && _setjmp(threads_[leaving].resume) == 0) enter(thread);
  }
  [[noreturn]] static void enter(Thread& thread) {
    if (!std::exchange(thread.started, true)) setcontext(&thread.start);
    _longjmp(thread.resume, 1);
  }

  static Scheduler instance_;
  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<std::byte[]>> stacks_;
  std::vector<Choice> choices_;
  std::size_t depth_ = 0, steps_ = 0, current_ = kNobody;
  Budget left_;
  std::function<void()> at_rest_;
  std::string failure_;
  jmp_buf main_{};
  bool quiet_ = false;
};

inline Scheduler Scheduler::instance_;

}  // namespace penstock::explorer
