// A column of rows, as the values of an Arrow array: one pass over the rows where Python would need three.
//
// Only what is plain is taken: exact int or float, in range, no None. The first value that is anything else ends it,
// and the caller looks at the column closely, as for any type that is not here. So nothing is decided here that could
// bend a value: True is not 1, a subclass is not its base, and an int is not a float.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <limits>

namespace nb = nanobind;

namespace penstock::bindings {
namespace {

// A writable buffer of the caller's, for the time of a call.
class Target {
 public:
  explicit Target(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_CONTIG) != 0) throw nb::python_error();
  }
  ~Target() { PyBuffer_Release(&view_); }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  char* bytes() const { return static_cast<char*>(view_.buf); }
  Py_ssize_t size() const { return view_.len; }

 private:
  Py_buffer view_{};
};

template <typename Integer>
bool read(PyObject* value, Integer& into) {
  if (!PyLong_CheckExact(value)) return false;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || number < std::numeric_limits<Integer>::min() || number > std::numeric_limits<Integer>::max()) {
    return false;
  }
  into = static_cast<Integer>(number);
  return true;
}

template <>
bool read<double>(PyObject* value, double& into) {
  if (!PyFloat_CheckExact(value)) return false;
  into = PyFloat_AS_DOUBLE(value);
  return true;
}

// No Python code runs within: the list and its tuples stay as they are.
template <typename Value>
bool fill(PyObject* rows, Py_ssize_t position, const Target& target) {
  const Py_ssize_t count = PyList_GET_SIZE(rows);
  if (target.size() / static_cast<Py_ssize_t>(sizeof(Value)) < count) throw nb::value_error("the buffer is too small");
  char* next = target.bytes();
  for (Py_ssize_t index = 0; index < count; ++index, next += sizeof(Value)) {
    PyObject* row = PyList_GET_ITEM(rows, index);
    if (!PyTuple_CheckExact(row) || PyTuple_GET_SIZE(row) <= position) return false;
    Value value;
    if (!read<Value>(PyTuple_GET_ITEM(row, position), value)) return false;
    std::memcpy(next, &value, sizeof(Value));
  }
  return true;
}

// `kind` is a letter of Python's struct module: b, h, i or q for signed integers of 1, 2, 4 or 8 bytes, d for doubles.
bool fill_column(nb::list rows, Py_ssize_t position, char kind, nb::handle buffer) {
  if (position < 0) throw nb::value_error("a position counts from 0");
  const Target target(buffer);
  switch (kind) {
    case 'b':
      return fill<std::int8_t>(rows.ptr(), position, target);
    case 'h':
      return fill<std::int16_t>(rows.ptr(), position, target);
    case 'i':
      return fill<std::int32_t>(rows.ptr(), position, target);
    case 'q':
      return fill<std::int64_t>(rows.ptr(), position, target);
    case 'd':
      return fill<double>(rows.ptr(), position, target);
    default:
      throw nb::value_error("a kind is one of b, h, i, q and d");
  }
}

}  // namespace

void bind_columns(nb::module_& m) {
  m.def("fill_column", &fill_column, nb::arg("rows"), nb::arg("position"), nb::arg("kind"), nb::arg("buffer"));
}

}  // namespace penstock::bindings
