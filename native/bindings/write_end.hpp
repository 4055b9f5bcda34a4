// The writing end of a ring, for Python. Python threads may share one: they take turns under the interpreter lock,
// which is held from claim to commit and given up only while waiting for space.
#pragma once

#include <nanobind/nanobind.h>
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/packets.hpp"
#include "penstock/segment.hpp"
#include "python_glue.hpp"
#include "row_encoder.hpp"

namespace penstock::bindings {

class WriteEnd {
 public:
  // `door_fd` is the socket to the consumer's door: its end of file says that the consumer is gone.
  WriteEnd(int memory_fd, std::uint32_t slot, int door_fd)
      : segment_(std::make_shared<Segment>(Segment::attach(memory_fd))),
        view_(segment_->view()),
        producer_(view_, checked(view_, slot)),
        door_fd_(door_fd) {}
  WriteEnd(const WriteEnd&) = delete;
  WriteEnd& operator=(const WriteEnd&) = delete;

  bool try_write(nb::handle payload, const Route& route) {
    const Bytes bytes(payload);
    if (bytes.size() > open().max_payload())
      raise("MessageTooLargeError", "try_write takes one record: payload_bytes=" + std::to_string(bytes.size()) +
                                        " limit=" + std::to_string(producer_.max_payload()) +
                                        " (an eighth of the ring); write() sends larger messages in packets");
    return !full(write_message(bytes, route));
  }

  // Encodes a frame and writes it. Minus its bytes if it is written; the payload if there is no room for it now, or if it
  // does not fit into a record; else the verdict: why it has no payload.
  nb::object try_write_tuples(const Route& route, const TuplesFrame& frame, std::size_t most_bytes) {
    thread_local EncodeBuffer buffer;
    if (const Verdict verdict = frame.encode(buffer, most_bytes); verdict != kPlain) return nb::int_(int{verdict});
    const std::size_t size = buffer.size();
    const auto fill = [&](std::byte* to) { Platform::copy(to, reinterpret_cast<const std::byte*>(buffer.data()), size); };
    if (size <= open().max_payload() &&
        !full(producer_.try_write(route, Kind::message, static_cast<std::uint32_t>(size), fill))) {
      return nb::int_(-static_cast<std::int64_t>(size));
    }
    return nb::bytes(buffer.data(), size);
  }

  void write(nb::handle payload, const Route& route, std::optional<double> timeout_s) {
    const Bytes bytes(payload);
    const Deadline deadline(timeout_s);
    write_one(bytes, route, deadline, 0);
  }

  // Consecutive small messages share a record: one claim and one commit for all of them.
  void write_many(nb::handle payloads, const Route& route, std::optional<double> timeout_s) {
    const nb::object sequence = nb::steal(PySequence_Fast(payloads.ptr(), "payloads must be a sequence of bytes-like objects"));
    if (!sequence.is_valid()) throw nb::python_error();
    const Deadline deadline(timeout_s);
    const std::size_t limit = std::min<std::size_t>(open().max_payload(), kBatchBytes);
    const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
    std::vector<Bytes> batch;
    batch.reserve(std::min<std::size_t>(count, 1024));
    std::size_t batch_bytes = 0, written = 0;
    const auto flush = [&] {
      if (batch.size() == 1) write_one(batch.front(), route, deadline, written);
      if (batch.size() > 1) write_batch(batch, batch_bytes, route, deadline, written);
      written += batch.size();
      batch.clear();
      batch_bytes = 0;
    };
    for (std::size_t i = 0; i != count; ++i) {
      // The list may shrink while we wait without the interpreter lock: ask for its size each time.
      if (i >= static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()))) break;
      Bytes bytes(nb::handle(PySequence_Fast_GET_ITEM(sequence.ptr(), static_cast<Py_ssize_t>(i))));
      const std::size_t needed = sizeof(BatchHead) + bytes.size();
      if (batch_bytes + needed > limit) flush();
      batch.push_back(std::move(bytes));
      batch_bytes += needed;
    }
    flush();
  }

  // A large message on its way: call advance() until it says true. One at a time per writer.
  class LargeTransfer {
   public:
    LargeTransfer(WriteEnd& end, const Bytes& bytes, const Route& route)
        : end_(end), sender_(end.open(), end.begin_large(bytes.size()), route, bytes.data(), bytes.size()) {}
    LargeTransfer(const LargeTransfer&) = delete;
    LargeTransfer& operator=(const LargeTransfer&) = delete;
    ~LargeTransfer() { end_.large_under_way_ = false; }

    bool advance() {
      end_.open();
      const SendResult result = sender_.advance();
      if (result == SendResult::closed) end_.full(WriteResult::closed);
      return result == SendResult::settled;
    }

   private:
    WriteEnd& end_;
    PacketSender<Platform> sender_;
  };

  // Wants the reader without a record. A writer that is closed has nobody to want.
  void ring_bell(std::uint32_t bits) {
    check_bits(bits);
    if (segment_) view_.ring_bell<Platform>(bits);
  }

  // The consumer's process has gone, or has closed its door.
  bool consumer_gone() const {
    pollfd door{door_fd_, POLLIN | POLLRDHUP, 0};
    return poll(&door, 1, 0) > 0;
  }
  void meet_consumer(int door_fd) { door_fd_ = door_fd; }

  // Detaches in good order; the slot is free for another.
  void leave() {
    if (!segment_) return;
    producer_.leave();
    segment_.reset();
  }
  // Forgets the ring without touching it: after a fork it is the parent's.
  void abandon() { segment_.reset(); }
  bool closed() const { return !segment_; }

  std::uint32_t slot() const { return producer_.slot_index(); }
  int memory_fd() { return (open(), segment_->descriptor()); }
  const RingView& view() { return (open(), view_); }
  // Keeps the ring's memory mapped for as long as it is held, whatever becomes of us.
  std::shared_ptr<const void> mapping() { return (open(), segment_); }

 private:
  // Enough to amortise the claim; not so much that the reader waits for it.
  static constexpr std::size_t kBatchBytes = 64 * 1024;

  static std::uint32_t checked(const RingView& view, std::uint32_t slot) {
    if (slot >= view.max_producers())
      throw RingMemory("producer slot beyond the ring's: slot=" + std::to_string(slot));
    return slot;
  }

  Producer<Platform>& open() {
    if (!segment_) raise("RingClosedError", "this writer is closed, or it was made before a fork: attach again");
    return producer_;
  }

  WriteResult write_message(const Bytes& bytes, const Route& route) {
    return producer_.try_write(route, Kind::message, static_cast<std::uint32_t>(bytes.size()),
                               [&](std::byte* to) { Platform::copy(to, bytes.data(), bytes.size()); });
  }

  void write_one(const Bytes& bytes, const Route& route, const Deadline& deadline, std::size_t written) {
    if (bytes.size() > open().max_payload()) return write_large(bytes, route, deadline, written);
    until_done(deadline, written, [&] { return !full(write_message(bytes, route)); });
  }

  void write_batch(const std::vector<Bytes>& batch, std::size_t total, const Route& route, const Deadline& deadline,
                   std::size_t written) {
    const auto fill = [&](std::byte* to) {
      for (const Bytes& bytes : batch) {
        const auto length = static_cast<BatchHead>(bytes.size());
        std::memcpy(to, &length, sizeof(length));
        Platform::copy(to + sizeof(length), bytes.data(), bytes.size());
        to += sizeof(length) + bytes.size();
      }
    };
    until_done(deadline, written, [&] {
      return !full(producer_.try_write(route, Kind::batch, static_cast<std::uint32_t>(total), fill));
    });
  }

  void write_large(const Bytes& bytes, const Route& route, const Deadline& deadline, std::size_t written) {
    // One large message at a time: another thread's goes first.
    until_done(deadline, written, [&] { return !large_under_way_; });
    LargeTransfer transfer(*this, bytes, route);
    until_done(deadline, written, [&] { return transfer.advance(); },
               "; all packets of a large message may be sent and only its settlement late: it may still arrive");
  }

  // Takes the only place for a large message; the LargeTransfer gives it back.
  std::uint32_t begin_large(std::size_t bytes) {
    if (bytes > view_.max_message())
      raise("MessageTooLargeError", "payload_bytes=" + std::to_string(bytes) + " limit=" +
                                        std::to_string(view_.max_message()) + " (the ring's max_message_bytes)");
    if (large_under_way_) raise("RingError", "this writer has a large message under way: one at a time");
    large_under_way_ = true;
    return producer_.next_large_message();
  }

  // Tries until `attempt` succeeds; sleeps between tries until the consumer has made room.
  template <class Attempt>
  void until_done(const Deadline& deadline, std::size_t written, Attempt&& attempt, const char* note = "") {
    open();
    if (attempt()) return;
    producer_.count_full_wait();
    for (;;) {
      const std::uint32_t sequence = producer_.prepare_wait();
      if (attempt()) return;
      const std::int64_t slice = deadline.slice_ns();
      if (slice <= 0) raise_full(written, note);
      if (consumer_gone())
        raise("RingClosedError", "the ring's consumer is gone; this message was not written. "
                                 "Attach to its successor, or route elsewhere");
      {
        const std::shared_ptr<Segment> mapped = segment_;  // another thread may close us while we sleep
        const nb::gil_scoped_release unlocked;
        producer_.sleep(sequence, slice);
      }
      check_signals();
      open();  // another thread may have closed us meanwhile
    }
  }

  bool full(WriteResult result) const {
    if (result == WriteResult::closed) raise("RingClosedError", "the ring was closed by its consumer");
    return result == WriteResult::full;
  }

  [[noreturn]] void raise_full(std::size_t written, const char* note) {
    const nb::object error = nb::module_::import_("penstock.errors").attr("RingFullError")(
        "ring full until the timeout: capacity_bytes=" + std::to_string(view_.capacity()) +
            " messages_written=" + std::to_string(written) + note,
        written);
    PyErr_SetObject(error.type().ptr(), error.ptr());
    throw nb::python_error();
  }

  std::shared_ptr<Segment> segment_;
  const RingView view_;  // with the sizes as they were checked at attach
  Producer<Platform> producer_;
  int door_fd_;
  bool large_under_way_ = false;
};

// A large message that Python moves along itself, without ever waiting; it holds the payload until then.
struct LargeSend {
  LargeSend(WriteEnd& end, nb::handle payload, const Route& route) : bytes(payload), transfer(end, bytes, route) {}
  bool advance() { return transfer.advance(); }

  const Bytes bytes;
  WriteEnd::LargeTransfer transfer;
};

}  // namespace penstock::bindings
