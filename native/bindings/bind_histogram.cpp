// SPDX-License-Identifier: Apache-2.0
// penstock._native.Histogram: the core of penstock/histogram.hpp with its words on the heap, and a byte form.
//
// Every call holds the interpreter lock, record_many too: that lock is what makes the one-writer rule of the
// core true for Python threads, and a million values take a few milliseconds.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "owned_histogram.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;

// The byte form: kMagic; LEB128 numbers: significant_bits, highest_ns, then for each word that is not zero
// how many zeros precede it and its value; the FNV-1a hash of all that, little-endian. FNV-1a steps are
// bijections, so that no change of a single byte goes unseen. Equal histograms have equal bytes. No Python in
// this part.

constexpr std::string_view kMagic{"PSH\x01", 4};  // the last byte is the version
constexpr std::size_t kHashBytes = 8;

[[noreturn]] void refuse(const std::string& wanted, const std::string& got) {
    throw std::invalid_argument("Histogram.from_bytes: wanted " + wanted + ", got " + got);
}

std::uint64_t hash_of(std::string_view bytes) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    return hash;
}

void put(std::string& out, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
    out.push_back(static_cast<char>(number));
}

std::uint64_t take(std::string_view& rest) {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
        const std::uint64_t byte = static_cast<unsigned char>(rest.front());
        rest.remove_prefix(1);
        number |= (byte & 0x7f) << shift;
        if (shift == 63 && byte > 1) break;  // more than 64 bits
        if (shift > 0 && byte == 0) break;   // the long form of a shorter number: bytes would not be unique
        if (byte < 0x80) return number;
    }
    refuse("whole numbers below 2**64 in shortest form", "one that is cut, too large or too long");
}

std::string encode(const Histogram& histogram) {
    std::string out(kMagic);
    put(out, histogram.shape().significant_bits);
    put(out, histogram.shape().highest_ns);
    std::uint64_t zeros = 0;
    for (const std::uint64_t word : histogram.words()) {
        if (word == 0) {
            ++zeros;
            continue;
        }
        put(out, zeros);
        put(out, word);
        zeros = 0;
    }
    for (std::uint64_t hash = hash_of(out), i = 0; i < kHashBytes; ++i, hash >>= 8)
        out.push_back(static_cast<char>(hash));
    return out;
}

// Checks magic, version and hash, and returns what is between them.
std::string_view body_of(std::string_view bytes) {
    if (bytes.size() < kMagic.size() + kHashBytes) {
        refuse("at least " + std::to_string(kMagic.size() + kHashBytes) + " bytes",
               std::to_string(bytes.size()));
    }
    if (bytes.substr(0, 3) != kMagic.substr(0, 3)) refuse("bytes that start with PSH", "others");
    if (bytes[3] != kMagic[3]) refuse("version 1", std::to_string(static_cast<unsigned char>(bytes[3])));
    const std::string_view hashed = bytes.substr(0, bytes.size() - kHashBytes);
    std::uint64_t hash = 0;
    for (std::size_t i = bytes.size(); i > hashed.size();)
        hash = hash << 8 | static_cast<unsigned char>(bytes[--i]);
    if (hash != hash_of(hashed)) refuse("hash " + std::to_string(hash_of(hashed)), std::to_string(hash));
    return hashed.substr(kMagic.size());
}

HistogramShape take_shape(std::string_view& rest) {
    const std::uint64_t bits = take(rest);
    return {bits, take(rest)};
}

// Fills an empty histogram with the numbers after the shape, trusting none of them.
void take_words(std::string_view rest, Histogram& histogram) {
    const std::span<std::uint64_t> words = histogram.words();
    for (std::size_t next = 0; !rest.empty(); ++next) {
        const std::uint64_t zeros = take(rest);
        if (zeros >= words.size() - next) {
            refuse("words up to number " + std::to_string(words.size()) + " for " + histogram.shape().text(),
                   std::to_string(zeros) + " zeros after number " + std::to_string(next));
        }
        next += zeros;
        words[next] = take(rest);
        if (words[next] == 0)
            refuse("words that are not zero", "a zero as number " + std::to_string(next + 1));
    }
    if (!histogram.is_consistent()) refuse("totals that agree with the buckets", "others");
}

// A Python buffer, held as long as this object lives.
class Buffer {
public:
    Buffer(nb::handle exporter, int flags) {
        if (PyObject_GetBuffer(exporter.ptr(), &view, flags) != 0) throw nb::python_error();
    }
    ~Buffer() { PyBuffer_Release(&view); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    Py_buffer view;
};

// nanobind would answer a negative number with "incompatible arguments"; this names it. Not for floats.
std::uint64_t to_word(nb::handle number, const char* name) {
    const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    const std::uint64_t word = PyLong_AsUnsignedLongLong(index.ptr());
    if (word == ~std::uint64_t{0} && PyErr_Occurred()) {
        PyErr_Clear();
        const std::string text =
            std::string("Histogram: wanted ") + name + " in 0..2**64 - 1, got " + nb::str(index).c_str();
        throw nb::value_error(text.c_str());
    }
    return word;
}

enum class Items { kSigned, kUnsigned };

Items items_of(const Py_buffer& view) {
    std::string_view format = view.format == nullptr ? "B" : view.format;
    const std::string given(format);
    constexpr char kNativeOrder = std::endian::native == std::endian::little ? '<' : '>';
    if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == kNativeOrder))
        format.remove_prefix(1);
    if (view.itemsize == 8 && (format == "q" || format == "l")) return Items::kSigned;
    if (view.itemsize == 8 && (format == "Q" || format == "L")) return Items::kUnsigned;
    const std::string text =
        "Histogram.record_many: wanted a buffer of int64 or uint64 in native byte order, got format '" +
        given + "' of " + std::to_string(view.itemsize) + " bytes";
    throw nb::type_error(text.c_str());
}

void record_many(OwnedHistogram& self, nb::handle values_ns) {
    const Buffer buffer(values_ns, PyBUF_FULL_RO);
    const Items items = items_of(buffer.view);
    if (!PyBuffer_IsContiguous(&buffer.view, 'C')) {
        throw nb::value_error("Histogram.record_many: wanted a contiguous buffer, got one with gaps");
    }
    // memcpy, as a buffer need not be aligned; it compiles to one load.
    const auto* bytes = static_cast<const char*>(buffer.view.buf);
    const auto value_at = [bytes](std::size_t i) {
        std::uint64_t value;
        std::memcpy(&value, bytes + 8 * i, 8);
        return value;
    };
    // All is checked before anything is recorded: all values or none.
    const auto count = static_cast<std::size_t>(buffer.view.len) / 8;
    for (std::size_t i = 0; items == Items::kSigned && i < count; ++i) {
        if (const auto value = static_cast<std::int64_t>(value_at(i)); value < 0) {
            const std::string text = "Histogram.record_many: wanted values of at least 0, got " +
                                     std::to_string(value) + " at index " + std::to_string(i);
            throw nb::value_error(text.c_str());
        }
    }
    self.core.require_room(count);
    for (std::size_t i = 0; i < count; ++i) self.core.record(value_at(i));
}

OwnedHistogram copy(const OwnedHistogram& self) {
    OwnedHistogram twin(self.core.shape());
    std::ranges::copy(self.core.words(), twin.words.get());
    return twin;
}

nb::bytes to_bytes(const OwnedHistogram& self) {
    const std::string bytes = encode(self.core);
    return nb::bytes(bytes.data(), bytes.size());
}

OwnedHistogram from_bytes(nb::handle data) {
    const Buffer buffer(data, PyBUF_SIMPLE);
    std::string_view rest =
        body_of({static_cast<const char*>(buffer.view.buf), static_cast<std::size_t>(buffer.view.len)});
    OwnedHistogram histogram(take_shape(rest));
    take_words(rest, histogram.core);
    return histogram;
}

nb::list buckets(const OwnedHistogram& self) {
    nb::list used;
    const HistogramShape& shape = self.core.shape();
    for (std::size_t bucket = 0; bucket < shape.bucket_count(); ++bucket) {
        if (const std::uint64_t count = self.core.count_in(bucket); count > 0) {
            used.append(nb::make_tuple(shape.low_of(bucket), shape.high_of(bucket), count));
        }
    }
    return used;
}

std::string repr(const OwnedHistogram& self) {
    return "<Histogram " + self.core.shape().text() + " count=" + std::to_string(self.core.count()) +
           " saturated=" + std::to_string(self.core.saturated()) + ">";
}

}  // namespace

void bind_histogram(nb::module_& m) {
    nb::class_<OwnedHistogram>(
        m, "Histogram",
        "A log-linear (HDR) histogram of latencies in nanoseconds.\n\n"
        "Reported values are never below the true one and less than 1 / 2**significant_bits\n"
        "of it above; count, min, max and mean are exact. Values above highest_ns are counted\n"
        "in the last bucket and as saturated.")
        .def(
            "__init__",
            [](OwnedHistogram* self, nb::handle significant_bits, nb::handle highest_ns) {
                const HistogramShape shape(to_word(significant_bits, "significant_bits"),
                                           to_word(highest_ns, "highest_ns"));
                new (self) OwnedHistogram(shape);
            },
            nb::kw_only(), "significant_bits"_a = 7, "highest_ns"_a = kHourNs,
            nb::sig(
                "def __init__(self, *, significant_bits: int = 7, highest_ns: int = 3600000000000) -> None"))
        .def(
            "record",
            [](OwnedHistogram& self, nb::handle value_ns, nb::handle count) {
                self.core.record(to_word(value_ns, "value_ns"), to_word(count, "count"));
            },
            "value_ns"_a, "count"_a = 1, nb::sig("def record(self, value_ns: int, count: int = 1) -> None"),
            "Count the value, as if it were recorded `count` times.")
        .def("record_many", &record_many, "values_ns"_a,
             nb::sig("def record_many(self, values_ns: collections.abc.Buffer) -> None"),
             "Record a contiguous buffer of int64 or uint64, all of it or, if it is refused, nothing.")
        .def(
            "percentile", [](const OwnedHistogram& self, double p) { return self.core.percentile(p); }, "p"_a,
            "The smallest recorded value v with at least p % of the values <= v, as the highest value "
            "equivalent to it.")
        .def(
            "merge", [](OwnedHistogram& self, const OwnedHistogram& other) { self.core.merge(other.core); },
            "other"_a, "Add all that `other` has counted; its shape must be the same.")
        .def(
            "reset", [](OwnedHistogram& self) { self.core.reset(); },
            "Forget everything recorded; keep the shape.")
        .def("copy", &copy, "An independent histogram with the same content.")
        .def("to_bytes", &to_bytes, "A compact, versioned form; equal histograms have equal bytes.")
        .def_static("from_bytes", &from_bytes, "data"_a,
                    nb::sig("def from_bytes(data: collections.abc.Buffer) -> Histogram"),
                    "The histogram that to_bytes() wrote; ValueError if these are not such bytes.")
        .def("buckets", &buckets, nb::sig("def buckets(self) -> list[tuple[int, int, int]]"),
             "The buckets in use, ascending: (lowest value, highest value, count).")
        .def_prop_ro(
            "count", [](const OwnedHistogram& self) { return self.core.count(); }, "How many values.")
        .def_prop_ro(
            "saturated", [](const OwnedHistogram& self) { return self.core.saturated(); },
            "How many of them were above highest_ns.")
        .def_prop_ro(
            "min", [](const OwnedHistogram& self) { return self.core.min(); }, "Smallest value, exactly.")
        .def_prop_ro(
            "max", [](const OwnedHistogram& self) { return self.core.max(); }, "Largest value, exactly.")
        .def_prop_ro(
            "mean", [](const OwnedHistogram& self) { return self.core.mean(); },
            "Mean of the values as given.")
        .def_prop_ro(
            "significant_bits", [](const OwnedHistogram& self) { return self.core.shape().significant_bits; },
            "Every power of two has 2**significant_bits buckets.")
        .def_prop_ro(
            "highest_ns", [](const OwnedHistogram& self) { return self.core.shape().highest_ns; },
            "The highest value that is told apart from larger ones.")
        .def("__repr__", &repr);
}

}  // namespace penstock::bindings
