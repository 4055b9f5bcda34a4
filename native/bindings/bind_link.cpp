// penstock._native's part of links. Thin; penstock.transport.links and penstock.transport.link_thread use it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>

#include "penstock/link_intake.hpp"
#include "penstock/link_thread.hpp"
#include "penstock/zeromq.hpp"
#include "python_glue.hpp"
#include "write_end.hpp"

namespace penstock::bindings {

using namespace nb::literals;

namespace {

// For a thread of Python: it keeps the frame for as long as its bytes are looked at.
struct Intake : LinkIntake<Platform> {
  using LinkIntake<Platform>::LinkIntake;
  std::optional<Bytes> frame;
};
using Thread = LinkThread<Platform>;

bool take(Intake& intake, nb::handle frame, std::size_t parts) {
  intake.frame.emplace(frame);
  const bool taken = intake.take({intake.frame->data(), intake.frame->size()}, parts);
  if (!taken) intake.frame.reset();
  return taken;
}

bool deliver(Intake& intake, double timeout_s) {
  const auto whole = [&] {
    const nb::gil_scoped_release unlocked;
    return intake.deliver(static_cast<std::int64_t>(timeout_s * 1e9));
  }();
  if (whole) intake.frame.reset();
  return whole;
}

void* socket_behind(nb::handle socket) {
  return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(socket.attr("underlying")));
}

std::string bytes_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

}  // namespace

void bind_link(nb::module_& m) {
  m.def(
      "pack_link_head",
      [](std::uint64_t link, std::uint64_t number, const Route& route) {
        const auto head = pack_link_head({link, number}, route);
        return nb::bytes(head.data(), head.size());
      },
      "link"_a, "number"_a, "route"_a);
  m.attr("LINK_HEAD_BYTES") = kLinkHeadBytes;

  nb::class_<Intake>(m, "LinkIntake")
      .def(
          "__init__",
          [](Intake* self, WriteEnd& writer) { new (self) Intake(writer.mapping(), writer.view(), writer.slot()); },
          "writer"_a, nb::keep_alive<1, 2>())  // a writer that is forgotten gives its slot to others
      .def("take", &take, "frame"_a, "parts"_a)
      .def("deliver", &deliver, "timeout_s"_a)
      .def("close", [](Intake& intake) { (intake.close(), intake.frame.reset()); })
      .def_prop_ro("refused", &Intake::refused)
      .def_prop_ro("first_refusal",
                   [](const Intake& intake) -> nb::object {
                     if (intake.refused() == 0) return nb::none();
                     return nb::str(intake.first_refusal().c_str());
                   })
      .def_prop_ro("lost", &Intake::lost);

  nb::class_<ZeroMq>(m, "ZeroMq")
      .def(nb::init<const std::string&>(), "library"_a)
      .def_prop_ro("version", [](const ZeroMq& zmq) {
        const auto [major, minor, patch] = zmq.version();
        return nb::make_tuple(major, minor, patch);
      });

  // The interpreter lock is held throughout, and orders all calls: the thread never wants it, so close() may wait for
  // the thread's end in a finalizer too. Until then neither the sockets nor the intake's writer meet theirs.
  nb::class_<Thread>(m, "LinkThread")
      .def(
          "__init__",
          [](Thread* self, const ZeroMq& zmq, Intake& intake, nb::handle frames, nb::handle gate,
             const nb::bytes& domain, const nb::bytes& admitted) {
            new (self) Thread(zmq, intake, socket_behind(frames), socket_behind(gate), bytes_of(domain), bytes_of(admitted));
          },
          "zeromq"_a, "intake"_a, "frames"_a, "gate"_a, nb::kw_only(), "domain"_a, "admitted"_a, nb::keep_alive<1, 3>(),
          nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
      .def("check", &Thread::check)
      .def("close", &Thread::close);
}

}  // namespace penstock::bindings
