// SPDX-License-Identifier: Apache-2.0
// A log-linear ("HDR") histogram of latencies in nanoseconds.
//
// With b = significant_bits, values below 2^(b+1) have a bucket each; above, every power of two is cut into
// 2^b equal buckets, so a bucket from `low` on is at most low / 2^b wide. That is the ERROR BOUND: the high
// end r of the bucket of a value v <= highest_ns satisfies v <= r and r - v < v / 2^b (b = 7: 0.78125 %),
// and r == v if v < 2^(b+1). A value above highest_ns is counted in the last bucket and as `saturated`: none
// disappears. count, min, max and mean are exact, of the values as given.
//
// The state is one plain array of words that somebody else owns. It holds no pointer, length or index, and
// all zeros is the empty histogram: it may live in shared memory, straight from a fresh mapping, and what a
// corrupt peer writes there spoils figures but never an address. One writer, no atomics: before anybody reads
// it from another thread or process while it is written, make the accesses relaxed std::atomic_ref.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace penstock {

// How values map to buckets. Private to the process, so that no index depends on a shared word.
struct HistogramShape {
    std::uint64_t significant_bits;
    std::uint64_t highest_ns;

    HistogramShape(std::uint64_t bits, std::uint64_t highest) : significant_bits(bits), highest_ns(highest) {
        if (bits < 1 || bits > 14 || highest < 1)  // 14 bits up to 2^64 - 1 are 6.7 MB of buckets: enough
            throw std::invalid_argument("Histogram: wanted significant_bits in 1..14, highest_ns >= 1, got " +
                                        text());
    }

    bool operator==(const HistogramShape&) const = default;

    std::string text() const {
        return "significant_bits=" + std::to_string(significant_bits) +
               " highest_ns=" + std::to_string(highest_ns);
    }

    // Or-ing bit b in makes a small value look like one of the first cut octave: the linear part needs no
    // branch. Bucket numbers then run on without gaps, as octave number `shift` adds v >> shift >= 2^b.
    std::size_t bucket_of(std::uint64_t value) const noexcept {
        const std::uint64_t v = std::min(value, highest_ns);
        const std::uint64_t not_small = v | (std::uint64_t{1} << significant_bits);
        const auto octave = static_cast<std::uint64_t>(std::bit_width(not_small)) - 1;
        const std::uint64_t shift = octave - significant_bits;
        return (shift << significant_bits) + (v >> shift);
    }

    std::size_t bucket_count() const noexcept { return bucket_of(highest_ns) + 1; }

    std::uint64_t low_of(std::size_t bucket) const noexcept {
        return (bucket - (shift_of(bucket) << significant_bits)) << shift_of(bucket);
    }

    std::uint64_t high_of(std::size_t bucket) const noexcept {
        return std::min(low_of(bucket) + ((std::uint64_t{1} << shift_of(bucket)) - 1), highest_ns);
    }

private:
    std::uint64_t shift_of(std::size_t bucket) const noexcept {
        return std::max<std::uint64_t>(bucket >> significant_bits, 1) - 1;
    }
};

class Histogram {
public:
    using Word = std::uint64_t;

    static std::size_t word_count(const HistogramShape& shape) { return kFirstBucket + shape.bucket_count(); }

    // `words`: word_count(shape) of them, outliving this object, zeroed or left by a histogram of that shape
    Histogram(const HistogramShape& shape, Word* words) noexcept : shape_(shape), words_(words) {}

    void record(Word value, Word count = 1) {
        // One test for two rare cases: 0 - 1 wraps to the largest word, which no room exceeds.
        if (count - 1 >= ~words_[kCount]) [[unlikely]] {
            if (count == 0) return;
            require_room(count);
        }
        words_[kFirstBucket + shape_.bucket_of(value)] += count;
        words_[kCount] += count;
        words_[kSaturated] += value > shape_.highest_ns ? count : 0;
        words_[kNotMin] = std::max(words_[kNotMin], ~value);
        words_[kMax] = std::max(words_[kMax], value);
        set_sum(sum() + static_cast<Wide>(value) * count);  // fits: all counts together are < 2^64
    }

    // Throws unless `more` values can still be counted: a caller with many asks once, before the first.
    void require_room(Word more) const {
        if (more > ~count())
            throw std::overflow_error("Histogram: wanted at most 2**64 - 1 values in all, got " +
                                      std::to_string(count()) + " + " + std::to_string(more));
    }

    void merge(const Histogram& other) {
        if (!(shape_ == other.shape_))
            throw std::invalid_argument("Histogram.merge: wanted the same shape, " + shape_.text() +
                                        ", got " + other.shape_.text());
        require_room(other.count());
        set_sum(sum() + other.sum());
        words_[kNotMin] = std::max(words_[kNotMin], other.words_[kNotMin]);
        words_[kMax] = std::max(words_[kMax], other.words_[kMax]);
        words_[kSaturated] += other.words_[kSaturated];
        words_[kCount] += other.words_[kCount];
        for (std::size_t i = kFirstBucket; i < word_count(shape_); ++i) words_[i] += other.words_[i];
    }

    void reset() noexcept { std::fill_n(words_, word_count(shape_), 0); }

    // The smallest recorded value v such that at least p % of the values are <= v, that is the one of rank
    // ceil(p / 100 * count), or of rank 1 if p is 0. It is reported as the highest value equivalent to it, as
    // HDR does: the end of its bucket, or max if that is lower. Saturated values are reported as highest_ns.
    Word percentile(double p) const {
        if (!(p >= 0 && p <= 100))
            throw std::invalid_argument("Histogram.percentile: wanted 0 to 100, got " + std::to_string(p));
        require_values("percentile");
        // 0.07 * 10000 / 100 is 7.000000000000001 in doubles, of rank 8. Starting one step below the p that
        // was written, no rounding carries the share above the whole number it should be (count < 2^46).
        const double share = std::ceil(std::nextafter(p, 0.0) * static_cast<double>(count()) / 100);
        const Word rank = p == 100 ? count() : std::max<Word>(1, static_cast<Word>(share));
        std::size_t bucket = 0;
        Word seen = count_in(0);
        while (seen < rank && bucket + 1 < shape_.bucket_count()) seen += count_in(++bucket);
        return std::min(shape_.high_of(bucket), words_[kMax]);
    }

    Word min() const { return require_values("min"), ~words_[kNotMin]; }
    Word max() const { return require_values("max"), words_[kMax]; }
    double mean() const {
        return require_values("mean"), static_cast<double>(sum()) / static_cast<double>(count());
    }
    Word count() const noexcept { return words_[kCount]; }
    Word saturated() const noexcept { return words_[kSaturated]; }
    Word count_in(std::size_t bucket) const noexcept { return words_[kFirstBucket + bucket]; }
    const HistogramShape& shape() const noexcept { return shape_; }

    // The whole state, to be copied, sent and stored. Foreign words are to be checked with is_consistent().
    std::span<Word> words() noexcept { return {words_, word_count(shape_)}; }
    std::span<const Word> words() const noexcept { return {words_, word_count(shape_)}; }

    // Whether some sequence of records could have left these words (of the sum only the bounds are checked).
    bool is_consistent() const noexcept {
        Wide counted = 0;
        for (std::size_t i = 0; i < shape_.bucket_count(); ++i) counted += count_in(i);
        if (counted != count()) return false;
        const Word low = ~words_[kNotMin], high = words_[kMax];
        if (counted == 0) return saturated() == 0 && words_[kNotMin] == 0 && high == 0 && sum() == 0;
        std::size_t first = 0, last = shape_.bucket_count() - 1;
        while (count_in(first) == 0) ++first;
        while (count_in(last) == 0) --last;
        return shape_.bucket_of(low) == first && shape_.bucket_of(high) == last &&
               saturated() <= count_in(last) && (saturated() > 0) == (high > shape_.highest_ns) &&
               (saturated() == count()) == (low > shape_.highest_ns) &&
               sum() >= low * counted && sum() <= high * counted;  // and so low <= high
    }

private:
    __extension__ using Wide = unsigned __int128;

    // kNotMin holds ~min, so that zero means "none yet" and max() keeps both extremes.
    enum Field : std::size_t { kCount, kSaturated, kNotMin, kMax, kSumLow, kSumHigh, kFirstBucket };

    Wide sum() const noexcept { return static_cast<Wide>(words_[kSumHigh]) << 64 | words_[kSumLow]; }
    void set_sum(Wide sum) noexcept {
        words_[kSumLow] = static_cast<Word>(sum);
        words_[kSumHigh] = static_cast<Word>(sum >> 64);
    }

    void require_values(const char* asked) const {
        if (count() == 0)
            throw std::invalid_argument(std::string("Histogram.") + asked +
                                        ": wanted a recorded value, got none");
    }

    HistogramShape shape_;
    Word* words_;
};

}  // namespace penstock
