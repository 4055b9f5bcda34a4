// The payload of a TUPLES frame back into tuples in one pass; and the keys of tuples.
//
// What row_encoder.hpp writes is read here: arrays of None, bool, int in 64 bits, float, str and bytes. The first byte
// that says anything else ends the pass, and msgspec reads the frame from its beginning: it knows all of msgpack, and
// says what is wrong with what is none.
#pragma once

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace penstock::bindings {

namespace nb = nanobind;

// Short texts that came lately. Words, names and keys come again and again: the same object costs no memory, its hash
// is known, and a dict finds it without looking at its letters.
//
// Holds kEntries texts of up to kMostBytes letters and never more. Only ASCII: then the letters are the bytes.
class RecentTexts {
 public:
  static constexpr std::size_t kMostBytes = 32;

  RecentTexts() = default;
  RecentTexts(const RecentTexts&) = delete;
  RecentTexts& operator=(const RecentTexts&) = delete;
  ~RecentTexts() {
    if (texts_ == nullptr) return;
    for (std::size_t index = 0; index != kEntries; ++index) Py_XDECREF(texts_[index]);
  }

  // A new reference to the text of these bytes, of 1 to kMostBytes; nullptr with Python's error set if they are none.
  PyObject* get(const char* bytes, std::size_t size) {
    if (texts_ == nullptr) texts_.reset(new (std::nothrow) PyObject*[kEntries]());
    if (texts_ == nullptr) return PyErr_NoMemory();
    PyObject*& kept = texts_[hash(bytes, size) % kEntries];
    if (kept != nullptr && static_cast<std::size_t>(PyUnicode_GET_LENGTH(kept)) == size &&
        std::memcmp(PyUnicode_DATA(kept), bytes, size) == 0) {
      return Py_NewRef(kept);
    }
    PyObject* made = PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(size), nullptr);
    if (made != nullptr && PyUnicode_IS_COMPACT_ASCII(made)) Py_XSETREF(kept, Py_NewRef(made));
    return made;
  }

 private:
  static constexpr std::size_t kEntries = 4096;

  template <typename Word>
  static std::uint64_t load(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }

  // Two loads from either end, which overlap where the text is short: every byte is in one of them.
  static std::uint64_t hash(const char* bytes, std::size_t size) {
    std::uint64_t first = 0, last = 0;
    if (size >= 8) {
      first = load<std::uint64_t>(bytes);
      last = load<std::uint64_t>(bytes + size - 8);
      if (size > 16) {
        first ^= std::rotl(load<std::uint64_t>(bytes + 8), 23);
        last ^= std::rotl(load<std::uint64_t>(bytes + size - 16), 41);
      }
    } else if (size >= 4) {
      first = load<std::uint32_t>(bytes);
      last = load<std::uint32_t>(bytes + size - 4);
    } else {
      first = load<std::uint8_t>(bytes) << 8 | load<std::uint8_t>(bytes + size / 2);
      last = load<std::uint8_t>(bytes + size - 1);
    }
    const std::uint64_t mixed = (first ^ size) * 0x9e3779b97f4a7c15u ^ std::rotl(last * 0xc2b2ae3d27d4eb4fu, 29);
    return mixed ^ mixed >> 32;
  }

  std::unique_ptr<PyObject*[]> texts_;
};

// The class of a stream's tuples: what penstock.topology.tuples.tuple_class makes. A value of each field lies at a fixed
// offset in an object.
class TupleLayout {
 public:
  TupleLayout(nb::type_object made, nb::sequence fields) : type_(std::move(made)) {
    for (const nb::handle field : fields) offsets_.push_back(offset_of(field));
    if ((PyType_GetFlags(type()) & Py_TPFLAGS_HAVE_GC) != 0) throw nb::type_error("wanted a class without gc");
  }

  PyTypeObject* type() const { return reinterpret_cast<PyTypeObject*>(type_.ptr()); }
  std::size_t width() const { return offsets_.size(); }

  // An object with no value yet: each has to be put before anybody sees it.
  PyObject* make() const { return type()->tp_alloc(type(), 0); }
  PyObject*& at(PyObject* tuple, std::size_t position) const {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(tuple) + offsets_[position]);
  }

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(type_.ptr());
    return 0;
  }

 private:
  Py_ssize_t offset_of(nb::handle field) const {
    const nb::object slot = type_.attr("__dict__")[field];
    if (Py_TYPE(slot.ptr()) == &PyMemberDescr_Type) {
      const PyMemberDef& member = *reinterpret_cast<PyMemberDescrObject*>(slot.ptr())->d_member;
      if (member.type == T_OBJECT_EX) return member.offset;
    }
    throw nb::type_error("wanted a class whose fields are slots");
  }

  nb::type_object type_;
  std::vector<Py_ssize_t> offsets_;
};

// Reads values behind each other, and nothing behind their end. Each function gives a new reference; nullptr if what
// comes is not plain, perhaps with Python's error set.
class RowReader {
 public:
  RowReader(const std::byte* bytes, std::size_t size, RecentTexts& texts)
      : at_(reinterpret_cast<const std::uint8_t*>(bytes)), end_(at_ + size), texts_(texts) {}

  bool is_at_end() const { return at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  PyObject* value() {
    if (at_ == end_) return nullptr;
    const std::uint8_t code = *at_++;
    if (code < 0x80) return PyLong_FromLong(code);
    if (code >= 0xe0) return PyLong_FromLong(static_cast<std::int8_t>(code));
    if (code >= 0xa0 && code < 0xc0) return text(code & 0x1f);
    switch (code) {
      case 0xc0: return Py_NewRef(Py_None);
      case 0xc2: return Py_NewRef(Py_False);
      case 0xc3: return Py_NewRef(Py_True);
      case 0xc4: return octets(length<std::uint8_t>());
      case 0xc5: return octets(length<std::uint16_t>());
      case 0xc6: return octets(length<std::uint32_t>());
      case 0xcb: return floating();
      case 0xd9: return text(length<std::uint8_t>());
      case 0xda: return text(length<std::uint16_t>());
      case 0xdb: return text(length<std::uint32_t>());
      default: --at_; return integer();
    }
  }

  // An int, and nothing else.
  PyObject* integer() {
    if (at_ == end_) return nullptr;
    const std::uint8_t code = *at_++;
    if (code < 0x80) return PyLong_FromLong(code);
    if (code >= 0xe0) return PyLong_FromLong(static_cast<std::int8_t>(code));
    switch (code) {
      case 0xcc: return natural<std::uint8_t>();
      case 0xcd: return natural<std::uint16_t>();
      case 0xce: return natural<std::uint32_t>();
      case 0xcf: return natural<std::uint64_t>();
      case 0xd0: return whole<std::uint8_t, std::int8_t>();
      case 0xd1: return whole<std::uint16_t, std::int16_t>();
      case 0xd2: return whole<std::uint32_t, std::int32_t>();
      case 0xd3: return whole<std::uint64_t, std::int64_t>();
      default: return nullptr;
    }
  }

  // How many items an array has, each of which takes a byte at least; -1 if none comes.
  Py_ssize_t array() {
    if (at_ == end_) return -1;
    const std::uint8_t code = *at_++;
    std::size_t count = code & 0x0f;
    if (code == 0xdc) {
      count = length<std::uint16_t>();
    } else if (code == 0xdd) {
      count = length<std::uint32_t>();
    } else if ((code & 0xf0) != 0x90) {
      return -1;
    }
    return count <= left() ? static_cast<Py_ssize_t>(count) : -1;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);  // longer than anything that may be left

  template <std::unsigned_integral Number>
  bool read(Number& number) {
    if (left() < sizeof(Number)) return false;
    std::uint64_t gathered = 0;
    for (std::size_t index = 0; index != sizeof(Number); ++index) gathered = gathered << 8 | at_[index];
    number = static_cast<Number>(gathered);
    at_ += sizeof(Number);
    return true;
  }

  template <std::unsigned_integral Number>
  std::size_t length() {
    Number number = 0;
    return read(number) ? number : kNone;
  }

  template <std::unsigned_integral Number>
  PyObject* natural() {
    Number number = 0;
    return read(number) ? PyLong_FromUnsignedLongLong(number) : nullptr;
  }

  template <std::unsigned_integral Number, std::signed_integral Signed>
  PyObject* whole() {
    Number number = 0;
    return read(number) ? PyLong_FromLongLong(static_cast<Signed>(number)) : nullptr;
  }

  PyObject* floating() {
    std::uint64_t bits = 0;
    return read(bits) ? PyFloat_FromDouble(std::bit_cast<double>(bits)) : nullptr;
  }

  const char* take(std::size_t size) {
    if (size > left()) return nullptr;
    const char* bytes = reinterpret_cast<const char*>(at_);
    at_ += size;
    return bytes;
  }

  PyObject* octets(std::size_t size) {
    const char* bytes = take(size);
    return bytes == nullptr ? nullptr : PyBytes_FromStringAndSize(bytes, static_cast<Py_ssize_t>(size));
  }

  PyObject* text(std::size_t size) {
    const char* bytes = take(size);
    if (bytes == nullptr) return nullptr;
    if (size - 1 < RecentTexts::kMostBytes) return texts_.get(bytes, size);  // not the empty text: 0 - 1 wraps around
    return PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(size), nullptr);
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  RecentTexts& texts_;
};

// Reads the frames of one edge.
class TupleDecoder {
 public:
  // `other(payload)` reads what is not plain, and raises if it is nothing.
  TupleDecoder(nb::type_object made, nb::sequence fields, nb::object other)
      : layout_(std::move(made), std::move(fields)), other_(std::move(other)) {}

  // (origin_ns, sent_ns, frame, runs, tuples); not valid, without an error, if some of it is not plain. What comes next is
  // most often of the same kind: so after one that is not plain this is not tried for a while.
  nb::object decode_plain(const std::byte* payload, std::size_t size) {
    if (untried_ != 0) {
      --untried_;
      return {};
    }
    RowReader reader(payload, size, texts_);
    nb::object decoded = parts(reader);
    if (decoded.is_valid() && reader.is_at_end()) return decoded;
    PyErr_Clear();  // no UTF-8, or no memory: whoever reads it next will say so
    untried_ = kUntried;
    return {};
  }

  // What reads all others, from its beginning.
  const nb::object& other() const { return other_; }

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(other_.ptr());
    return layout_.traverse(visit, arg);
  }
  void clear() {}

 private:
  static constexpr Py_ssize_t kParts = 5;
  static constexpr unsigned kUntried = 15;

  nb::object parts(RowReader& reader) const {
    if (reader.array() != kParts) return {};
    nb::object decoded = nb::steal(PyTuple_New(kParts));
    for (Py_ssize_t part = 0; decoded.is_valid() && part != kParts; ++part) {
      PyObject* read = part < 3 ? reader.integer() : (part == 3 ? runs(reader) : tuples(reader)).release().ptr();
      if (read == nullptr) return {};
      PyTuple_SET_ITEM(decoded.ptr(), part, read);
    }
    return decoded;
  }

  // The trees: a list of pairs of numbers.
  static nb::object runs(RowReader& reader) {
    const Py_ssize_t count = reader.array();
    if (count < 0) return {};
    nb::object list = nb::steal(PyList_New(count));
    for (Py_ssize_t index = 0; list.is_valid() && index != count; ++index) {
      if (reader.array() != 2) return {};
      const nb::object root = nb::steal(reader.integer());
      const nb::object tuples = root.is_valid() ? nb::steal(reader.integer()) : nb::object();
      PyObject* run = tuples.is_valid() ? PyTuple_Pack(2, root.ptr(), tuples.ptr()) : nullptr;
      if (run == nullptr) return {};
      PyList_SET_ITEM(list.ptr(), index, run);
    }
    return list;
  }

  nb::object tuples(RowReader& reader) const {
    const Py_ssize_t count = reader.array();
    if (count < 0) return {};
    nb::object list = nb::steal(PyList_New(count));
    for (Py_ssize_t index = 0; list.is_valid() && index != count; ++index) {
      PyObject* tuple = this->tuple(reader);
      if (tuple == nullptr) return {};
      PyList_SET_ITEM(list.ptr(), index, tuple);
    }
    return list;
  }

  PyObject* tuple(RowReader& reader) const {
    const std::size_t width = layout_.width();
    if (reader.array() != static_cast<Py_ssize_t>(width)) return nullptr;
    PyObject* made = layout_.make();
    for (std::size_t position = 0; made != nullptr && position != width; ++position) {
      PyObject* value = reader.value();
      if (value == nullptr) {
        Py_CLEAR(made);  // those that have no value yet are nullptr
      } else {
        layout_.at(made, position) = value;
      }
    }
    return made;
  }

  TupleLayout layout_;
  nb::object other_;
  RecentTexts texts_;
  unsigned untried_ = 0;  // how many frames go to the other before this one is tried again
};

// Reads the keys of tuples of one class.
class KeyReader {
 public:
  // `canonical(keys)` gives the list of keys that stand for these, some of which are not plain.
  KeyReader(nb::type_object made, nb::sequence fields, nb::object canonical)
      : layout_(std::move(made), std::move(fields)), canonical_(std::move(canonical)) {
    if (layout_.width() == 0) throw nb::value_error("wanted a field at least");
  }

  // Of a single field its value, and else a tuple of them.
  nb::object read(nb::handle tuples) const {
    const nb::object all = nb::steal(PySequence_Fast(tuples.ptr(), "wanted a sequence of tuples"));
    if (!all.is_valid()) throw nb::python_error();
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(all.ptr());
    nb::object keys = nb::steal(PyList_New(count));
    if (!keys.is_valid()) throw nb::python_error();
    bool plain = true;
    for (Py_ssize_t index = 0; index != count; ++index) {
      PyObject* tuple = PySequence_Fast_GET_ITEM(all.ptr(), index);
      if (Py_TYPE(tuple) != layout_.type()) throw nb::type_error("a tuple of another stream");
      PyList_SET_ITEM(keys.ptr(), index, key(tuple, plain));
    }
    return plain ? keys : canonical_(keys);
  }

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(canonical_.ptr());
    return layout_.traverse(visit, arg);
  }
  void clear() {}

 private:
  PyObject* key(PyObject* tuple, bool& plain) const {
    const std::size_t width = layout_.width();
    if (width == 1) return Py_NewRef(noted(layout_.at(tuple, 0), plain));
    PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(width));
    if (made == nullptr) throw nb::python_error();
    for (std::size_t position = 0; position != width; ++position) {
      PyObject* value = noted(layout_.at(tuple, position), plain);
      PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(position), Py_NewRef(value));
    }
    return made;
  }

  // The same, once it is noted whether it is of a class whose values are keys as they are: see canonical_key.py.
  static PyObject* noted(PyObject* value, bool& plain) {
    PyTypeObject* type = Py_TYPE(value);
    plain = plain && (type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBool_Type ||
                      type == &PyBytes_Type || value == Py_None);
    return value;
  }

  TupleLayout layout_;
  nb::object canonical_;
};

}  // namespace penstock::bindings
