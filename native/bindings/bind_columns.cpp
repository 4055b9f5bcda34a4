// From Arrow's columns to tuples, and from rows to such columns.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include "collected.hpp"
#include "column_reader.hpp"
#include "row_gatherer.hpp"

namespace nb = nanobind;

namespace penstock::bindings {

void bind_columns(nb::module_& m) {
  nb::class_<ColumnReader>(m, "ColumnReader", nb::type_slots(collected<ColumnReader>()))
      .def(nb::init<nb::type_object, nb::sequence>(), nb::arg("made"), nb::arg("fields"))
      .def("read",
           [](nb::handle_t<ColumnReader> self, nb::tuple columns, nb::sequence others, std::int64_t most) {
             return TupleChunks(self, columns, std::move(others), most);
           },
           nb::arg("columns"), nb::arg("others"), nb::arg("most"));
  nb::class_<TupleChunks>(m, "TupleChunks", nb::type_slots(collected<TupleChunks>()))
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &TupleChunks::next);
  nb::class_<RowGatherer>(m, "RowGatherer")
      .def(nb::init<nb::sequence>(), nb::arg("columns"))
      .def("append", &RowGatherer::append, nb::arg("rows"))
      .def("take", &RowGatherer::take)
      .def_prop_ro("rows", &RowGatherer::rows);
}

}  // namespace penstock::bindings
