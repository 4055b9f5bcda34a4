// The memory of a ring: a sealed memfd. It has no name, so nothing can leak or be opened by another user; it cannot
// shrink, so no peer can make us fault; and it is allocated in full at once, so a lack of memory is an error here
// and not a signal later.
#pragma once

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "errors.hpp"
#include "layout.hpp"
#include "view.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace penstock {

class Segment {
 public:
  static Segment create(std::uint64_t capacity, std::uint32_t max_producers, std::uint64_t max_message,
                        std::uint64_t nonce) {
    RingView::check_sizes(capacity, max_producers);
    const std::size_t bytes = segment_bytes(capacity, max_producers);
    int fd = memfd_create("penstock-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) fd = memfd_create("penstock-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) fail("memfd_create", bytes);
    Segment segment(fd, bytes);
    int error;
    do error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    while (error == EINTR);  // a signal is no lack of memory
    if (error != 0) {
      errno = error;
      fail("posix_fallocate", bytes);
    }
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail("sealing", bytes);
    segment.map();
    RingView(segment.base_, capacity, max_producers, max_message).initialise<LinuxPlatform>(nonce);
    return segment;
  }

  // Takes a descriptor of its own; the caller keeps the one it passed.
  static Segment attach(int descriptor) {
    const int fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) fail("duplicating the descriptor", 0);
    Segment segment(fd, 0);
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
      throw RingMemory("not a ring: the descriptor is not a memfd sealed against shrinking and growing");
    struct stat status;
    if (fstat(fd, &status) != 0) fail("fstat", 0);
    segment.bytes_ = static_cast<std::size_t>(status.st_size);
    if (segment.bytes_ < sizeof(ControlBlock))
      throw RingMemory("not a ring: bytes=" + std::to_string(segment.bytes_));
    segment.map();
    RingView::validated<LinuxPlatform>(segment.base_, segment.bytes_);
    return segment;
  }

  Segment(Segment&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_), base_(std::exchange(other.base_, nullptr)) {}
  Segment& operator=(Segment&&) = delete;
  ~Segment() {
    if (base_ != nullptr) munmap(base_, bytes_);
    if (fd_ >= 0) close(fd_);
  }

  RingView view() const { return RingView::validated<LinuxPlatform>(base_, bytes_); }
  int descriptor() const { return fd_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Segment(int fd, std::size_t bytes) : fd_(fd), bytes_(bytes) {}

  void map() {
    void* base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, 0);
    if (base == MAP_FAILED) fail("mmap", bytes_);
    base_ = static_cast<std::byte*>(base);
  }

  [[noreturn]] static void fail(const char* step, std::size_t bytes) {
    throw RingMemory(std::string("no memory for a ring: ") + step + " of bytes=" + std::to_string(bytes) +
                     " failed: " + std::strerror(errno));
  }

  int fd_;
  std::size_t bytes_;
  std::byte* base_ = nullptr;
};

}  // namespace penstock
