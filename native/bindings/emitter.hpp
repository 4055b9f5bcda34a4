// The loop between two calls of user code: calls `process` for one tuple after another, and puts what that gives into
// the lanes. tests/worker/reference_emit.py is the same in plain Python, and the two are held equal.
//
// Before each call into Python the state is complete: the cursor is behind the tuple, and all that was emitted is
// counted. So whatever is raised, and whoever looks meanwhile, finds nothing in between.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "routing.hpp"

namespace penstock::bindings {

// What a task emits with. Its class in Python, penstock.worker.outputs.Outputs, knows what to do with what is no plain
// tuple (`emit_other`), and what may be many outputs or is one (`iterator_of`).
class Emitter {
 public:
  explicit Emitter(nb::object user_errors) : user_errors_(std::move(user_errors)) {}

  std::int64_t emitted = 0;
  std::int64_t refused = 0;  // calls and outputs that failed: part of such an output may have been put nevertheless
  std::int64_t piece_tuples = 1;

  nb::object routing() const { return routing_; }
  void set_routing(nb::object routing) {
    nb::cast<Routing&>(routing);
    routing_ = std::move(routing);
  }

  // Puts a plain tuple on the default stream and counts it; false if Python's error is set.
  bool put(PyObject* values) {
    const nb::object held = routing_;
    if (!held.is_valid()) {
      PyErr_SetString(PyExc_RuntimeError, "an emitter without a routing");
      return false;
    }
    if (!nb::inst_ptr<Routing>(held)->put(values)) return false;
    ++emitted;
    return true;
  }

  // Tells `refuse` of the error that is set, if user code may raise it. False if it is another, or if that raises.
  bool tell(PyObject* refuse, PyObject* culprit) {
    ++refused;
    if (PyErr_ExceptionMatches(user_errors_.ptr()) == 0) return false;
    const nb::object error = raised();
    PyObject* arguments[] = {nullptr, error.ptr(), culprit};
    return nb::steal(PyObject_Vectorcall(refuse, arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr)).is_valid();
  }

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(routing_.ptr());
    Py_VISIT(user_errors_.ptr());
    return 0;
  }
  void clear() { routing_.reset(); }

 private:
  // Takes the error that is set, with its traceback.
  static nb::object raised() {
#if PY_VERSION_HEX >= 0x030C0000
    return nb::steal(PyErr_GetRaisedException());
#else
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return nb::steal(value);
#endif
  }

  nb::object routing_;
  nb::object user_errors_;
};

enum class End { kDone, kFull, kRaised };

// An emitter, and its object in Python. Neither outlives a call: whoever makes it holds a reference.
class Emitting {
 public:
  explicit Emitting(nb::handle self) : emitter_(*nb::inst_ptr<Emitter>(self)), self_(self.ptr()) {}

  Emitter& emitter() const { return emitter_; }
  std::int64_t full_at() const { return emitter_.emitted + emitter_.piece_tuples; }

  // Emits one output; false if Python's error is set.
  bool emit(PyObject* output) const {
    if (PyTuple_CheckExact(output)) return emitter_.put(output);
    if (output == Py_None) return true;
    static PyObject* const name = PyUnicode_InternFromString("emit_other");
    return nb::steal(PyObject_CallMethodOneArg(self_, name, output)).is_valid();
  }

  // The same, but what cannot be emitted is told to `refuse`.
  bool emit_or_refuse(PyObject* output, PyObject* refuse) const {
    return emit(output) || emitter_.tell(refuse, output);
  }

  // All of them, up to the first that cannot be emitted.
  bool emit_all(PyObject* outputs) const {
    const nb::object iterator = nb::steal(PyObject_GetIter(outputs));
    if (!iterator.is_valid()) return false;
    while (const nb::object output = nb::steal(PyIter_Next(iterator.ptr()))) {
      if (!emit(output.ptr())) return false;
    }
    return PyErr_Occurred() == nullptr;
  }

  // Outputs of an iterator, until so many are emitted in all. What the iterator raises is raised.
  End emit_until(PyObject* iterator, PyObject* refuse, std::int64_t full_at) const {
    while (emitter_.emitted < full_at) {
      const nb::object output = nb::steal(PyIter_Next(iterator));
      if (!output.is_valid()) return PyErr_Occurred() == nullptr ? End::kDone : End::kRaised;
      if (!emit_or_refuse(output.ptr(), refuse)) return End::kRaised;
    }
    return End::kFull;
  }

  // What user code returned, as an iterator if that may be many outputs; None if it was one, and is emitted.
  nb::object iterator_of(PyObject* returned) const {
    static PyObject* const name = PyUnicode_InternFromString("iterator_of");
    return nb::steal(PyObject_CallMethodOneArg(self_, name, returned));
  }

 private:
  Emitter& emitter_;
  PyObject* self_;
};

// Calls of user code for some tuples, and where it is in them.
class Calls {
 public:
  // `tuples` is a list or a tuple; so is `keys`, or None. With `yields`, each call gives an iterator.
  Calls(nb::handle emitter, nb::handle process, nb::handle tuples, nb::handle keys, nb::handle fail, bool yields)
      : emitter_(nb::borrow(emitter)),
        process_(nb::borrow(process)),
        tuples_(nb::steal(PySequence_Fast(tuples.ptr(), "wanted a sequence of tuples"))),
        fail_(nb::borrow(fail)),
        yields_(yields) {
    if (!keys.is_none()) keys_ = nb::steal(PySequence_Fast(keys.ptr(), "wanted a sequence of keys"));
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
  }

  // Goes on until all is done, or a piece is full: then there may be more. An exception of user code ends its call,
  // and is told with the tuple.
  //
  // A piece is what generators yield, of however many tuples. Of anything else that can be iterated over each is one or
  // more of its own, and a single output is none: those are bounded by the tuples.
  End go_on() {
    const Emitting emitting(emitter_);
    std::int64_t full_at = emitting.full_at();
    for (;;) {
      End end = End::kDone;
      if (iterator_.is_valid()) {
        end = emitting.emit_until(iterator_.ptr(), fail_.ptr(), full_at);
        if (end == End::kFull) return end;
        iterator_.reset();
      } else if (cursor_ >= PySequence_Fast_GET_SIZE(tuples_.ptr())) {
        return end;
      } else {
        end = call(emitting) ? End::kDone : End::kRaised;
        if (!yields_ && iterator_.is_valid()) full_at = emitting.full_at();
      }
      if (end == End::kRaised) {
        if (!emitting.emitter().tell(fail_.ptr(), worked_on_.ptr())) return end;
        full_at = emitting.full_at();
      }
    }
  }

  int traverse(visitproc visit, void* arg) const {
    for (const nb::object* one : {&emitter_, &process_, &tuples_, &keys_, &fail_, &worked_on_, &iterator_}) {
      Py_VISIT(one->ptr());
    }
    return 0;
  }
  void clear() {
    iterator_.reset();
    process_.reset();
    fail_.reset();
    emitter_.reset();
  }
  bool is_cleared() const { return !emitter_.is_valid(); }

 private:
  // Calls user code for the next tuple, and emits what is no iterator; false if Python's error is set.
  bool call(const Emitting& emitting) {
    worked_on_ = nb::borrow(PySequence_Fast_GET_ITEM(tuples_.ptr(), cursor_));
    nb::object key;
    if (keys_.is_valid()) {
      if (cursor_ >= PySequence_Fast_GET_SIZE(keys_.ptr())) {
        PyErr_SetString(PyExc_RuntimeError, "fewer keys than tuples");
        ++cursor_;
        return false;
      }
      key = nb::borrow(PySequence_Fast_GET_ITEM(keys_.ptr(), cursor_));
    }
    ++cursor_;
    PyObject* tuple = worked_on_.ptr();
    PyObject* arguments[] = {nullptr, key.is_valid() ? key.ptr() : tuple, tuple};
    const std::size_t count = (key.is_valid() ? 2 : 1) | PY_VECTORCALL_ARGUMENTS_OFFSET;
    const nb::object given = nb::steal(PyObject_Vectorcall(process_.ptr(), arguments + 1, count, nullptr));
    return given.is_valid() && take(given, emitting);
  }

  bool take(const nb::object& given, const Emitting& emitting) {
    PyObject* out = given.ptr();
    if (yields_) {
      iterator_ = nb::steal(PyObject_GetIter(out));
      return iterator_.is_valid();
    }
    if (out == Py_None) return true;
    if (PyTuple_CheckExact(out)) return emitting.emit_or_refuse(out, fail_.ptr());
    if (PyList_CheckExact(out) && PyList_GET_SIZE(out) <= emitting.emitter().piece_tuples) return emitting.emit_all(out);
    if (PyGen_CheckExact(out)) {
      iterator_ = given;
      return true;
    }
    nb::object iterator = emitting.iterator_of(out);
    if (!iterator.is_valid()) return false;
    if (!iterator.is_none()) iterator_ = std::move(iterator);
    return true;
  }

  nb::object emitter_;
  nb::object process_;
  nb::object tuples_;
  nb::object keys_;
  nb::object fail_;
  nb::object worked_on_;  // the newest tuple that user code was called for
  nb::object iterator_;   // what that gave, as long as there may be more of it
  Py_ssize_t cursor_ = 0; // behind that tuple
  bool yields_;
};

}  // namespace penstock::bindings
