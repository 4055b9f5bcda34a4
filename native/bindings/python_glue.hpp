// Small bridges to Python that the bindings share: errors, signals, buffers, deadlines.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "platform_choice.hpp"

namespace penstock::bindings {

namespace nb = nanobind;

// Raises penstock.errors.<name>(message).
[[noreturn]] inline void raise(const char* name, const std::string& message) {
  const nb::object error = nb::module_::import_("penstock.errors").attr(name);
  PyErr_SetString(error.ptr(), message.c_str());
  throw nb::python_error();
}

// Ctrl-C and other signal handlers run here; throws what they raise.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// A bell that is rung with no bits would wake somebody for nothing.
inline void check_bits(std::uint32_t bits) {
  if (bits == 0) throw nb::value_error("bits must be from 1 to 4294967295, got 0");
}

// A contiguous view of any buffer, without a copy. It keeps the object alive: while we wait without the interpreter
// lock, other threads may drop theirs.
class Bytes {
 public:
  explicit Bytes(nb::handle object) : owner_(nb::borrow(object)) {
    if (PyBytes_CheckExact(object.ptr())) {  // the usual case, and it needs no release
      data_ = reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(object.ptr()));
      size_ = static_cast<std::size_t>(PyBytes_GET_SIZE(object.ptr()));
      return;
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
      // Not "a bytes-like object is required": say what came, and what is wanted.
      PyErr_Clear();
      const std::string got = nb::cast<std::string>(nb::str(nb::type_name(object.type())));
      PyErr_SetString(PyExc_TypeError,
                      ("a payload must be a contiguous bytes-like object, got " + got).c_str());
      throw nb::python_error();
    }
    data_ = static_cast<const std::byte*>(view_.buf);
    size_ = static_cast<std::size_t>(view_.len);
  }
  Bytes(Bytes&& other) noexcept : owner_(std::move(other.owner_)), view_(other.view_), data_(other.data_), size_(other.size_) {
    other.view_.obj = nullptr;
  }
  Bytes& operator=(Bytes&&) = delete;
  ~Bytes() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  nb::object owner_;
  Py_buffer view_{};
  const std::byte* data_;
  std::size_t size_;
};

// None: wait for ever. A thread never sleeps longer than a slice at a time, so that it sees signals that arrived just
// before it slept, a consumer that died, and space that another thread gave back.
class Deadline {
 public:
  static constexpr std::int64_t kSliceNs = 50'000'000;

  explicit Deadline(std::optional<double> timeout_s) {
    if (!timeout_s) return;
    if (!(*timeout_s >= 0)) throw nb::value_error(("timeout_s must be None or at least 0, got " + std::to_string(*timeout_s)).c_str());
    if (*timeout_s < 1e9) end_ns_ = Platform::now_ns() + static_cast<std::int64_t>(*timeout_s * 1e9);
  }
  void come_sooner(std::int64_t end_ns) { end_ns_ = std::min(end_ns_, end_ns); }
  bool passed() const { return slice_ns() <= 0; }
  std::int64_t slice_ns() const {
    if (end_ns_ == kNever) return kSliceNs;
    return std::min(kSliceNs, end_ns_ - Platform::now_ns());
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns_ = kNever;
};

}  // namespace penstock::bindings
