// Types of ours whose objects take part in Python's collection of cycles: they have `traverse` and `clear`.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

namespace nb = nanobind;

template <typename Holder>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Holder>(self)->traverse(visit, arg) : 0;
}

template <typename Holder>
int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Holder>(self)->clear();
  return 0;
}

template <typename Holder>
PyType_Slot* collected() {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(&traverse<Holder>)},
      {Py_tp_clear, reinterpret_cast<void*>(&clear<Holder>)},
      {0, nullptr},
  };
  return slots;
}

}  // namespace penstock::bindings
