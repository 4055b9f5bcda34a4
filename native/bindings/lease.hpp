// Payload bytes lent to Python without a copy: a memoryview over a Lease. When the last view is dropped, the bytes
// go back: to the ring if they lie there, to the heap if they are an assembled large message.
//
// A record counts as done when its view is dropped and the reader has asked for more: as with a copied one, a reader
// that dies before leaves it to its successor.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "penstock/packets.hpp"
#include "penstock/segment.hpp"
#include "platform_choice.hpp"

namespace penstock::bindings {

namespace nb = nanobind;

// What a reader's leases keep alive: the mapping, and the way to give a record back.
struct LentRing {
  LentRing(Segment taken, std::uint32_t pid, std::uint64_t start_time, std::uint64_t pid_namespace)
      : segment(std::move(taken)), consumer(segment.view(), pid, start_time, pid_namespace) {}

  Segment segment;
  Consumer<Platform> consumer;
  std::atomic<std::uint64_t> lent_bytes = 0;
  std::uint64_t times_asked = 0;           // how often the reader has asked for more
  std::vector<Delivery> dropped_early;     // lent since then and dropped already: done at the next asking
  const pid_t owner = getpid();            // a forked child has our leases too, and must give nothing back
};

class Lease {
 public:
  Lease(std::shared_ptr<LentRing> ring, const Delivery& delivery)
      : ring_(std::move(ring)),
        delivery_(delivery),
        lent_at_(ring_->times_asked),
        data_(delivery.payload),
        size_(delivery.state.length) {
    ring_->lent_bytes += delivery_.state.extent();
  }
  explicit Lease(Assembled message)
      : assembled_(std::move(message.bytes)), data_(assembled_.get()), size_(message.length) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (!ring_ || ring_->owner != getpid()) return;
    ring_->lent_bytes -= delivery_.state.extent();
    if (lent_at_ == ring_->times_asked) {
      ring_->dropped_early.push_back(delivery_);
      return;
    }
    ring_->consumer.finish(delivery_);
    // The reader gives space back when it next looks; if it sleeps while producers wait for space, it must look now.
    const RingView& view = ring_->consumer.view();
    if (Platform::load(view.control().space_group.producers_waiting, std::memory_order_seq_cst) != 0)
      view.wake_consumer<Platform>();
  }

  static int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    Lease* lease = nb::inst_ptr<Lease>(nb::handle(self));
    return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(lease->data_), static_cast<Py_ssize_t>(lease->size_),
                             /*readonly=*/1, flags);
  }

  // Takes ownership of the lease.
  static nb::object as_memoryview(std::unique_ptr<Lease> lease) {
    const nb::object owner = nb::cast(lease.release(), nb::rv_policy::take_ownership);
    return nb::steal(PyMemoryView_FromObject(owner.ptr()));
  }

 private:
  std::shared_ptr<LentRing> ring_;
  Delivery delivery_{};
  std::uint64_t lent_at_ = 0;
  std::unique_ptr<std::byte[]> assembled_;
  const std::byte* data_;
  std::size_t size_;
};

}  // namespace penstock::bindings
