// penstock._native's ring: Route, Record, ReadEnd, WriteEnd. Thin; penstock.transport.ring is the door to it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "read_end.hpp"
#include "write_end.hpp"

namespace penstock::bindings {

using namespace nb::literals;

namespace {

// Every counter of the ring by name, summed over the producers. Readable from either end at any time.
nb::dict counters(const RingView& view) {
  const auto read = [](const std::uint64_t& counter) { return Platform::load(counter, std::memory_order_relaxed); };
  std::uint64_t records = 0, bytes = 0, full_waits = 0, wakes = 0;
  for (std::uint32_t i = 0; i < view.max_producers(); ++i) {
    const auto& slot = view.slot(i).counters;
    records += read(slot.records);
    bytes += read(slot.bytes);
    full_waits += read(slot.full_waits);
    wakes += read(slot.wakes);
  }
  const ConsumerCounters& consumer = view.control().counters;
  nb::dict result;
  result["records_written"] = records;
  result["bytes_written"] = bytes;
  result["full_waits"] = full_waits;
  result["wakes"] = wakes;
  result["records_read"] = read(consumer.records);
  result["bytes_read"] = read(consumer.bytes);
  result["stalls"] = read(consumer.stalls);
  result["recovered_records"] = read(consumer.recovered_records);
  result["recovered_bytes"] = read(consumer.recovered_bytes);
  result["dropped_messages"] = read(consumer.dropped_messages);
  result["sleeps"] = read(consumer.sleeps);
  result["used_bytes"] = (Platform::load(view.tail(), std::memory_order_seq_cst) & ~kClosed) -
                         Platform::load(view.free(), std::memory_order_seq_cst);
  return result;
}

// The process that consumes, or last consumed, the ring behind a descriptor: (pid, start time, pid namespace).
nb::tuple consumer_of(int memory_fd) {
  const Segment segment = Segment::attach(memory_fd);
  const OwnerGroup& owner = segment.view().control().owner;
  return nb::make_tuple(owner.pid, owner.start_time, owner.pid_namespace);
}

void translate(const std::exception_ptr& pointer, void*) {
  const auto set = [](const char* name, const std::exception& error) {
    PyErr_SetString(nb::module_::import_("penstock.errors").attr(name).ptr(), error.what());
  };
  try {
    std::rethrow_exception(pointer);
  } catch (const RingCorrupt& error) {
    set("RingCorruptError", error);
  } catch (const RingMemory& error) {
    set("RingMemoryError", error);
  } catch (const RingClosed& error) {
    set("RingClosedError", error);
  }
}

void bind_route_and_record(nb::module_& m) {
  nb::class_<Route>(m, "Route", "Where a record goes and comes from. Make it once and keep it out of loops.")
      .def(
          "__init__",
          [](Route* self, std::uint32_t target, std::uint32_t source, std::uint32_t stream, std::uint32_t assignment,
             std::uint32_t flags) { new (self) Route{target, source, stream, assignment, flags}; },
          nb::kw_only(), "target"_a = 0, "source"_a = 0, "stream"_a = 0, "assignment"_a = 0, "flags"_a = 0)
      .def_ro("target", &Route::target)
      .def_ro("source", &Route::source)
      .def_ro("stream", &Route::stream)
      .def_ro("assignment", &Route::assignment)
      .def_ro("flags", &Route::flags);

  nb::class_<Record>(m, "Record", "What was written in one go: a route, and one or many payloads.")
      .def_prop_ro("target", [](const Record& r) { return r.route.target; })
      .def_prop_ro("source", [](const Record& r) { return r.route.source; })
      .def_prop_ro("stream", [](const Record& r) { return r.route.stream; })
      .def_prop_ro("assignment", [](const Record& r) { return r.route.assignment; })
      .def_prop_ro("flags", [](const Record& r) { return r.route.flags; })
      .def_ro("producer", &Record::producer, "The slot of the producer that wrote it.")
      .def_ro("payloads", &Record::payloads)
      .def_prop_ro("payload", [](const Record& r) -> nb::object {
        if (nb::len(r.payloads) != 1)
          throw nb::value_error(("this record holds " + std::to_string(nb::len(r.payloads)) + " payloads, not one: use payloads").c_str());
        return r.payloads[0];
      });
}

void bind_read_end(nb::module_& m) {
  static PyType_Slot lease_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&Lease::get_buffer)}, {0, nullptr}};
  nb::class_<Lease>(m, "Lease", nb::type_slots(lease_slots), "The owner behind a lent payload's memoryview.");

  nb::class_<ReadEnd>(m, "ReadEnd")
      .def(
          "__init__",
          [](ReadEnd* self, std::optional<int> memory_fd, std::uint64_t capacity, std::uint32_t max_producers,
             std::uint64_t max_message, std::uint64_t nonce, std::int64_t max_spin_ns, std::uint32_t pid,
             std::uint64_t start_time, std::uint64_t pid_namespace) {
            new (self) ReadEnd(memory_fd ? Segment::attach(*memory_fd)
                                         : Segment::create(capacity, max_producers, max_message, nonce),
                               max_spin_ns, pid, start_time, pid_namespace);
          },
          nb::kw_only(), "memory_fd"_a = nb::none(), "capacity_bytes"_a, "max_producers"_a, "max_message_bytes"_a,
          "nonce"_a, "max_spin_ns"_a, "pid"_a, "start_time"_a, "pid_namespace"_a)
      .def("read_many", &ReadEnd::read_many, "max_records"_a = 256, "timeout_s"_a = nb::none())
      .def("read_fast", &ReadEnd::read_fast, "fast_path"_a, "max_records"_a = 256, "timeout_s"_a = nb::none())
      .def("finish", &ReadEnd::finish)
      .def("ring_bell", &ReadEnd::ring_bell, "bits"_a)
      .def("take_bell", &ReadEnd::take_bell)
      .def("close_to_writers", &ReadEnd::close_to_writers)
      .def("abandon", &ReadEnd::abandon)
      .def_prop_ro("drained", &ReadEnd::drained)
      .def_prop_ro("memory_fd", &ReadEnd::memory_fd)
      .def_prop_ro("capacity_bytes", [](const ReadEnd& end) { return end.view().capacity(); })
      .def_prop_ro("max_message_bytes", [](const ReadEnd& end) { return end.view().max_message(); })
      .def_prop_ro("nonce", [](const ReadEnd& end) { return end.view().control().identity.nonce; })
      .def("native_counters", [](const ReadEnd& end) { return counters(end.view()); })
      .def("native_stalls",
           [](const ReadEnd& end) {
             nb::list result;
             for (const Stall& stall : end.stalls())
               result.append(nb::make_tuple(stall.slot, end.view().slot(stall.slot).owner.pid, stall.end - stall.begin,
                                            Platform::now_ns() - stall.since_ns));
             return result;
           })
      .def("admit", [](ReadEnd& end, std::uint32_t pid, std::uint64_t start) { return end.slots().admit(pid, start); },
           "pid"_a, "start_time"_a)
      .def("retire", [](ReadEnd& end, std::uint32_t slot) { end.slots().retire(slot); }, "slot"_a)
      .def("live_slots", [](const ReadEnd& end) {
        nb::list result;
        for (std::uint32_t i = 0; i < end.view().max_producers(); ++i)
          if (end.slots().state(i) == SlotState::live)
            result.append(nb::make_tuple(i, end.view().slot(i).owner.pid, end.view().slot(i).owner.start_time));
        return result;
      });
}

void bind_write_end(nb::module_& m) {
  nb::class_<WriteEnd>(m, "WriteEnd")
      .def(nb::init<int, std::uint32_t, int>(), nb::kw_only(), "memory_fd"_a, "slot"_a, "door_fd"_a)
      .def("try_write", &WriteEnd::try_write, "payload"_a.none(), "route"_a)
      .def(
          "try_write_tuples",
          [](WriteEnd& end, const Route& route, nb::handle origin_ns, nb::handle sent_ns, nb::handle frame,
             nb::handle runs, nb::list rows, Py_ssize_t width, std::size_t most_bytes) {
            const TuplesFrame tuples{origin_ns.ptr(), sent_ns.ptr(), frame.ptr(), runs.ptr(), rows.ptr(), width};
            return end.try_write_tuples(route, tuples, most_bytes);
          },
          "route"_a, "origin_ns"_a, "sent_ns"_a, "frame"_a, "runs"_a, "rows"_a, "width"_a, "most_bytes"_a)
      .def("write", &WriteEnd::write, "payload"_a.none(), "route"_a, "timeout_s"_a = nb::none())
      .def("write_many", &WriteEnd::write_many, "payloads"_a, "route"_a, "timeout_s"_a = nb::none())
      .def(
          "send_large",
          [](WriteEnd& end, nb::handle payload, const Route& route) {
            return std::make_unique<LargeSend>(end, payload, route);
          },
          "payload"_a.none(), "route"_a, nb::keep_alive<0, 1>())
      .def("ring_bell", &WriteEnd::ring_bell, "bits"_a)
      .def("leave", &WriteEnd::leave)
      .def("abandon", &WriteEnd::abandon)
      .def("meet_consumer", &WriteEnd::meet_consumer, "door_fd"_a)
      .def_prop_ro("consumer_gone", &WriteEnd::consumer_gone)
      .def_prop_ro("closed", &WriteEnd::closed)
      .def_prop_ro("slot", &WriteEnd::slot)
      .def_prop_ro("max_record_bytes", [](WriteEnd& end) { return max_record_payload(end.view().capacity()); })
      .def_prop_ro("memory_fd", &WriteEnd::memory_fd)
      .def_prop_ro("nonce", [](WriteEnd& end) { return end.view().control().identity.nonce; })
      .def("native_counters", [](WriteEnd& end) { return counters(end.view()); });
}

void bind_large_send(nb::module_& m) {
  nb::class_<LargeSend>(m, "LargeSend", "A large message on its way, moved along by its sender.")
      .def("advance", &LargeSend::advance);
}

#ifdef PENSTOCK_CHAOS
void bind_chaos(nb::module_& m) {
  nb::list names;
  for (const std::string_view name : kCrashPointNames) names.append(nb::str(name.data(), name.size()));
  m.attr("CRASH_POINTS") = names;
  m.def(
      "arm",
      [](const std::string& point, int signal, int passes) {
        const auto found = std::find(kCrashPointNames.begin(), kCrashPointNames.end(), point);
        if (found == kCrashPointNames.end()) throw nb::value_error(("no crash point is called " + point).c_str());
        ChaosPlatform::armed = {static_cast<CrashPoint>(found - kCrashPointNames.begin()), signal, passes};
      },
      "point"_a, "signal"_a, "passes"_a = 0, "Sends this process `signal` when it has passed `point` `passes` times.");
}
#endif

}  // namespace

void bind_ring(nb::module_& m) {
  nb::register_exception_translator(translate);
  bind_route_and_record(m);
  bind_read_end(m);
  bind_large_send(m);
  bind_write_end(m);
  m.def("consumer_of", &consumer_of, "memory_fd"_a);
#ifdef PENSTOCK_CHAOS
  bind_chaos(m);
#endif
}

}  // namespace penstock::bindings
