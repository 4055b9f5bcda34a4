// Groupings, and the loop that calls user code and emits what it gives.
#include <nanobind/nanobind.h>

#include "collected.hpp"
#include "emitter.hpp"
#include "routing.hpp"

namespace nb = nanobind;

namespace penstock::bindings {
namespace {

void check(bool done) {
  if (!done) throw nb::python_error();
}

// Whether there may be more.
bool check(End end) {
  check(end != End::kRaised);
  return end == End::kFull;
}

void bind_routings(nb::module_& m) {
  nb::class_<Routing>(m, "Routing", nb::type_slots(collected<Routing>()))
      .def("put", [](Routing& self, nb::tuple values) { check(self.put(values.ptr())); }, nb::arg("values"));
  nb::class_<ToEach, Routing>(m, "ToEach", nb::type_slots(collected<Routing>()))
      .def(nb::init<nb::handle>(), nb::arg("lists"));
  nb::class_<Cycle, Routing>(m, "Cycle", nb::type_slots(collected<Routing>()))
      .def(nb::init<nb::handle>(), nb::arg("lists"))
      .def("take_up", &Cycle::take_up, nb::arg("order"));
  nb::class_<ByKey, Routing>(m, "ByKey", nb::type_slots(collected<Routing>()))
      .def(nb::init<nb::handle, nb::handle, nb::dict, nb::object>(), nb::arg("lists"), nb::arg("positions"),
           nb::arg("remembered"), nb::arg("index_of"));
  nb::class_<ByFunction, Routing>(m, "ByFunction", nb::type_slots(collected<Routing>()))
      .def(nb::init<nb::object>(), nb::arg("put"));
  nb::class_<ShareTaker>(m, "ShareTaker")
      .def(nb::init<double>(), nb::arg("share"))
      .def("take", &ShareTaker::take, nb::arg("count"))
      .def_ro("share", &ShareTaker::share);
  nb::class_<Shared, Routing>(m, "Shared", nb::type_slots(collected<Routing>()))
      .def(nb::init<nb::object, nb::handle, nb::object>(), nb::arg("plain"), nb::arg("list"), nb::arg("taker"));
  nb::class_<FanOut, Routing>(m, "FanOut", nb::type_slots(collected<Routing>()))
      .def(nb::init<nb::handle>(), nb::arg("routings"));
}

using Self = nb::handle_t<Emitter>;

nb::object run_calls(Self self, nb::handle process, nb::handle tuples, nb::handle keys, nb::handle fail, bool yields) {
  Calls calls(self, process, tuples, keys, fail, yields);
  if (!check(calls.go_on())) return nb::none();
  return nb::cast(std::move(calls));
}

}  // namespace

void bind_emitter(nb::module_& m) {
  bind_routings(m);
  nb::class_<Calls>(m, "Calls", nb::type_slots(collected<Calls>()))
      .def("go_on", [](Calls& self) { return !self.is_cleared() && check(self.go_on()); });
  nb::class_<Emitter>(m, "Emitter", nb::type_slots(collected<Emitter>()))
      .def(nb::init<nb::object>(), nb::arg("user_errors"))
      .def_rw("emitted", &Emitter::emitted)
      .def_rw("piece_tuples", &Emitter::piece_tuples)
      .def_prop_rw("routing", &Emitter::routing, &Emitter::set_routing)
      .def("put", [](Emitter& self, nb::tuple values) { check(self.put(values.ptr())); }, nb::arg("values"))
      .def("emit_all", [](Self self, nb::handle outputs) { check(Emitting(self).emit_all(outputs.ptr())); },
           nb::arg("outputs"))
      .def("emit_each",
           [](Self self, nb::list outputs, nb::handle refuse) {
             for (Py_ssize_t index = 0; index < PyList_GET_SIZE(outputs.ptr()); ++index) {
               const nb::object output = nb::borrow(PyList_GET_ITEM(outputs.ptr(), index));
               check(Emitting(self).emit_or_refuse(output.ptr(), refuse.ptr()));
             }
           },
           nb::arg("outputs"), nb::arg("refuse"))
      .def("emit_some",
           [](Self self, nb::handle outputs, nb::handle refuse) {
             const Emitting emitting(self);
             return check(emitting.emit_until(outputs.ptr(), refuse.ptr(), emitting.full_at()));
           },
           nb::arg("outputs"), nb::arg("refuse"))
      .def("run_calls", &run_calls, nb::arg("process"), nb::arg("tuples"), nb::arg("keys").none(), nb::arg("fail"),
           nb::arg("yields"));
}

}  // namespace penstock::bindings
