// A thread of the core's own, beside those of the interpreter: it leaves signals to them, and survives no fork.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>

namespace penstock {

// Whoever owns it tells it to end before it calls end().
class BackgroundThread {
 public:
  // `name` has 15 letters at most: the kernel takes no more.
  template <class Run>
  void start(const char* name, Run&& run) {
    // Signals are for threads that can act on them: one that ours took would not interrupt the interpreter's wait.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::make_unique<std::thread>(std::forward<Run>(run));
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_->native_handle(), name);
  }

  // Whether we are a forked child: the thread is the parent's then, and so is whatever it could be told by.
  bool is_the_parents() const { return owner_ != getpid(); }
  bool ended() const { return thread_ == nullptr; }

  // Waits for its end; in a forked child, where it can be neither joined nor detached, only forgets it.
  void end() {
    if (ended()) return;
    if (is_the_parents())
      (void)thread_.release();
    else
      thread_->join();
    thread_.reset();
  }

 private:
  const pid_t owner_ = getpid();
  std::unique_ptr<std::thread> thread_;
};

}  // namespace penstock
