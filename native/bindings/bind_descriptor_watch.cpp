// penstock._native's DescriptorWatch. Thin; penstock.transport.descriptor_watch is the door to it.
#include <nanobind/nanobind.h>

#include "penstock/descriptor_watch.hpp"
#include "read_end.hpp"

namespace penstock::bindings {

using namespace nb::literals;

namespace {

using Watch = DescriptorWatch<Platform>;

// What the kernel refused, as the OSError that Python has for it.
template <class Action>
void with_os_errors(Action&& action) {
  try {
    action();
  } catch (const std::system_error& error) {
    const nb::object raised = nb::borrow(PyExc_OSError)(error.code().value(), error.what());
    PyErr_SetObject(raised.type().ptr(), raised.ptr());
    throw nb::python_error();
  }
}

}  // namespace

void bind_descriptor_watch(nb::module_& m) {
  // The interpreter lock is held throughout, and orders all calls: the thread never wants it, so close() may wait for
  // the thread's end in a finalizer too.
  nb::class_<Watch>(m, "DescriptorWatch")
      .def(
          "__init__",
          [](Watch* self, const ReadEnd& ring) {
            with_os_errors([&] { new (self) Watch(ring.mapping(), ring.view()); });
          },
          "ring"_a)
      .def(
          "add",
          [](Watch& watch, int fd, std::uint32_t bits) {
            check_bits(bits);
            if (watch.closed()) raise("RingClosedError", "this watch is closed, or it was made before a fork");
            with_os_errors([&] { watch.add(fd, bits); });
          },
          "fd"_a, "bits"_a)
      .def("rearm", &Watch::rearm, "fd"_a)
      .def("remove", &Watch::remove, "fd"_a)
      .def("close", &Watch::close)
      .def_prop_ro("closed", &Watch::closed);
}

}  // namespace penstock::bindings
