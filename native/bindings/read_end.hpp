// The reading end of a ring, for Python: poll, wait without the interpreter lock, hand out records.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <vector>

#include "fast_path.hpp"
#include "lease.hpp"
#include "penstock/packets.hpp"
#include "penstock/slots.hpp"
#include "penstock/spin.hpp"
#include "python_glue.hpp"

namespace penstock::bindings {

struct Record {
  Route route;
  std::uint32_t producer;
  nb::list payloads;
};

class ReadEnd {
 public:
  ReadEnd(Segment segment, std::int64_t max_spin_ns, std::uint32_t pid, std::uint64_t start_time,
          std::uint64_t pid_namespace)
      : ring_(std::make_shared<LentRing>(std::move(segment), pid, start_time, pid_namespace)),
        assembler_(ring_->consumer.view()),
        spin_(max_spin_ns) {
    slots().retire_the_gone();
  }
  ReadEnd(const ReadEnd&) = delete;
  ReadEnd& operator=(const ReadEnd&) = delete;

  nb::list read_many(std::size_t max_records, std::optional<double> timeout_s) {
    check_open();
    const Turn turn(*this);
    if (max_records == 0) throw nb::value_error("max_records must be at least 1, got 0");
    const Deadline deadline(timeout_s);
    finish_handed_out();
    wait_for_records(max_records, deadline);
    return hand_out(max_records);
  }

  // As read_many, but what the fast path can work on it does, here and at once, and it goes on so until there is
  // something for Python: a record that it cannot work on, with all behind it; the bell; the time.
  //
  // While more comes than is done, the records are Python's, too: there they are counted, and whoever sends them is
  // told to help or to stop.
  nb::list read_fast(FastPath& fast, std::size_t max_records, std::optional<double> timeout_s) {
    check_open();
    const Turn turn(*this);
    if (max_records == 0) throw nb::value_error("max_records must be at least 1, got 0");
    Deadline deadline(timeout_s);
    fast.begin();
    do {
      finish_handed_out();
      if (fast.news_due_ns() != 0) deadline.come_sooner(fast.news_due_ns());
      const bool may_wait = !deadline.passed();
      const std::int64_t asked = Platform::now_ns();
      wait_for_records(max_records, deadline);
      const std::int64_t began = Platform::now_ns();
      if (may_wait) fast.waited(began - asked);
      while (next_ != ready_.size() && !fast.wants_python() && Platform::now_ns() - began < kBehindNs) {
        if (!work_on(fast, ready_[next_])) break;
      }
      fast.flush();
      if (abandoned_) raise_closed();
    } while (next_ == ready_.size() && !fast.wants_python() && !view().bell_rung<Platform>() && !deadline.passed());
    return hand_out(max_records);
  }

  // The reader is done with what it was handed. Asking for more says so too; a reader that dies before either leaves
  // those records to its successor.
  void finish() {
    check_open();
    const Turn turn(*this);
    finish_handed_out();
  }

  // Any thread of ours that wants the reading one. Under the interpreter lock, which whoever closes us holds too: so it
  // does no harm when we are closed.
  void ring_bell(std::uint32_t bits) {
    check_bits(bits);
    if (ring_ && !abandoned_) view().ring_bell<Platform>(bits);
  }
  std::uint32_t take_bell() {
    check_open();
    return view().take_bell<Platform>();
  }

  // No claim succeeds from now on; what is committed can still be read.
  void close_to_writers() {
    check_open();
    consumer().close();
  }

  // Lets go of the ring without touching it: what was handed out and not finished is left to a successor. The memory
  // stays mapped as long as a lent payload lives. A thread that is reading lets go itself, and raises.
  void abandon() {
    if (!reading_) {
      ring_.reset();
      return;
    }
    abandoned_ = true;
    view().wake_consumer<Platform>();
  }

  // As the reading thread last saw them: it may be changing its own list just now.
  const std::vector<Stall>& stalls() const { return (check_open(), stalls_seen_); }
  bool drained() const { return consumer().drained(); }
  const RingView& view() const { return consumer().view(); }
  SlotTable<Platform> slots() const { return SlotTable<Platform>(view()); }
  int memory_fd() const { return (consumer(), ring_->segment.descriptor()); }
  // Keeps the ring's memory mapped for as long as it is held, whatever becomes of us.
  std::shared_ptr<const void> mapping() const { return (check_open(), ring_); }

 private:
  // Small payloads are cheaper to copy than to lend.
  static constexpr std::uint32_t kLendFrom = 4096;

  struct Settlement {
    std::uint32_t slot, message_id;
  };
  // A ready record, or a large message put together from packets.
  struct Ready {
    Delivery delivery;
    std::unique_ptr<Lease> assembled;
    std::optional<Settlement> settlement;
  };

  // How long the fast path may be at what has arrived before the rest counts as waiting.
  static constexpr std::int64_t kBehindNs = 500'000;
  // A larger frame has so many tuples that the turn of a worker costs each of them next to nothing; and a turn sends
  // what comes of the first of them before the last are worked on.
  static constexpr std::uint32_t kFastBytes = kLendFrom;

  bool work_on(FastPath& fast, const Ready& ready) {
    const Delivery& delivery = ready.delivery;
    if (ready.assembled || delivery.state.kind != Kind::message || delivery.state.length > kFastBytes) return false;
    const auto done = [&] {
      handed_out_.push_back(delivery);
      ++next_;
    };
    try {
      if (!fast.take(delivery.route, delivery.payload, delivery.state.length)) return false;
    } catch (...) {
      done();  // user code has seen it: it is not given to anybody again
      throw;
    }
    done();
    return true;
  }

  nb::list hand_out(std::size_t max_records) {
    stalls_seen_ = consumer().stalls();
    nb::list records;
    while (next_ != ready_.size() && nb::len(records) < max_records) {
      append_record(records, ready_[next_]);
      ++next_;  // only now: if Python ran out of memory above, the record is still ours to give
    }
    return records;
  }

  // One thread reads at a time; a second one is told so instead of breaking the first.
  struct Turn {
    explicit Turn(ReadEnd& end) : end_(end) {
      if (end_.reading_) raise("RingError", "this reader is in use by another thread: one thread reads a ring");
      end_.reading_ = true;
    }
    ~Turn() {
      end_.reading_ = false;
      if (end_.abandoned_) end_.ring_.reset();
    }
    ReadEnd& end_;
  };

  // In a forked child too, where a thread that read in the parent will never let go.
  void check_open() const {
    if (!ring_ || abandoned_) raise_closed();
  }

  void finish_handed_out() {
    Consumer<Platform>& ring = consumer();
    ++ring_->times_asked;
    for (const Delivery& delivery : handed_out_) ring.finish(delivery);
    handed_out_.clear();
    for (const Delivery& delivery : ring_->dropped_early) ring.finish(delivery);
    ring_->dropped_early.clear();
    for (const Settlement& settled : to_settle_) ring.settle(settled.slot, settled.message_id);
    to_settle_.clear();
  }

  Consumer<Platform>& consumer() const {
    if (!ring_) raise_closed();
    return ring_->consumer;
  }
  [[noreturn]] static void raise_closed() {
    raise("RingClosedError", "this reader is closed, or it was made before a fork");
  }

  // Until there are records, somebody rings the bell, or the deadline has passed.
  void wait_for_records(std::size_t max_records, const Deadline& deadline) {
    if (next_ != ready_.size()) return;
    look(max_records);
    if (wanted() || deadline.passed()) return;  // no wait: the spin must learn nothing from it
    const std::int64_t started = Platform::now_ns();
    do {
      {
        const nb::gil_scoped_release unlocked;
        spin(max_records, deadline);
        if (!wanted()) sleep(max_records, deadline);
      }
      stalls_seen_ = consumer().stalls();
      check_signals();
      if (abandoned_) raise_closed();
    } while (!wanted() && !deadline.passed());
    if (wanted())
      spin_.waited(Platform::now_ns() - started);
    else
      spin_.waited_in_vain();
  }
  bool wanted() const { return !ready_.empty() || view().bell_rung<Platform>(); }

  // Fills ready_ with what there is now.
  void look(std::size_t max_records) {
    ready_.clear();
    next_ = 0;
    // Packets that complete no message are no reason to stop: their space goes back with the next poll, and there may
    // be whole records behind them. So when nothing is ready, there is nothing in the ring that we could take.
    do {
      found_.clear();
      consumer().poll(max_records - ready_.size(), found_);
      for (const Delivery& delivery : found_) take(delivery);
    } while (!found_.empty() && ready_.size() < max_records);
    assembler_.drop_orphans();
  }

  void take(const Delivery& delivery) {
    if (delivery.state.kind != Kind::packet) {
      ready_.push_back({delivery, nullptr, std::nullopt});
      return;
    }
    std::optional<Assembled> whole = assembler_.add(delivery);
    consumer().finish(delivery);
    if (!whole) return;
    const Settlement settlement{whole->slot, whole->message_id};
    ready_.push_back({delivery, std::make_unique<Lease>(std::move(*whole)), settlement});
  }

  void spin(std::size_t max_records, const Deadline& deadline) {
    if (spin_.budget_ns() == 0) return;
    const std::int64_t until = Platform::now_ns() + std::min(spin_.budget_ns(), deadline.slice_ns());
    do {
      if (consumer().stirred()) look(max_records);
      if (wanted()) return;
      Platform::pause();
    } while (Platform::now_ns() < until);
  }

  // Somebody copies a large record, and we are awake for it.
  void await_copy(std::size_t max_records, const Deadline& deadline) {
    while (!wanted() && consumer().copying() && !deadline.passed()) {
      Platform::pause();
      look(max_records);
    }
  }

  void sleep(std::size_t max_records, const Deadline& deadline) {
    await_copy(max_records, deadline);
    if (wanted()) return;
    consumer().prepare_sleep();
    look(max_records);
    const std::int64_t slice = deadline.slice_ns();
    if (!ready_.empty() || slice <= 0) return consumer().cancel_sleep();
    consumer().sleep(slice);
    look(max_records);  // before we ask for the interpreter lock, which may take long
    await_copy(max_records, deadline);
  }

  void append_record(nb::list& records, Ready& ready) {
    const Delivery& delivery = ready.delivery;
    nb::list payloads;
    bool lent = ready.assembled != nullptr;
    if (lent) {
      payloads.append(Lease::as_memoryview(std::move(ready.assembled)));
    } else if (delivery.state.kind == Kind::batch) {
      unpack_batch(delivery, payloads);
    } else if (delivery.state.length >= kLendFrom && may_lend(delivery)) {
      lent = true;
      payloads.append(Lease::as_memoryview(std::make_unique<Lease>(ring_, delivery)));
    } else {
      payloads.append(nb::bytes(delivery.payload, delivery.state.length));
    }
    records.append(nb::cast(Record{delivery.route, delivery.state.slot, std::move(payloads)}));
    if (!lent) handed_out_.push_back(delivery);
    if (ready.settlement) to_settle_.push_back(*ready.settlement);
  }

  // A lent record holds back everything behind it. Not too many, and none that has grown old: a reader that asks for
  // more while it still holds its last records must find room left for the writers that it waits for.
  bool may_lend(const Delivery& delivery) const {
    const std::uint64_t tail = Platform::load(view().tail(), std::memory_order_seq_cst) & ~kClosed;
    return ring_->lent_bytes + delivery.state.extent() <= view().capacity() / 4 &&
           tail - delivery.position <= view().capacity() / 2;
  }

  void unpack_batch(const Delivery& delivery, nb::list& payloads) const {
    std::uint32_t at = 0;
    while (at != delivery.state.length) {
      BatchHead length;
      if (delivery.state.length - at < sizeof(length)) corrupt_batch(delivery);
      std::memcpy(&length, delivery.payload + at, sizeof(length));
      at += sizeof(length);
      if (length > delivery.state.length - at) corrupt_batch(delivery);
      payloads.append(nb::bytes(delivery.payload + at, length));
      at += length;
    }
  }
  [[noreturn]] static void corrupt_batch(const Delivery& delivery) {
    throw RingCorrupt("ring is corrupt: batch at position=" + std::to_string(delivery.position) +
                      " slot=" + std::to_string(delivery.state.slot) + " has a message beyond its end");
  }

  std::shared_ptr<LentRing> ring_;
  Assembler<Platform> assembler_;
  AdaptiveSpin spin_;
  std::vector<Delivery> found_;
  std::vector<Ready> ready_;  // found, but not handed out yet, from next_ on
  std::size_t next_ = 0;
  std::vector<Delivery> handed_out_;
  std::vector<Settlement> to_settle_;
  std::vector<Stall> stalls_seen_;
  bool reading_ = false;
  bool abandoned_ = false;
};

}  // namespace penstock::bindings
