// The payload of a TUPLES frame in one pass over its rows: msgpack, byte for byte what msgspec makes of it.
//
// Only for plain values, which are all that most tuples hold: None, bool, int in 64 bits, float, str and bytes, of
// exactly these types. The first that is anything else ends the pass, and the codec in Python takes over.
#pragma once

#include <Python.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

namespace penstock::bindings {

// What rows are made of, as far as one pass over them tells.
enum Verdict {
  kPlain = 0,     // tuples of the right width, of values that msgpack knows and keeps
  kOther = 1,     // some value is of another type, or is none that msgpack has room for
  kUneven = 2,    // some row is no tuple of the right width
  kTooLarge = 3,  // encoded, they take more bytes than they may
};

// Memory that is written from the front and used again and again. Holds `limit` bytes and never more.
class EncodeBuffer {
 public:
  void restart(std::size_t limit) {
    size_ = 0;
    limit_ = limit;
  }
  // Where the next `count` bytes go; nullptr if there is no room for them within the limit.
  std::uint8_t* take(std::size_t count) {
    if (count > limit_ - size_) return nullptr;
    if (count > capacity_ - size_) grow(count);
    std::uint8_t* at = bytes_.get() + size_;
    size_ += count;
    return at;
  }
  const char* data() const { return reinterpret_cast<const char*>(bytes_.get()); }
  std::size_t size() const { return size_; }

 private:
  void grow(std::size_t count) {
    std::size_t wanted = capacity_ < 4096 ? 4096 : capacity_ * 2;
    if (wanted < size_ + count) wanted = size_ + count;
    std::unique_ptr<std::uint8_t[]> larger(new std::uint8_t[wanted]);
    if (size_ != 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
    capacity_ = wanted;
  }

  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t limit_ = 0;
};

// Writes values behind each other. Runs no Python code, so that nothing it reads can change meanwhile. Each function
// says kPlain when it has written the value, and else why it has not.
class RowEncoder {
 public:
  explicit RowEncoder(EncodeBuffer& buffer) : buffer_(buffer) {}

  Verdict rows(PyObject* list, Py_ssize_t width) {
    const Py_ssize_t count = PyList_GET_SIZE(list);
    if (const Verdict verdict = array(count); verdict != kPlain) return verdict;
    for (Py_ssize_t index = 0; index < count; ++index) {
      PyObject* row = PyList_GET_ITEM(list, index);
      if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) != width) return kUneven;
      if (const Verdict verdict = items(row); verdict != kPlain) return verdict;
    }
    return kPlain;
  }

  // The trees of a frame: a list or a tuple of pairs.
  Verdict runs(PyObject* pairs) {
    if (!PyList_Check(pairs) && !PyTuple_Check(pairs)) return kOther;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(pairs);
    if (const Verdict verdict = array(count); verdict != kPlain) return verdict;
    for (Py_ssize_t index = 0; index < count; ++index) {
      PyObject* pair = PySequence_Fast_GET_ITEM(pairs, index);
      if (!PyTuple_Check(pair)) return kOther;
      if (const Verdict verdict = items(pair); verdict != kPlain) return verdict;
    }
    return kPlain;
  }

  Verdict value(PyObject* value) {
    PyTypeObject* type = Py_TYPE(value);
    if (type == &PyUnicode_Type) return text(value);
    if (type == &PyLong_Type) return integer(value);
    if (type == &PyFloat_Type) return number(0xcb, std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(value)));
    if (value == Py_None) return byte(0xc0);
    if (type == &PyBool_Type) return byte(value == Py_True ? 0xc3 : 0xc2);
    if (type == &PyBytes_Type) return octets(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value));
    return kOther;
  }

  Verdict array(Py_ssize_t count) {
    if (count < 16) return byte(static_cast<std::uint8_t>(0x90 | count));
    if (count < 1 << 16) return number(0xdc, static_cast<std::uint16_t>(count));
    return fits_32_bits(count) ? number(0xdd, static_cast<std::uint32_t>(count)) : kOther;
  }

 private:
  static bool fits_32_bits(Py_ssize_t count) {
    return static_cast<std::size_t>(count) <= std::numeric_limits<std::uint32_t>::max();
  }

  Verdict items(PyObject* row) {
    const Py_ssize_t width = PyTuple_GET_SIZE(row);
    if (const Verdict verdict = array(width); verdict != kPlain) return verdict;
    for (Py_ssize_t position = 0; position < width; ++position) {
      if (const Verdict verdict = value(PyTuple_GET_ITEM(row, position)); verdict != kPlain) return verdict;
    }
    return kPlain;
  }

  Verdict byte(std::uint8_t code) {
    std::uint8_t* at = buffer_.take(1);
    if (at == nullptr) return kTooLarge;
    *at = code;
    return kPlain;
  }

  // A code and a number of fixed width, its highest byte first.
  template <std::unsigned_integral Number>
  Verdict number(std::uint8_t code, Number number) {
    std::uint8_t* at = buffer_.take(1 + sizeof(Number));
    if (at == nullptr) return kTooLarge;
    put(at, code, number);
    return kPlain;
  }

  template <std::unsigned_integral Number>
  static void put(std::uint8_t* at, std::uint8_t code, Number number) {
    *at = code;
    for (std::size_t index = 0; index < sizeof(Number); ++index) {
      at[1 + index] = static_cast<std::uint8_t>(number >> (8 * (sizeof(Number) - 1 - index)));
    }
  }

  Verdict integer(PyObject* value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) return number < 0 ? negative(number) : natural(static_cast<std::uint64_t>(number));
    if (overflow < 0) return kOther;
    const unsigned long long large = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() != nullptr) {  // more than 64 bits
      PyErr_Clear();
      return kOther;
    }
    return natural(large);
  }

  Verdict natural(std::uint64_t value) {
    if (value < 0x80) return byte(static_cast<std::uint8_t>(value));
    if (value <= 0xff) return number(0xcc, static_cast<std::uint8_t>(value));
    if (value <= 0xffff) return number(0xcd, static_cast<std::uint16_t>(value));
    if (value <= 0xffffffff) return number(0xce, static_cast<std::uint32_t>(value));
    return number(0xcf, value);
  }

  Verdict negative(std::int64_t value) {
    if (value >= -32) return byte(static_cast<std::uint8_t>(value));
    if (value >= std::numeric_limits<std::int8_t>::min()) return number(0xd0, static_cast<std::uint8_t>(value));
    if (value >= std::numeric_limits<std::int16_t>::min()) return number(0xd1, static_cast<std::uint16_t>(value));
    if (value >= std::numeric_limits<std::int32_t>::min()) return number(0xd2, static_cast<std::uint32_t>(value));
    return number(0xd3, static_cast<std::uint64_t>(value));
  }

  Verdict text(PyObject* value) {
    Py_ssize_t length = 0;
    const char* utf8 = nullptr;
    if (PyUnicode_IS_COMPACT_ASCII(value)) {
      utf8 = static_cast<const char*>(PyUnicode_DATA(value));
      length = PyUnicode_GET_LENGTH(value);
    } else {
      utf8 = PyUnicode_AsUTF8AndSize(value, &length);
      if (utf8 == nullptr) {  // a lone surrogate
        PyErr_Clear();
        return kOther;
      }
    }
    if (length < 32) return span(0, utf8, length, static_cast<std::uint8_t>(0xa0 | length));
    return sized(0xd9, utf8, length);
  }

  Verdict octets(const char* bytes, Py_ssize_t length) { return sized(0xc4, bytes, length); }

  // Bytes behind their length, which takes one, two or four bytes: each width has a code, in this order.
  Verdict sized(std::uint8_t code, const char* bytes, Py_ssize_t length) {
    if (length <= 0xff) return span(1, bytes, length, code);
    if (length <= 0xffff) return span(2, bytes, length, static_cast<std::uint8_t>(code + 1));
    return fits_32_bits(length) ? span(4, bytes, length, static_cast<std::uint8_t>(code + 2)) : kOther;
  }

  Verdict span(std::size_t length_bytes, const char* bytes, Py_ssize_t length, std::uint8_t code) {
    const auto count = static_cast<std::size_t>(length);
    std::uint8_t* at = buffer_.take(1 + length_bytes + count);
    if (at == nullptr) return kTooLarge;
    switch (length_bytes) {
      case 1: put(at, code, static_cast<std::uint8_t>(count)); break;
      case 2: put(at, code, static_cast<std::uint16_t>(count)); break;
      case 4: put(at, code, static_cast<std::uint32_t>(count)); break;
      default: *at = code;
    }
    std::memcpy(at + 1 + length_bytes, bytes, count);
    return kPlain;
  }

  EncodeBuffer& buffer_;
};

// What a TUPLES frame says: references that its caller holds. `runs` are the trees, `rows` a list.
struct TuplesFrame {
  PyObject *origin_ns, *sent_ns, *number, *runs, *rows;
  Py_ssize_t width;

  // The payload, in at most so many bytes.
  Verdict encode(EncodeBuffer& buffer, std::size_t most_bytes) const {
    buffer.restart(most_bytes);
    RowEncoder encoder(buffer);
    Verdict verdict = encoder.array(5);
    for (PyObject* stamp : {origin_ns, sent_ns, number}) {
      if (verdict == kPlain) verdict = encoder.value(stamp);
    }
    if (verdict == kPlain) verdict = encoder.runs(runs);
    if (verdict == kPlain) verdict = encoder.rows(rows, width);
    return verdict;
  }
};

}  // namespace penstock::bindings
