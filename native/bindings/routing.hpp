// Groupings, compiled: each puts a tuple into the lists of the lanes that it belongs to.
//
// A list is that of a lane, `Lane.tuples`, which is the same one as long as the lane is there. What a grouping cannot
// decide by itself it asks Python. Whoever puts a tuple holds a reference to the grouping meanwhile: keys and functions
// of users run code of theirs.
#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "penstock/short_text_hash.hpp"

namespace penstock::bindings {

namespace nb = nanobind;

using References = std::vector<nb::object>;

inline References references_to(nb::handle items) {
  References found;
  for (const nb::handle item : items) found.push_back(nb::borrow(item));
  return found;
}

inline References lists_of(nb::handle items) {
  References found = references_to(items);
  for (const nb::object& item : found) {
    if (!PyList_CheckExact(item.ptr())) throw nb::type_error("wanted lists to put tuples into");
  }
  return found;
}

class Routing {
 public:
  explicit Routing(References references) : references_(std::move(references)) {}
  Routing(const Routing&) = delete;
  Routing& operator=(const Routing&) = delete;
  virtual ~Routing() = default;

  // Puts a tuple where it belongs. False if there is no such place: then Python's error is set.
  virtual bool put(PyObject* values) = 0;

  // For the garbage collector. What is cleared puts nothing anywhere.
  int traverse(visitproc visit, void* arg) const {
    for (const nb::object& one : references_) Py_VISIT(one.ptr());
    return 0;
  }
  void clear() { References().swap(references_); }

 protected:
  bool is_cleared() const { return references_.empty(); }

  References references_;  // all that it refers to
};

// Into each of them: one for a single way, all for a broadcast, none where nobody listens.
class ToEach final : public Routing {
 public:
  explicit ToEach(nb::handle lists) : Routing(lists_of(lists)) {}

  bool put(PyObject* values) override {
    for (const nb::object& list : references_) {
      if (PyList_Append(list.ptr(), values) != 0) return false;
    }
    return true;
  }
};

// In turn, in an order that may change between two tuples.
class Cycle final : public Routing {
 public:
  explicit Cycle(nb::handle lists) : Routing(lists_of(lists)) {
    for (std::size_t index = 0; index < references_.size(); ++index) order_.push_back(index);
    if (order_.empty()) throw nb::value_error("wanted a list at least");
  }

  // From now on in this order of the lists, from its beginning.
  void take_up(nb::handle order) {
    std::vector<std::size_t> taken;
    for (const nb::handle index : order) {
      taken.push_back(nb::cast<std::size_t>(index));
      if (taken.back() >= references_.size()) throw nb::index_error("an order of lists that are not there");
    }
    if (taken.empty()) throw nb::value_error("wanted the index of a list at least");
    order_ = std::move(taken);
    next_ = 0;
  }

  bool put(PyObject* values) override {
    if (is_cleared()) return true;
    const nb::object& list = references_[order_[next_]];
    next_ = next_ + 1 == order_.size() ? 0 : next_ + 1;
    return PyList_Append(list.ptr(), values) == 0;
  }

 private:
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

// By the values at some positions: one value is the key itself, several are a tuple. Which list a key belongs to is
// told by its stable hash. That of a short text is taken here, for less than a look into a large dict; of any other key
// it is remembered in one. What is not found there, or cannot be looked for, is asked of `index_of`.
class ByKey final : public Routing {
 public:
  ByKey(nb::handle lists, nb::handle positions, nb::dict remembered, nb::object index_of) : Routing(lists_of(lists)) {
    lists_ = references_.size();
    if (lists_ == 0) throw nb::value_error("wanted a list at least");
    references_.push_back(std::move(remembered));
    references_.push_back(std::move(index_of));
    for (const nb::handle position : positions) positions_.push_back(nb::cast<Py_ssize_t>(position));
    if (positions_.empty()) throw nb::value_error("wanted the position of a field at least");
  }

  bool put(PyObject* values) override {
    if (is_cleared()) return true;
    const nb::object key = key_of(values);
    if (!key.is_valid()) return false;
    const Py_ssize_t index = index_of(key.ptr());
    if (index == -1 && PyErr_Occurred() != nullptr) return false;
    if (index < 0 || static_cast<std::size_t>(index) >= lists_) {
      PyErr_Format(PyExc_IndexError, "there is no list %zd", index);
      return false;
    }
    return PyList_Append(references_[static_cast<std::size_t>(index)].ptr(), values) == 0;
  }

 private:
  Py_ssize_t index_of(PyObject* key) const {
    if (PyUnicode_CheckExact(key) && PyUnicode_IS_COMPACT_ASCII(key)) {
      const auto length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(key));
      if (length <= ShortTextHash::kMostBytes) {
        const auto* text = static_cast<const char*>(PyUnicode_DATA(key));
        return static_cast<Py_ssize_t>(ShortTextHash::of(text, length) % lists_);
      }
    }
    if (PyObject* found = PyDict_GetItemWithError(references_[lists_].ptr(), key); found != nullptr) {
      return PyLong_AsSsize_t(found);
    }
    if (PyErr_Occurred() != nullptr) {
      if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return -1;
      PyErr_Clear();  // it cannot be looked for as it is, as a list cannot
    }
    const nb::object index = nb::steal(PyObject_CallOneArg(references_[lists_ + 1].ptr(), key));
    return index.is_valid() ? PyLong_AsSsize_t(index.ptr()) : -1;
  }

  nb::object key_of(PyObject* values) const {
    if (positions_.size() == 1) return value_at(values, positions_[0]);
    nb::object key = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(positions_.size())));
    for (std::size_t index = 0; key.is_valid() && index < positions_.size(); ++index) {
      nb::object value = value_at(values, positions_[index]);
      if (!value.is_valid()) return value;
      PyTuple_SET_ITEM(key.ptr(), static_cast<Py_ssize_t>(index), value.release().ptr());
    }
    return key;
  }

  static nb::object value_at(PyObject* values, Py_ssize_t position) {
    return nb::borrow(PyTuple_GetItem(values, position));  // none, and Python's own error, if there is none
  }

  std::size_t lists_;  // how many of the references are lists; the dict and the function are behind them
  std::vector<Py_ssize_t> positions_;
};

// Wherever a function in Python puts it.
class ByFunction final : public Routing {
 public:
  explicit ByFunction(nb::object put) : Routing({std::move(put)}) {}

  bool put(PyObject* values) override {
    if (is_cleared()) return true;
    return nb::steal(PyObject_CallOneArg(references_[0].ptr(), values)).is_valid();
  }
};

// Takes a share of what comes, as evenly as whole tuples allow, and the same each time. Counts in billionths: ten times a
// tenth is one.
class ShareTaker {
 public:
  explicit ShareTaker(double taken_share) : share(taken_share), billionths_(std::llround(taken_share * 1e9)) {
    if (!(taken_share >= 0 && taken_share <= 1)) throw nb::value_error("a share is from 0 to 1");
  }

  // How many of so many tuples are in it.
  std::int64_t take(std::int64_t count) {
    due_ += count * billionths_;
    const std::int64_t taken = due_ / kWhole;
    due_ -= taken * kWhole;
    return taken;
  }

  const double share;

 private:
  static constexpr std::int64_t kWhole = 1'000'000'000;
  std::int64_t billionths_;
  std::int64_t due_ = 0;
};

// A share into a list, that of a helper's lane, and the rest by another grouping.
class Shared final : public Routing {
 public:
  Shared(nb::object plain, nb::handle list, nb::object taker) : Routing({std::move(plain), nb::borrow(list), std::move(taker)}) {
    nb::cast<Routing&>(references_[0]);
    if (!PyList_CheckExact(list.ptr())) throw nb::type_error("wanted a list to put tuples into");
    nb::cast<ShareTaker&>(references_[2]);
  }

  bool put(PyObject* values) override {
    if (is_cleared()) return true;
    if (nb::inst_ptr<ShareTaker>(references_[2])->take(1) != 0) return PyList_Append(references_[1].ptr(), values) == 0;
    return nb::inst_ptr<Routing>(references_[0])->put(values);
  }
};

// By each of several groupings: those of all who subscribe to a stream.
class FanOut final : public Routing {
 public:
  explicit FanOut(nb::handle routings) : Routing(references_to(routings)) {
    for (const nb::object& routing : references_) nb::cast<Routing&>(routing);
  }

  bool put(PyObject* values) override {
    for (const nb::object& routing : references_) {
      if (!nb::inst_ptr<Routing>(routing)->put(values)) return false;
    }
    return true;
  }
};

}  // namespace penstock::bindings
