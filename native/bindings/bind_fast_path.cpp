// The fast path, as penstock.worker.fast_path uses it.
#include <nanobind/nanobind.h>

#include "collected.hpp"
#include "fast_path.hpp"
#include "python_glue.hpp"

namespace penstock::bindings {

using namespace nb::literals;

void bind_fast_path(nb::module_& m) {
  nb::class_<FastTask>(m, "FastTask", nb::type_slots(collected<FastTask>()))
      .def(nb::init<nb::object, nb::object, nb::object, nb::object, nb::object, bool, bool, nb::object,
                    nb::object>(),
           nb::kw_only(), "bolt"_a, "outputs"_a, "process"_a, "fail"_a, "latency"_a, "yields"_a,
           "has_news"_a,
           "begin_tree"_a = nb::none(), "end_tree"_a = nb::none())
      .def_rw("room", &FastTask::room)
      .def_rw("most", &FastTask::most);
  nb::class_<FastPath>(m, "FastPath", nb::type_slots(collected<FastPath>()))
      .def(nb::init<nb::object, nb::object, nb::object, nb::object, nb::object>(), nb::kw_only(), "ready"_a,
           "channel"_a, "flush"_a, "unfinished"_a, "now_ns"_a = nb::none())
      .def("begin", &FastPath::begin)
      .def(
          "take",
          [](FastPath& self, const Route& route, nb::handle payload) {
            const Bytes bytes(payload);
            return self.take(route, bytes.data(), bytes.size());
          },
          "route"_a, "payload"_a)
      .def("flush", &FastPath::flush)
      .def("take_done", &FastPath::take_done)
      .def("take_waited_ns", &FastPath::take_waited)
      .def_prop_ro("wants_python", &FastPath::wants_python)
      .def_prop_ro("frames", &FastPath::frames)
      .def_prop_ro("current", &FastPath::current);
  m.attr("FAST_KIND") = FastPath::kTuples;
}

}  // namespace penstock::bindings
