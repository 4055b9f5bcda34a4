// Rows into the buffers of Arrow columns, column by column.
//
// Only what is plain is taken: None where there may be null, exact bool, int, float, str or bytes as the column has them,
// in range. Rows that have anything else are refused, and the caller looks at them closely, as for any type that is not
// here. So nothing is decided here that could bend a value: True is not 1, a subclass is not its base, and an int is not
// a float.
#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

namespace penstock::bindings {

namespace nb = nanobind;

// Bits, from the lowest of each byte on.
class Bits {
 public:
  void push(bool bit) {
    if (count_ % 8 == 0) bytes_.push_back(0);
    bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | bit << count_ % 8);
    ++count_;
  }
  void shrink(std::size_t count) {
    count_ = count;
    bytes_.resize((count + 7) / 8);
    if (count % 8 != 0) bytes_.back() &= static_cast<std::uint8_t>((1 << count % 8) - 1);
  }
  std::size_t count() const { return count_; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t count_ = 0;
};

template <typename Value>
nb::object bytes_of(const std::vector<Value>& values) {
  return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
}

// The values of one column. What follows are those of one type each: `put` gives false if a value is not plain or does not
// fit, and puts nothing then.
class GatheredColumn {
 public:
  GatheredColumn() = default;
  GatheredColumn(const GatheredColumn&) = delete;
  GatheredColumn& operator=(const GatheredColumn&) = delete;
  virtual ~GatheredColumn() = default;

  // Behind the `before` values that there are. False at the first that is refused: then some of them are put.
  virtual bool append(PyObject* rows, Py_ssize_t position, std::size_t before) = 0;
  // Only the first values remain, of which so many are null.
  virtual void shrink(std::size_t count, std::size_t nulls) = 0;
  virtual std::size_t nulls() const = 0;
  // The number of nulls, and the buffers as Arrow lays them out; None in place of the first if there is no null.
  virtual nb::object gathered() const = 0;
};

template <typename Number>
bool read_plain(PyObject* value, Number& into) {
  if constexpr (std::floating_point<Number>) {
    if (!PyFloat_CheckExact(value)) return false;
    const double number = PyFloat_AS_DOUBLE(value);
    into = static_cast<Number>(number);
    return std::isinf(into) == std::isinf(number);  // it may be too large for 32 bits
  } else {
    if (!PyLong_CheckExact(value)) return false;
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0 || number < std::numeric_limits<Number>::min() || number > std::numeric_limits<Number>::max()) {
      return false;
    }
    into = static_cast<Number>(number);
    return true;
  }
}

template <typename Number>
class Numbers {
 public:
  bool put(PyObject* value) {
    Number number;
    if (!read_plain(value, number)) return false;
    values_.push_back(number);
    return true;
  }
  void put_none() { values_.push_back(0); }
  void shrink(std::size_t count) { values_.resize(count); }
  void add_to(nb::list& buffers) const { buffers.append(bytes_of(values_)); }

 private:
  std::vector<Number> values_;
};

class Bools {
 public:
  bool put(PyObject* value) {
    if (!PyBool_Check(value)) return false;
    values_.push(value == Py_True);
    return true;
  }
  void put_none() { values_.push(false); }
  void shrink(std::size_t count) { values_.shrink(count); }
  void add_to(nb::list& buffers) const { buffers.append(bytes_of(values_.bytes())); }

 private:
  Bits values_;
};

// Texts, or bytes: all of them behind each other, and where each ends. Arrow counts that in 32 bits.
template <bool kText>
class Strings {
 public:
  bool put(PyObject* value) {
    const char* bytes = nullptr;
    Py_ssize_t size = 0;
    if constexpr (kText) {
      if (!PyUnicode_CheckExact(value)) return false;
      bytes = PyUnicode_AsUTF8AndSize(value, &size);
      if (bytes == nullptr) PyErr_Clear();  // half of a pair of surrogates: Arrow says so
    } else {
      if (!PyBytes_CheckExact(value)) return false;
      bytes = PyBytes_AS_STRING(value);
      size = PyBytes_GET_SIZE(value);
    }
    if (bytes == nullptr || size > std::numeric_limits<std::int32_t>::max() - ends_.back()) return false;
    bytes_.insert(bytes_.end(), bytes, bytes + size);
    put_none();
    return true;
  }
  void put_none() { ends_.push_back(static_cast<std::int32_t>(bytes_.size())); }
  void shrink(std::size_t count) {
    ends_.resize(count + 1);
    bytes_.resize(static_cast<std::size_t>(ends_.back()));
  }
  void add_to(nb::list& buffers) const {
    buffers.append(bytes_of(ends_));
    buffers.append(bytes_of(bytes_));
  }

 private:
  std::vector<std::int32_t> ends_{0};
  std::vector<char> bytes_;
};

template <typename Values>
class GatheredValues final : public GatheredColumn {
 public:
  explicit GatheredValues(bool nullable) : nullable_(nullable) {}

  bool append(PyObject* rows, Py_ssize_t position, std::size_t before) override {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(rows);
    for (Py_ssize_t index = 0; index < count; ++index) {
      PyObject* row = PySequence_Fast_GET_ITEM(rows, index);
      if (!PyTuple_CheckExact(row) || PyTuple_GET_SIZE(row) <= position) return false;
      PyObject* value = PyTuple_GET_ITEM(row, position);
      if (value == Py_None) {
        if (!nullable_) return false;
        put_null(before + static_cast<std::size_t>(index));
      } else {
        if (!values_.put(value)) return false;
        if (nulls_ != 0) valid_.push(true);
      }
    }
    return true;
  }

  void shrink(std::size_t count, std::size_t nulls) override {
    values_.shrink(count);
    nulls_ = nulls;
    valid_.shrink(nulls == 0 ? 0 : count);
  }

  std::size_t nulls() const override { return nulls_; }

  nb::object gathered() const override {
    nb::list buffers;
    if (nulls_ == 0) {
      buffers.append(nb::none());
    } else {
      buffers.append(bytes_of(valid_.bytes()));
    }
    values_.add_to(buffers);
    return nb::make_tuple(nulls_, buffers);
  }

 private:
  void put_null(std::size_t before) {
    while (nulls_ == 0 && valid_.count() != before) valid_.push(true);
    valid_.push(false);
    values_.put_none();
    ++nulls_;
  }

  bool nullable_;
  std::size_t nulls_ = 0;
  Bits valid_;  // of all values once there is a null, and else of none
  Values values_;
};

class RowGatherer {
 public:
  // For each column the position of its value in a row, its kind, and whether it may be null. Kinds are those of
  // Python's struct module, b, h, i and q for signed integers of 1, 2, 4 or 8 bytes, f and d for floats, ? for bool;
  // and u for str, z for bytes.
  explicit RowGatherer(nb::sequence columns) {
    for (const nb::handle column : columns) {
      const auto [position, kind, nullable] = nb::cast<std::tuple<Py_ssize_t, char, bool>>(column);
      if (position < 0) throw nb::value_error("a position counts from 0");
      columns_.emplace_back(position, made(kind, nullable));
    }
  }

  RowGatherer(const RowGatherer&) = delete;
  RowGatherer& operator=(const RowGatherer&) = delete;

  std::size_t rows() const { return rows_; }

  // Takes all rows, or none. No Python code runs within: the rows stay as they are.
  bool append(nb::handle rows) {
    const nb::object all = nb::steal(PySequence_Fast(rows.ptr(), "wanted a sequence of rows"));
    if (!all.is_valid()) throw nb::python_error();
    std::vector<std::size_t> nulls;
    for (const auto& [position, column] : columns_) nulls.push_back(column->nulls());
    const auto as_before = [&] {
      for (std::size_t number = 0; number != columns_.size(); ++number) {
        columns_[number].second->shrink(rows_, nulls[number]);
      }
    };
    try {
      for (const auto& [position, column] : columns_) {
        if (column->append(all.ptr(), position, rows_)) continue;
        as_before();
        return false;
      }
    } catch (const std::bad_alloc&) {
      as_before();
      throw;
    }
    rows_ += static_cast<std::size_t>(PySequence_Fast_GET_SIZE(all.ptr()));
    return true;
  }

  // What was gathered, column by column; it begins anew.
  nb::list take() {
    nb::list taken;
    for (const auto& [position, column] : columns_) {
      taken.append(column->gathered());
      column->shrink(0, 0);
    }
    rows_ = 0;
    return taken;
  }

 private:
  static std::unique_ptr<GatheredColumn> made(char kind, bool nullable) {
    switch (kind) {
      case 'b': return std::make_unique<GatheredValues<Numbers<std::int8_t>>>(nullable);
      case 'h': return std::make_unique<GatheredValues<Numbers<std::int16_t>>>(nullable);
      case 'i': return std::make_unique<GatheredValues<Numbers<std::int32_t>>>(nullable);
      case 'q': return std::make_unique<GatheredValues<Numbers<std::int64_t>>>(nullable);
      case 'f': return std::make_unique<GatheredValues<Numbers<float>>>(nullable);
      case 'd': return std::make_unique<GatheredValues<Numbers<double>>>(nullable);
      case '?': return std::make_unique<GatheredValues<Bools>>(nullable);
      case 'u': return std::make_unique<GatheredValues<Strings<true>>>(nullable);
      case 'z': return std::make_unique<GatheredValues<Strings<false>>>(nullable);
      default: throw nb::value_error("a kind is one of b, h, i, q, f, d, ?, u and z");
    }
  }

  std::vector<std::pair<Py_ssize_t, std::unique_ptr<GatheredColumn>>> columns_;
  std::size_t rows_ = 0;
};

}  // namespace penstock::bindings
