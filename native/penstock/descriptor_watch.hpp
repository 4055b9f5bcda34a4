// Descriptors that ring a ring's bell: whoever sleeps in the ring's futex need not poll sockets beside it.
//
//   socket, pipe ... --> epoll --> one thread, asleep in epoll_wait --> bell --> whoever reads the ring
//
// The thread knows nothing but the epoll descriptor and the ring's memory: it takes no lock, and never needs the
// interpreter. Each descriptor fires once (EPOLLONESHOT), with bits of its own, and is quiet until it is armed again:
// a reader that is busy is not rung for every packet.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "background_thread.hpp"
#include "platform.hpp"
#include "view.hpp"

namespace penstock {

// One caller at a time; in Python, whoever has the interpreter lock.
template <class P = LinuxPlatform>
class DescriptorWatch {
 public:
  // `mapping` keeps the memory behind `view` mapped for as long as the thread may ring.
  DescriptorWatch(std::shared_ptr<const void> mapping, RingView view) : mapping_(std::move(mapping)), view_(view) {
    try {
      epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
      stop_ = checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
      control(EPOLL_CTL_ADD, stop_, EPOLLIN, kStop);
      thread_.start("penstock-watch", [epoll = epoll_, ring = view_] { watch(epoll, ring); });
    } catch (...) {
      close_descriptors();
      throw;
    }
  }
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;
  ~DescriptorWatch() { close(); }

  // Rings `bits` when `fd` can be read, has failed, or its other end is closed. Throws std::system_error if it cannot
  // be watched (EPERM: a regular file) or is already (EEXIST).
  void add(int fd, std::uint32_t bits) {
    control(EPOLL_CTL_ADD, fd, kEvents, bits);
    watched_[fd] = bits;  // its number may have been that of another one, which was closed without remove()
  }
  // Arms a descriptor that has fired; it fires at once if there is still something to read. False if it is not watched,
  // or was closed since.
  bool rearm(int fd) {
    const auto found = watched_.find(fd);
    if (found == watched_.end()) return false;
    epoll_event event = event_of(kEvents, found->second);
    if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0) return true;
    watched_.erase(found);
    return false;
  }
  // Does nothing if it is not watched. What came before may still ring.
  void remove(int fd) {
    if (watched_.erase(fd) == 0) return;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);  // if it was closed before, the kernel has removed it itself
  }

  // Ends the thread and waits for its end, which nothing can hold up: it never waits for anything but its epoll.
  void close() {
    if (closed()) return;
    // In a forked child, only the copies of the descriptors are closed: what stands behind them is shared.
    const std::uint64_t one = 1;
    while (!thread_.is_the_parents() && write(stop_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.end();
    close_descriptors();
  }
  bool closed() const { return thread_.ended(); }

 private:
  static constexpr std::uint32_t kEvents = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  static constexpr std::uint64_t kStop = ~std::uint64_t{0};  // no 32 bits
  static constexpr int kEventsAtOnce = 64;

  static epoll_event event_of(std::uint32_t events, std::uint64_t data) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    return event;
  }
  static int checked(int result, const std::string& step) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), step);
    return result;
  }
  void control(int operation, int fd, std::uint32_t events, std::uint64_t data) {
    epoll_event event = event_of(events, data);
    checked(epoll_ctl(epoll_, operation, fd, &event), "cannot watch descriptor " + std::to_string(fd));
  }

  static void watch(int epoll, const RingView& view) {
    epoll_event events[kEventsAtOnce];
    for (;;) {
      const int count = epoll_wait(epoll, events, kEventsAtOnce, -1);
      if (count < 0 && errno == EINTR) continue;  // stopped and continued
      if (count < 0) return;                      // somebody has closed our descriptor: nothing can be watched any more
      std::uint32_t bits = 0;
      bool stop = false;
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 == kStop)
          stop = true;
        else
          bits |= static_cast<std::uint32_t>(events[i].data.u64);
      }
      if (bits != 0) view.template ring_bell<P>(bits);
      if (stop) return;
    }
  }

  void close_descriptors() {
    watched_.clear();
    for (int* fd : {&epoll_, &stop_}) {
      if (*fd >= 0) ::close(*fd);
      *fd = -1;
    }
    mapping_.reset();
  }

  std::shared_ptr<const void> mapping_;
  const RingView view_;
  int epoll_ = -1;
  int stop_ = -1;
  std::unordered_map<int, std::uint32_t> watched_;  // with their bits: epoll wants them again at each rearm()
  BackgroundThread thread_;
};

}  // namespace penstock
