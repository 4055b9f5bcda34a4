// The fast path: a frame of tuples that finds its task with nothing else to do is worked on where it is read, and what
// comes of it is sent, before Python has its turn.
//
// The invariants:
// - Only a prefix of what has arrived goes this way. The first frame that may not, and all behind it, are Python's: so
//   every channel keeps its order, and markers keep their place.
// - Whether a task may is asked once between two turns of Python (`ready`), and so is a channel (`channel`): nothing
//   that the answer depends on changes in between but by what is done here, and that is counted against `room`.
// - Before each call into Python the state is complete: the frame is counted or it is not, and none is half done.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "emitter.hpp"
#include "owned_histogram.hpp"
#include "penstock/layout.hpp"
#include "platform_choice.hpp"
#include "tuple_decoder.hpp"

namespace penstock::bindings {

// A bolt, as the fast path knows it. Made by penstock.worker.fast_path, one for each bolt that works tuple by tuple.
class FastTask {
 public:
  FastTask(nb::object its_bolt, nb::object its_outputs, nb::object user_code, nb::object told_of_failures,
           nb::object latencies, bool gives_iterators, bool is_told_of, nb::object begin_tree, nb::object end_tree)
      : bolt(std::move(its_bolt)),
        outputs(std::move(its_outputs)),
        process(std::move(user_code)),
        fail(std::move(told_of_failures)),
        latency(std::move(latencies)),
        begin(std::move(begin_tree)),
        end(std::move(end_tree)),
        yields(gives_iterators),
        has_news(is_told_of) {
    nb::cast<Emitter&>(outputs);
    nb::cast<OwnedHistogram&>(latency);
  }

  std::int64_t room = 0;  // how many tuples may be worked on until Python is asked again
  std::int64_t most = 0;  // how many of one frame: what takes long is cut into pieces, by Python

  const nb::object bolt, outputs, process, fail, latency;
  const nb::object begin, end;  // told the trees of a frame before and after it is worked on; None if not tracked
  const bool yields;
  const bool has_news;  // whether Python tells others what was worked on
  bool is_tracked() const { return !begin.is_none(); }

  int traverse(visitproc visit, void* arg) const {
    for (const nb::object* one : {&bolt, &outputs, &process, &fail, &latency, &begin, &end}) Py_VISIT(one->ptr());
    return 0;
  }
  void clear() {}  // its bolt refers to it, and lets go
};

// How the frames of one edge are read, and told of. None of it changes while the edge is there.
struct FastChannel {
  std::uint32_t edge, source;
  std::uint32_t assignment;
  nb::object decode;     // None: frames of this channel are Python's
  nb::object keys_of;    // from tuples to their keys; None if the bolt has none
  nb::object hops;       // a histogram
  std::int64_t due_at;   // credit goes back when so many bytes are done
  std::int64_t bytes = 0, tuples = 0;
};

class FastPath {
 public:
  static constexpr std::uint32_t kTuples = 0;  // FrameKind.TUPLES
  // Whoever waits to hear that a tree is complete, or for collected rows, waits for so much longer at most. What is told
  // together costs once.
  static constexpr std::int64_t kNewsNs = 2'000'000;

  // Called in Python:
  //   ready(task) gives a FastTask, or None;
  //   channel(bolt, edge, source, assignment) gives (decode, keys_of, hops, due_at_bytes), or None;
  //   flush(bolt, origin_ns, now_ns) sends what was emitted, and says whether to go on without a turn of Python;
  //   unfinished(bolt, calls, keys, (edge, source, assignment), size_bytes, decoded, origin_ns) takes over a call that
  //     has more to emit than a piece;
  //   now_ns() is the time. None: that of the system.
  FastPath(nb::object ready, nb::object channel, nb::object flush, nb::object unfinished, nb::object now_ns)
      : ready_(std::move(ready)),
        channel_(std::move(channel)),
        flush_(std::move(flush)),
        unfinished_(std::move(unfinished)),
        now_ns_(std::move(now_ns)) {}
  FastPath(const FastPath&) = delete;
  FastPath& operator=(const FastPath&) = delete;

  // Python has had its turn: whatever was asked before it has to be asked again.
  void begin() {
    for (std::size_t index = 0; index != used_; ++index) entries_[index]->forget();
    used_ = 0;
    wants_python_ = false;
    frames_ = 0;
    news_since_ns_ = 0;
  }

  // Works on a frame, if it may. False: it is for Python.
  bool take(const Route& route, const std::byte* payload, std::size_t size) {
    if (route.flags != kTuples) return false;
    Entry& entry = entry_of(route.target);
    if (!entry.task.is_valid()) return false;
    FastChannel* channel = channel_of(entry, route);
    if (channel == nullptr) return false;
    const nb::object decoded = decode(*channel, payload, size);
    if (!decoded.is_valid()) return false;
    FastTask& task = *nb::inst_ptr<FastTask>(entry.task);
    const Frame frame(decoded, task.is_tracked());
    if (!frame.is_plain || frame.count > std::min(task.room, task.most)) return false;
    work_on(entry, task, *channel, frame, size, decoded);
    return true;
  }

  // Sends what was emitted. It is late by the time that this prefix took at most.
  void flush() {
    for (std::size_t index = 0; index != used_; ++index) {
      Entry& entry = *entries_[index];
      if (!entry.has_emitted) continue;
      entry.has_emitted = false;
      const nb::object bolt = nb::inst_ptr<FastTask>(entry.task)->bolt;
      const nb::object goes_on = flush_(bolt, entry.origin_ns, now());
      if (!nb::cast<bool>(goes_on)) wants_python_ = true;
      entry.origin_ns = 0;
    }
  }

  // What was done since the last time: (bolt, busy_ns, [(edge, source, assignment, tuples, bytes), ...]) of each task.
  nb::list take_done() {
    nb::list done;
    for (std::size_t index = 0; index != used_; ++index) {
      Entry& entry = *entries_[index];
      if (entry.busy_ns == 0) continue;
      nb::list channels;
      for (FastChannel& channel : entry.channels) {
        if (channel.tuples == 0) continue;
        channels.append(nb::make_tuple(channel.edge, channel.source, channel.assignment, channel.tuples, channel.bytes));
        channel.tuples = channel.bytes = 0;
      }
      done.append(nb::make_tuple(nb::inst_ptr<FastTask>(entry.task)->bolt, entry.busy_ns, channels));
      entry.busy_ns = 0;
    }
    return done;
  }

  void waited(std::int64_t ns) { waited_ns_ += ns; }
  // How long the reader has slept since the last time, for want of frames.
  std::int64_t take_waited() { return std::exchange(waited_ns_, 0); }
  // When Python should tell others what was worked on, by the steady clock; 0 if there is nothing to tell.
  std::int64_t news_due_ns() const { return news_since_ns_ == 0 ? 0 : news_since_ns_ + kNewsNs; }
  bool wants_python() const { return wants_python_; }
  std::int64_t frames() const { return frames_; }
  nb::object current() const { return current_.is_valid() ? current_ : nb::none(); }

  int traverse(visitproc visit, void* arg) const {
    for (const nb::object* one : {&ready_, &channel_, &flush_, &unfinished_, &now_ns_, &current_}) Py_VISIT(one->ptr());
    for (const std::unique_ptr<Entry>& entry : entries_) {
      Py_VISIT(entry->task.ptr());
      for (const FastChannel& channel : entry->channels) {
        for (const nb::object* one : {&channel.decode, &channel.keys_of, &channel.hops}) Py_VISIT(one->ptr());
      }
    }
    return 0;
  }
  void clear() {
    begin();
    for (nb::object* one : {&ready_, &channel_, &flush_, &unfinished_, &now_ns_}) *one = nb::none();
  }

 private:
  struct Entry {
    std::uint32_t target = 0;
    nb::object task;  // a FastTask; none if Python said no
    std::vector<FastChannel> channels;
    std::int64_t origin_ns = 0;  // of the oldest tuple that has gone into what is not sent yet; 0 for none
    std::int64_t busy_ns = 0;
    bool has_emitted = false;

    void forget() {
      task.reset();
      channels.clear();
      origin_ns = busy_ns = 0;
      has_emitted = false;
    }
  };

  // A decoded frame: (origin_ns, sent_ns, number, runs, tuples). Of several trees, or with stamps before time began, it
  // is not for us, and an empty one is nothing: Python knows what to do.
  struct Frame {
    Frame(const nb::object& decoded, bool is_tracked) {
      PyObject* all = decoded.ptr();
      if (!PyTuple_CheckExact(all) || PyTuple_GET_SIZE(all) != 5) return;
      number = PyTuple_GET_ITEM(all, 2);
      runs = PyTuple_GET_ITEM(all, 3);
      tuples = PyTuple_GET_ITEM(all, 4);
      origin_ns = PyLong_AsLongLong(PyTuple_GET_ITEM(all, 0));
      sent_ns = PyLong_AsLongLong(PyTuple_GET_ITEM(all, 1));
      if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return;
      }
      if (!PyList_CheckExact(tuples)) return;
      count = PyList_GET_SIZE(tuples);
      is_plain = origin_ns >= 0 && sent_ns >= 0 && count > 0 && (is_tracked ? is_of_one_tree() : is_of_no_tree());
    }
    bool is_of_no_tree() const { return PyList_CheckExact(runs) && PyList_GET_SIZE(runs) == 0; }
    bool is_of_one_tree() const {
      if (!PyList_CheckExact(runs) || PyList_GET_SIZE(runs) != 1) return false;
      PyObject* run = PyList_GET_ITEM(runs, 0);
      if (!PyTuple_CheckExact(run) || PyTuple_GET_SIZE(run) != 2) return false;
      int overflow = 0;
      return PyLong_AsLongLongAndOverflow(PyTuple_GET_ITEM(run, 1), &overflow) == count && overflow == 0;
    }
    bool is_plain = false;
    std::int64_t origin_ns = 0, sent_ns = 0;
    PyObject *number = nullptr, *runs = nullptr, *tuples = nullptr;  // borrowed from what was decoded
    Py_ssize_t count = 0;
  };

  std::int64_t now() const {
    if (!now_ns_.is_none()) return nb::cast<std::int64_t>(now_ns_());
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  Entry& entry_of(std::uint32_t target) {
    for (std::size_t index = 0; index != used_; ++index) {
      if (entries_[index]->target == target) return *entries_[index];
    }
    nb::object task = ready_(target);
    if (!task.is_none()) nb::cast<FastTask&>(task);
    if (used_ == entries_.size()) entries_.push_back(std::make_unique<Entry>());
    Entry& entry = *entries_[used_++];
    entry.target = target;
    if (!task.is_none()) entry.task = std::move(task);
    return entry;
  }

  FastChannel* channel_of(Entry& entry, const Route& route) const {
    for (FastChannel& channel : entry.channels) {
      if (channel.source == route.source && channel.edge == route.stream && channel.assignment == route.assignment) {
        return channel.decode.is_none() ? nullptr : &channel;
      }
    }
    const nb::object found =
        channel_(nb::inst_ptr<FastTask>(entry.task)->bolt, route.stream, route.source, route.assignment);
    FastChannel channel{route.stream, route.source, route.assignment, nb::none(), nb::none(), nb::none(), 0};
    if (!found.is_none()) {
      channel.decode = found[0];
      channel.keys_of = found[1];
      channel.hops = found[2];
      nb::cast<OwnedHistogram&>(channel.hops);
      channel.due_at = nb::cast<std::int64_t>(found[3]);
    }
    entry.channels.push_back(std::move(channel));
    return found.is_none() ? nullptr : &entry.channels.back();
  }

  // What the bytes say; nothing if they say nothing: Python will tell why. They are copied first: in the ring another
  // process could change them while they are read.
  nb::object decode(const FastChannel& channel, const std::byte* payload, std::size_t size) {
    copy_.assign(payload, payload + size);
    nb::handle other = channel.decode;
    if (TupleDecoder* decoder = nullptr; nb::try_cast(channel.decode, decoder)) {
      nb::object decoded = decoder->decode_plain(copy_.data(), size);
      if (decoded.is_valid()) return decoded;
      other = decoder->other();
    }
    const nb::bytes bytes(copy_.data(), size);
    nb::object decoded = nb::steal(PyObject_CallOneArg(other.ptr(), bytes.ptr()));
    if (!decoded.is_valid()) {
      if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw nb::python_error();
      PyErr_Clear();
    }
    return decoded;
  }

  void work_on(Entry& entry, FastTask& task, FastChannel& channel, const Frame& frame, std::size_t size,
               const nb::object& decoded) {
    const std::int64_t began = now();
    record(channel.hops, began - frame.sent_ns, 1);
    const nb::object keys = channel.keys_of.is_none() ? nb::none() : channel.keys_of(nb::handle(frame.tuples));
    task.room -= frame.count;
    ++frames_;
    current_ = task.bolt;
    if (task.is_tracked()) task.begin(nb::handle(frame.runs));
    Calls calls(task.outputs, task.process, nb::handle(frame.tuples), keys, task.fail, task.yields);
    const Emitter& emitter = *nb::inst_ptr<Emitter>(task.outputs);
    const std::int64_t before = emitter.emitted + emitter.refused;
    const End end = calls.go_on();
    if (emitter.emitted + emitter.refused != before) {  // a sink, and mostly a filter, has nothing to send
      const std::int64_t origin_ns = std::max<std::int64_t>(1, frame.origin_ns);
      entry.origin_ns = entry.origin_ns == 0 ? origin_ns : std::min(entry.origin_ns, origin_ns);
      entry.has_emitted = true;
    }
    if (end == End::kRaised) {
      current_.reset();
      throw nb::python_error();
    }
    const std::int64_t ended = now();
    entry.busy_ns += std::max<std::int64_t>(1, ended - began);
    if (end == End::kFull) {
      entry.has_emitted = false;  // Python sends it, and what follows
      wants_python_ = true;
      const nb::tuple place = nb::make_tuple(channel.edge, channel.source, channel.assignment);
      unfinished_(task.bolt, nb::cast(std::move(calls)), keys, place, size, decoded, entry.origin_ns);
      current_.reset();
      return;
    }
    current_.reset();
    if (task.is_tracked()) task.end(nb::handle(frame.runs), nb::handle(frame.number));
    if (task.has_news && news_since_ns_ == 0) news_since_ns_ = Platform::now_ns();
    record(task.latency, ended - frame.origin_ns, frame.count);
    channel.tuples += frame.count;
    channel.bytes += static_cast<std::int64_t>(size);
    if (done_bytes(entry, channel) >= channel.due_at) wants_python_ = true;
  }

  // Credit is counted from task to task, whatever the edge.
  static std::int64_t done_bytes(const Entry& entry, const FastChannel& like) {
    std::int64_t bytes = 0;
    for (const FastChannel& channel : entry.channels) {
      if (channel.source == like.source && channel.assignment == like.assignment) bytes += channel.bytes;
    }
    return bytes;
  }

  static void record(const nb::object& histogram, std::int64_t value_ns, Py_ssize_t count) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(0, value_ns));
    nb::inst_ptr<OwnedHistogram>(histogram)->core.record(value, static_cast<std::uint64_t>(count));
  }

  nb::object ready_, channel_, flush_, unfinished_, now_ns_;
  std::vector<std::unique_ptr<Entry>> entries_;  // the first `used_` are of now; the others keep their memory
  std::size_t used_ = 0;
  nb::object current_;  // the bolt whose user code runs
  std::vector<std::byte> copy_;  // of the frame that is read
  std::int64_t frames_ = 0;
  std::int64_t waited_ns_ = 0;
  std::int64_t news_since_ns_ = 0;
  bool wants_python_ = false;
};

}  // namespace penstock::bindings
