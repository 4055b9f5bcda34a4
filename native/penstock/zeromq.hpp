// libzmq's functions, as pyzmq uses them, found when the program runs.
//
// pyzmq brings its own libzmq: in wheels a shared library whose name has a hash in it, elsewhere the system's, or one
// that is linked into the extension module; nowhere with headers. But wherever it is, a search that starts at the
// extension finds it. So a socket that was made by pyzmq can be used here, by one thread at a time. What is declared
// here again is libzmq's stable C interface.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace penstock {

struct ZeroMqError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ZeroMq {
 public:
  struct Message {
    alignas(void*) std::byte opaque[64];
  };
  struct PollItem {
    void* socket;  // or none, and a descriptor
    int descriptor;
    short events;
    short events_seen;
  };
  static constexpr short kReadable = 1;
  static constexpr int kDoNotWait = 1;
  static constexpr int kMoreFollow = 2;

  // `library`: a file that is loaded already, and is linked to libzmq. Throws ZeroMqError if a function is not there.
  explicit ZeroMq(const std::string& library) {
    // Never given back: so it stays loaded for as long as we may call it.
    void* const handle = dlopen(library.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) throw ZeroMqError("not loaded: " + library);
    find(handle, "zmq_errno", zmq_errno);
    find(handle, "zmq_strerror", zmq_strerror);
    find(handle, "zmq_version", zmq_version);
    find(handle, "zmq_poll", zmq_poll);
    find(handle, "zmq_send", zmq_send);
    find(handle, "zmq_msg_init", zmq_msg_init);
    find(handle, "zmq_msg_recv", zmq_msg_recv);
    find(handle, "zmq_msg_data", zmq_msg_data);
    find(handle, "zmq_msg_size", zmq_msg_size);
    find(handle, "zmq_msg_more", zmq_msg_more);
    find(handle, "zmq_msg_close", zmq_msg_close);
  }

  std::array<int, 3> version() const {
    std::array<int, 3> found{};
    zmq_version(&found[0], &found[1], &found[2]);
    return found;
  }

  // Sleeps until one of these can be read.
  void wait_for_any(std::span<PollItem> items) const {
    while (zmq_poll(items.data(), static_cast<int>(items.size()), -1) < 0) throw_unless_interrupted("zmq_poll");
  }

  [[noreturn]] void fail(const char* step) const {
    throw ZeroMqError(std::string(step) + " failed: " + zmq_strerror(zmq_errno()));
  }
  // By a signal, or because the process was stopped and continued: then it is to be tried again.
  void throw_unless_interrupted(const char* step) const {
    if (zmq_errno() != EINTR) fail(step);
  }

  int (*zmq_errno)();
  const char* (*zmq_strerror)(int error);
  void (*zmq_version)(int* major, int* minor, int* patch);
  int (*zmq_poll)(PollItem* items, int count, long timeout_ms);
  int (*zmq_send)(void* socket, const void* bytes, std::size_t size, int flags);
  int (*zmq_msg_init)(Message* message);
  int (*zmq_msg_recv)(Message* message, void* socket, int flags);
  void* (*zmq_msg_data)(Message* message);
  std::size_t (*zmq_msg_size)(const Message* message);
  int (*zmq_msg_more)(const Message* message);
  int (*zmq_msg_close)(Message* message);

 private:
  template <class Function>
  static void find(void* handle, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
    if (function == nullptr) throw ZeroMqError(std::string("no such function: ") + name);
  }
};

// One part of a message. Its memory is libzmq's, and stays until the next one is received into it.
class ZeroMqPart {
 public:
  explicit ZeroMqPart(const ZeroMq& zmq) : zmq_(zmq) { zmq_.zmq_msg_init(&message_); }
  ZeroMqPart(const ZeroMqPart&) = delete;
  ZeroMqPart& operator=(const ZeroMqPart&) = delete;
  ~ZeroMqPart() { zmq_.zmq_msg_close(&message_); }

  std::span<const std::byte> bytes() {
    return {static_cast<const std::byte*>(zmq_.zmq_msg_data(&message_)), zmq_.zmq_msg_size(&message_)};
  }
  std::string_view text() { return {reinterpret_cast<const char*>(bytes().data()), bytes().size()}; }
  bool more_follow() const { return zmq_.zmq_msg_more(&message_) != 0; }
  ZeroMq::Message* get() { return &message_; }

 private:
  const ZeroMq& zmq_;
  ZeroMq::Message message_;
};

// A socket that pyzmq has made, and closes when we are done with it.
class ZeroMqSocket {
 public:
  ZeroMqSocket(const ZeroMq& zmq, void* socket) : zmq_(zmq), socket_(socket) {}

  // False if there is nothing now. Parts of one message are there together.
  bool receive(ZeroMqPart& part) {
    while (zmq_.zmq_msg_recv(part.get(), socket_, ZeroMq::kDoNotWait) < 0) {
      if (zmq_.zmq_errno() == EAGAIN) return false;
      zmq_.throw_unless_interrupted("zmq_msg_recv");
    }
    return true;
  }
  void send(std::string_view part, bool more_follow) {
    const int flags = more_follow ? ZeroMq::kMoreFollow : 0;
    while (zmq_.zmq_send(socket_, part.data(), part.size(), flags) < 0) zmq_.throw_unless_interrupted("zmq_send");
  }
  const ZeroMq& zmq() const { return zmq_; }
  ZeroMq::PollItem readable() const { return {socket_, -1, ZeroMq::kReadable, 0}; }

 private:
  const ZeroMq& zmq_;
  void* socket_;
};

}  // namespace penstock
