// What rows are made of, their encoding, and back.
#include <nanobind/nanobind.h>

#include "collected.hpp"
#include "python_glue.hpp"
#include "row_encoder.hpp"
#include "tuple_decoder.hpp"

namespace nb = nanobind;

namespace penstock::bindings {
namespace {

// The types that msgpack knows and keeps. Subclasses are something else: hence exact types.
bool is_plain(PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || value == Py_None ||
         type == &PyBool_Type || type == &PyBytes_Type;
}

int judge_rows(nb::list rows, Py_ssize_t width) {
  PyObject* list = rows.ptr();
  int verdict = kPlain;
  for (Py_ssize_t index = 0; index < PyList_GET_SIZE(list); ++index) {
    PyObject* row = PyList_GET_ITEM(list, index);
    if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) != width) return kUneven;
    for (Py_ssize_t position = 0; position < width && verdict == kPlain; ++position) {
      if (!is_plain(PyTuple_GET_ITEM(row, position))) verdict = kOther;
    }
  }
  return verdict;
}

bool all_tuples(nb::list items) {
  PyObject* list = items.ptr();
  for (Py_ssize_t index = 0; index < PyList_GET_SIZE(list); ++index) {
    if (!PyTuple_CheckExact(PyList_GET_ITEM(list, index))) return false;
  }
  return true;
}

// The payload of a frame, or the verdict that says why it is none.
nb::object encode_tuples(nb::handle origin_ns, nb::handle sent_ns, nb::handle frame, nb::handle runs, nb::list rows,
                         Py_ssize_t width, std::size_t most_bytes) {
  thread_local EncodeBuffer buffer;
  const TuplesFrame tuples{origin_ns.ptr(), sent_ns.ptr(), frame.ptr(), runs.ptr(), rows.ptr(), width};
  const Verdict verdict = tuples.encode(buffer, most_bytes);
  if (verdict != kPlain) return nb::int_(int{verdict});
  return nb::bytes(buffer.data(), buffer.size());
}

}  // namespace

void bind_rows(nb::module_& m) {
  m.attr("ROWS_PLAIN") = int{kPlain};
  m.attr("ROWS_OTHER") = int{kOther};
  m.attr("ROWS_UNEVEN") = int{kUneven};
  m.attr("ROWS_TOO_LARGE") = int{kTooLarge};
  m.def("encode_tuples", &encode_tuples, nb::arg("origin_ns"), nb::arg("sent_ns"), nb::arg("frame"), nb::arg("runs"),
        nb::arg("rows"), nb::arg("width"), nb::arg("most_bytes"));
  m.def("judge_rows", &judge_rows, nb::arg("rows"), nb::arg("width"));
  m.def("all_tuples", &all_tuples, nb::arg("items"));
  nb::class_<TupleDecoder>(m, "TupleDecoder", nb::type_slots(collected<TupleDecoder>()))
      .def(nb::init<nb::type_object, nb::sequence, nb::object>(), nb::arg("made"), nb::arg("fields"), nb::arg("other"))
      .def("__call__", [](TupleDecoder& self, nb::handle payload) {
        const Bytes bytes(payload);
        nb::object decoded = self.decode_plain(bytes.data(), bytes.size());
        return decoded.is_valid() ? decoded : self.other()(payload);
      }, nb::arg("payload"));
  nb::class_<KeyReader>(m, "KeyReader", nb::type_slots(collected<KeyReader>()))
      .def(nb::init<nb::type_object, nb::sequence, nb::object>(), nb::arg("made"), nb::arg("fields"),
           nb::arg("canonical"))
      .def("__call__", &KeyReader::read, nb::arg("tuples"));
}

}  // namespace penstock::bindings
