// Loops over tuples that are worth having in C++: what rows are made of, and calling user code for each.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace penstock::bindings {
namespace {

// The types that msgpack knows and keeps. Subclasses are something else: hence exact types.
bool is_plain(PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || value == Py_None ||
         type == &PyBool_Type || type == &PyBytes_Type;
}

enum Verdict { kPlain = 0, kOther = 1, kUneven = 2 };

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

// Calls `process(tuple)`, or `process(key, tuple)`, for one tuple after another, and puts the plain tuples that it
// returns into `returned`. Stops at anything else that is not None and returns that, so that it can be seen to before
// user code goes on; returns None when there are no more tuples. What user code raises comes through.
nb::object call_each(nb::handle process, nb::handle tuples, nb::handle keys, nb::list returned) {
  const bool keyed = !keys.is_none();
  while (nb::object tuple = nb::steal(PyIter_Next(tuples.ptr()))) {
    nb::object key;
    if (keyed) {
      key = nb::steal(PyIter_Next(keys.ptr()));
      if (!key) break;
    }
    PyObject* arguments[] = {nullptr, keyed ? key.ptr() : tuple.ptr(), tuple.ptr()};
    const size_t count = (keyed ? 2 : 1) | PY_VECTORCALL_ARGUMENTS_OFFSET;
    nb::object result = nb::steal(PyObject_Vectorcall(process.ptr(), arguments + 1, count, nullptr));
    if (!result) throw nb::python_error();
    if (PyTuple_CheckExact(result.ptr())) {
      if (PyList_Append(returned.ptr(), result.ptr()) != 0) throw nb::python_error();
    } else if (!result.is_none()) {
      return result;
    }
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return nb::none();
}

}  // namespace

void bind_rows(nb::module_& m) {
  m.attr("ROWS_PLAIN") = int{kPlain};
  m.attr("ROWS_OTHER") = int{kOther};
  m.attr("ROWS_UNEVEN") = int{kUneven};
  m.def("judge_rows", &judge_rows, nb::arg("rows"), nb::arg("width"));
  m.def("all_tuples", &all_tuples, nb::arg("items"));
  m.def("call_each", &call_each, nb::arg("process"), nb::arg("tuples"), nb::arg("keys").none(), nb::arg("returned"));
}

}  // namespace penstock::bindings
