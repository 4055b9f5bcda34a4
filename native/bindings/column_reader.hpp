// Columns of Arrow into tuples, in one pass: neither lists of values nor plain tuples are made on the way.
//
// What is plain is read here: null, bool, ints, floats, str and bytes. Of any other type Arrow makes a list of Python
// values, and they are put where they belong. tests/worker/test_column_tuples.py holds both to be the same values.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "arrow_abi.hpp"
#include "tuple_decoder.hpp"

namespace penstock::bindings {

namespace nb = nanobind;

// One column, value by value. What it refers to is kept alive by its owner.
class ColumnView {
 public:
  ColumnView(const ArrowSchema& schema, const ArrowArray& array, std::int64_t offset)
      : offset_(offset + array.offset), read_(reader_of(schema)) {
    if (read_ == &null) return;
    if (array.n_buffers < 2) throw nb::value_error("a column without its buffers");
    if (array.null_count != 0) valid_ = static_cast<const std::uint8_t*>(array.buffers[0]);
    values_ = array.buffers[1];
    if (array.n_buffers > 2) bytes_ = static_cast<const char*>(array.buffers[2]);
  }
  explicit ColumnView(nb::list values) : values_(values.ptr()), read_(&item) {}

  // A new reference; nullptr with Python's error set.
  PyObject* at(std::int64_t row, RecentTexts& texts) const {
    row += offset_;
    if (valid_ != nullptr && !bit(valid_, row)) return Py_NewRef(Py_None);
    return read_(*this, row, texts);
  }

 private:
  using Read = PyObject* (*)(const ColumnView&, std::int64_t row, RecentTexts&);

  static Read reader_of(const ArrowSchema& schema) {
    const char* format = schema.format;
    if (schema.dictionary == nullptr && format[0] != '\0' && format[1] == '\0') {
      switch (format[0]) {
        case 'n': return &null;
        case 'b': return &boolean;
        case 'c': return &number<std::int8_t>;
        case 'C': return &number<std::uint8_t>;
        case 's': return &number<std::int16_t>;
        case 'S': return &number<std::uint16_t>;
        case 'i': return &number<std::int32_t>;
        case 'I': return &number<std::uint32_t>;
        case 'l': return &number<std::int64_t>;
        case 'L': return &number<std::uint64_t>;
        case 'f': return &number<float>;
        case 'g': return &number<double>;
        case 'u': return &text<std::int32_t>;
        case 'U': return &text<std::int64_t>;
        case 'z': return &octets<std::int32_t>;
        case 'Z': return &octets<std::int64_t>;
      }
    }
    throw nb::value_error("a column of a type that is not read here");
  }

  static bool bit(const void* bits, std::int64_t row) {
    return (static_cast<const std::uint8_t*>(bits)[row >> 3] >> (row & 7) & 1) != 0;
  }

  static PyObject* null(const ColumnView&, std::int64_t, RecentTexts&) { return Py_NewRef(Py_None); }

  static PyObject* boolean(const ColumnView& self, std::int64_t row, RecentTexts&) {
    return PyBool_FromLong(bit(self.values_, row));
  }

  template <typename Number>
  static PyObject* number(const ColumnView& self, std::int64_t row, RecentTexts&) {
    const Number value = static_cast<const Number*>(self.values_)[row];
    if constexpr (std::floating_point<Number>) {
      return PyFloat_FromDouble(value);
    } else if constexpr (std::unsigned_integral<Number>) {
      return PyLong_FromUnsignedLongLong(value);
    } else {
      return PyLong_FromLongLong(value);
    }
  }

  template <typename Offset>
  static std::pair<const char*, std::size_t> slice(const ColumnView& self, std::int64_t row) {
    const Offset* offsets = static_cast<const Offset*>(self.values_);
    // A column of empty texts may have no bytes at all.
    const char* bytes = self.bytes_ == nullptr ? "" : self.bytes_ + offsets[row];
    return {bytes, static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
  }

  template <typename Offset>
  static PyObject* text(const ColumnView& self, std::int64_t row, RecentTexts& texts) {
    const auto [bytes, size] = slice<Offset>(self, row);
    if (size - 1 < RecentTexts::kMostBytes) return texts.get(bytes, size);  // not the empty text: 0 - 1 wraps around
    return PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(size), nullptr);
  }

  template <typename Offset>
  static PyObject* octets(const ColumnView& self, std::int64_t row, RecentTexts&) {
    const auto [bytes, size] = slice<Offset>(self, row);
    return PyBytes_FromStringAndSize(bytes, static_cast<Py_ssize_t>(size));
  }

  static PyObject* item(const ColumnView& self, std::int64_t row, RecentTexts&) {
    PyObject* list = static_cast<PyObject*>(const_cast<void*>(self.values_));
    return Py_XNewRef(PyList_GetItem(list, static_cast<Py_ssize_t>(row)));
  }

  std::int64_t offset_ = 0;
  const std::uint8_t* valid_ = nullptr;  // a bit for each row; none if there is no null
  const void* values_ = nullptr;         // or offsets into the bytes, or the list
  const char* bytes_ = nullptr;
  Read read_;
};

// Makes tuples of one class.
class ColumnReader {
 public:
  ColumnReader(nb::type_object made, nb::sequence fields) : layout_(std::move(made), std::move(fields)) {}

  const TupleLayout& layout() const { return layout_; }
  RecentTexts& texts() { return texts_; }

  int traverse(visitproc visit, void* arg) const { return layout_.traverse(visit, arg); }
  void clear() {}

 private:
  TupleLayout layout_;
  RecentTexts texts_;
};

// The tuples of a record batch, some at a time.
class TupleChunks {
 public:
  // `batch` is what a record batch gives by `__arrow_c_array__`: its schema and its columns, as those of a struct. For each
  // of them there is a list of its values in `others`, or None if they are read here.
  TupleChunks(nb::handle reader, nb::tuple batch, nb::sequence others, std::int64_t most)
      : reader_(nb::borrow(reader)), batch_(std::move(batch)), most_(most) {
    if (batch_.size() != 2) throw nb::value_error("wanted a schema and an array");
    const auto& fields = pointed_to<ArrowSchema>(batch_[0], "arrow_schema");
    const auto& columns = pointed_to<ArrowArray>(batch_[1], "arrow_array");
    rows_ = columns.length;
    if (most < 1) throw nb::value_error("wanted a tuple at a time at least");
    for (const nb::handle other : others) others_.push_back(nb::borrow(other));
    const std::size_t width = nb::inst_ptr<ColumnReader>(reader_)->layout().width();
    const auto has_width = [width](std::int64_t count) { return count == static_cast<std::int64_t>(width); };
    if (others_.size() != width || !has_width(fields.n_children) || !has_width(columns.n_children)) {
      throw nb::value_error("wanted a column for each field");
    }
    for (std::size_t position = 0; position != width; ++position) {
      if (others_[position].is_none()) {
        const ArrowArray& column = *columns.children[position];
        if (column.length - columns.offset < rows_) throw nb::value_error("a column with fewer values than there are rows");
        views_.emplace_back(*fields.children[position], column, columns.offset);
      } else {
        views_.emplace_back(nb::cast<nb::list>(others_[position]));
      }
    }
  }

  nb::object next() {
    const std::int64_t count = std::min(most_, rows_ - row_);
    if (count <= 0) throw nb::stop_iteration();
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(count)));
    for (Py_ssize_t index = 0; list.is_valid() && index != count; ++index) {
      PyObject* made = tuple();
      if (made == nullptr) throw nb::python_error();
      PyList_SET_ITEM(list.ptr(), index, made);
    }
    if (!list.is_valid()) throw nb::python_error();
    return list;
  }

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(reader_.ptr());
    Py_VISIT(batch_.ptr());
    for (const nb::object& other : others_) Py_VISIT(other.ptr());
    return 0;
  }
  void clear() {}

 private:
  template <typename Struct>
  static const Struct& pointed_to(nb::handle capsule, const char* name) {
    const void* found = PyCapsule_GetPointer(capsule.ptr(), name);
    if (found == nullptr) throw nb::python_error();
    return *static_cast<const Struct*>(found);
  }

  // Of the next row; nullptr with Python's error set.
  PyObject* tuple() {
    ColumnReader& reader = *nb::inst_ptr<ColumnReader>(reader_);
    PyObject* made = reader.layout().make();
    for (std::size_t position = 0; made != nullptr && position != views_.size(); ++position) {
      PyObject* value = views_[position].at(row_, reader.texts());
      if (value == nullptr) {
        Py_CLEAR(made);  // those that have no value yet are nullptr
      } else {
        reader.layout().at(made, position) = value;
      }
    }
    ++row_;
    return made;
  }

  nb::object reader_;
  nb::tuple batch_;  // its capsules own what the views look at
  std::vector<nb::object> others_;
  std::vector<ColumnView> views_;
  std::int64_t rows_ = 0;
  std::int64_t row_ = 0;
  std::int64_t most_;
};

}  // namespace penstock::bindings
