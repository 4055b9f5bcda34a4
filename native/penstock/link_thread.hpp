// The thread that receives what other nodes send over links, and answers whoever wants to connect:
//
//   socket --> zmq_poll --> one thread --> intake --> ring
//   gate   -->                         --> gate
//
// It never needs the interpreter: busy bytecode delays neither a frame nor an answer.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "background_thread.hpp"
#include "gate.hpp"
#include "link_intake.hpp"
#include "zeromq.hpp"

namespace penstock {

// One caller at a time; in Python, whoever has the interpreter lock.
template <class P = LinuxPlatform>
class LinkThread {
 public:
  // From here to close(), sockets and intake are the thread's alone; libzmq allows a socket to go from thread to thread
  // with a full fence between, which the start and the end of a thread are.
  LinkThread(const ZeroMq& zmq, LinkIntake<P>& intake, void* frames, void* gate, std::string domain, std::string admitted)
      : zmq_(zmq),
        intake_(intake),
        frames_(zmq_, frames),
        gate_(ZeroMqSocket(zmq_, gate), std::move(domain), std::move(admitted)),
        stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (stop_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    try {
      thread_.start("penstock-link", [this] { run(); });
    } catch (...) {
      ::close(stop_);
      throw;
    }
  }
  LinkThread(const LinkThread&) = delete;
  LinkThread& operator=(const LinkThread&) = delete;
  ~LinkThread() { close(); }

  // Ends the thread and waits for its end, however full the ring is; in a forked child, closes a copied descriptor.
  void close() {
    if (thread_.ended()) return;
    stopping_.store(true, std::memory_order_relaxed);
    const std::uint64_t one = 1;
    while (!thread_.is_the_parents() && write(stop_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.end();
    ::close(stop_);
  }

  // Throws what has ended the thread, if anything but close() has.
  void check() const {
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
  }

 private:
  // So that neither frames nor those at the gate, nor close(), have to wait for long.
  static constexpr int kMostAtOnce = 64;
  // While the ring is full.
  static constexpr std::int64_t kLookAroundNs = 10'000'000;

  void run() {
    try {
      std::array items{frames_.readable(), gate_.readable(), ZeroMq::PollItem{nullptr, stop_, ZeroMq::kReadable, 0}};
      while (!stopping()) {
        zmq_.wait_for_any(items);
        answer_at_gate();
        take_several();
      }
    } catch (const RingClosed&) {
      if (!stopping()) fail();  // a ring that goes first is nothing to tell
    } catch (...) {
      fail();
    }
  }
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  void fail() {
    failure_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
  }

  void answer_at_gate() {
    for (int i = 0; i != kMostAtOnce && gate_.answer(); ++i) {
    }
  }

  void take_several() {
    ZeroMqPart first(zmq_), other(zmq_);
    for (int i = 0; i != kMostAtOnce && !stopping() && frames_.receive(first); ++i) {
      std::size_t parts = 1;
      for (bool more = first.more_follow(); more && frames_.receive(other); more = other.more_follow()) ++parts;
      if (intake_.take(first.bytes(), parts)) deliver();
    }
  }

  // However long the ring is full: ZeroMQ holds the senders back meanwhile. But a peer that connects must not be taken
  // for a stranger because nobody answers.
  void deliver() {
    while (!stopping() && !intake_.deliver(kLookAroundNs)) answer_at_gate();
  }

  const ZeroMq zmq_;
  LinkIntake<P>& intake_;
  ZeroMqSocket frames_;
  Gate gate_;
  int stop_;
  std::atomic<bool> stopping_{false};  // the truth; stop_ only wakes
  std::exception_ptr failure_;         // written once, before failed_
  std::atomic<bool> failed_{false};
  BackgroundThread thread_;
};

}  // namespace penstock
