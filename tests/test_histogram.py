# SPDX-License-Identifier: Apache-2.0
"""The native latency histogram, against sorted lists and against the reference implementation of HDR."""

from __future__ import annotations

from array import array
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from penstock._native import Histogram
from tests.tries import tried

HOUR_NS = 3_600_000_000_000
WORD_MAX = 2**64 - 1

# Every magnitude equally often, unlike st.integers, which would hardly try a latency of a microsecond.
trackable = st.integers(0, 41).flatmap(lambda bits: st.integers(0, 2**bits))
anything = st.one_of(trackable, st.integers(0, WORD_MAX))
samples = st.lists(trackable, min_size=1, max_size=200)
percents = st.decimals(0, 100, places=3)


def histogram_of(values: list[int], **shape: int) -> Histogram:
    """Record one by one."""
    histogram = Histogram(**shape)
    for value in values:
        histogram.record(value)
    return histogram


def exact_percentile(values: list[int], percent: Fraction) -> int:
    """The smallest value such that at least `percent` % of the values are not larger."""
    rank = max(1, ceil(percent * len(values) / 100))
    return sorted(values)[rank - 1]


@given(samples, percents, st.integers(1, 14))
def test_percentile_is_within_the_stated_bound_of_the_exact_one(values: list[int], percent: Decimal, bits: int) -> None:
    exact = exact_percentile(values, Fraction(percent))
    reported = histogram_of(values, significant_bits=bits).percentile(float(percent))
    assert 0 <= (reported - exact) * 2**bits <= max(0, exact - 1)
    if exact < 2 ** (bits + 1):
        assert reported == exact


@pytest.mark.parametrize(("bits", "digits"), [(7, 2), (10, 3)])
@tried(30)  # the reference takes long
@given(values=samples, data=st.data())
def test_percentile_equals_the_reference_of_the_same_precision(
    bits: int, digits: int, values: list[int], data: st.DataObject
) -> None:
    reference = HdrHistogram(1, HOUR_NS, digits)
    for value in values:
        assert reference.record_value(value)
    # The reference rounds the rank to the nearest, we round it up: the same where it is a whole number.
    percent = 100 * data.draw(st.integers(1, len(values))) / len(values)
    histogram = histogram_of(values, significant_bits=bits)
    assert histogram.percentile(percent) == min(reference.get_value_at_percentile(percent), max(values))
    assert histogram.count == reference.get_total_count()
    assert histogram.mean == pytest.approx(reference.get_mean_value(), rel=2**-bits, abs=1)


@given(value=trackable)
def test_buckets_are_those_of_the_reference(value: int) -> None:
    reference = HdrHistogram(1, HOUR_NS, 2)
    low, high = reference.get_lowest_equivalent_value(value), reference.get_highest_equivalent_value(value)
    assert histogram_of([value]).buckets() == [(low, min(high, HOUR_NS), 1)]


def test_percentile_takes_the_decimal_number_that_was_written() -> None:
    histogram = Histogram(significant_bits=14)
    histogram.record_many(array("q", range(1, 10_001)))
    ranks = {0: 1, 0.01: 1, 0.07: 7, 2.74: 274, 50: 5000, 99.9: 9990, 99.995: 10_000, 100: 10_000}
    assert {percent: histogram.percentile(percent) for percent in ranks} == ranks


def test_percentile_100_is_the_last_value_even_of_very_many() -> None:
    histogram = Histogram()
    histogram.record(1, 2**63)
    histogram.record(5)
    assert (histogram.percentile(99.999), histogram.percentile(100)) == (1, 5)


@pytest.mark.parametrize("percent", [-0.001, 100.001, float("nan"), float("inf")])
def test_percentile_outside_of_0_to_100_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="wanted 0 to 100, got"):
        histogram_of([1]).percentile(percent)


@given(st.lists(anything, min_size=1, max_size=50))
def test_totals_are_exact(values: list[int]) -> None:
    histogram = histogram_of(values)
    assert (histogram.count, histogram.min, histogram.max) == (len(values), min(values), max(values))
    assert histogram.mean == pytest.approx(sum(values) / len(values), rel=1e-15)
    assert histogram.saturated == sum(value > HOUR_NS for value in values)


@given(st.lists(anything, max_size=50), st.integers(1, 14), st.integers(1, WORD_MAX))
def test_buckets_hold_every_value_and_do_not_overlap(values: list[int], bits: int, highest_ns: int) -> None:
    buckets = histogram_of(values, significant_bits=bits, highest_ns=highest_ns).buckets()
    assert sum(count for _, _, count in buckets) == len(values)
    assert all(low <= high for low, high, _ in buckets)
    assert all(before[1] < after[0] for before, after in pairwise(buckets))
    for low, high, count in buckets:
        assert (high - low) * 2**bits <= low
        assert count == sum(low <= min(value, highest_ns) <= high for value in values)


@given(st.integers(1, WORD_MAX - 1), st.data())
def test_values_above_the_highest_are_clamped_and_counted(highest_ns: int, data: st.DataObject) -> None:
    above = data.draw(st.integers(highest_ns + 1, WORD_MAX))
    histogram = histogram_of([0, above, highest_ns], highest_ns=highest_ns)
    assert (histogram.count, histogram.saturated) == (3, 1)
    assert (histogram.percentile(100), histogram.max) == (highest_ns, above)
    assert histogram.buckets()[-1][1:] == (highest_ns, 2)


def test_an_empty_histogram_has_neither_extremes_nor_percentiles() -> None:
    for ask in ("min", "max", "mean", "percentile"):
        with pytest.raises(ValueError, match=rf"Histogram\.{ask}: wanted a recorded value, got none"):
            Histogram().percentile(50) if ask == "percentile" else getattr(Histogram(), ask)
    assert (Histogram().count, Histogram().saturated, Histogram().buckets()) == (0, 0, [])


@given(anything, st.integers(0, 100))
def test_a_count_is_so_many_records(value: int, count: int) -> None:
    histogram = Histogram()
    histogram.record(value, count)
    assert histogram.to_bytes() == histogram_of([value] * count).to_bytes()


@given(st.lists(st.integers(0, 2**63 - 1)), st.sampled_from("qQlL"))
def test_record_many_is_record_for_each(values: list[int], typecode: str) -> None:
    histogram = Histogram()
    histogram.record_many(array(typecode, values))
    assert histogram.to_bytes() == histogram_of(values).to_bytes()


def test_record_many_takes_unsigned_unaligned_and_many_dimensional_buffers() -> None:
    values = [0, 5, WORD_MAX]
    wanted = histogram_of(values).to_bytes()
    unaligned = memoryview(b"-" + array("Q", values).tobytes())[1:].cast("Q")
    for buffer in (unaligned, array("Q", values), memoryview(array("Q", values)).cast("B").cast("Q", (3, 1))):
        histogram = Histogram()
        histogram.record_many(buffer)
        assert histogram.to_bytes() == wanted


def test_record_many_takes_numpy_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    for dtype in ("int64", "uint64", "<i8"):
        histogram = Histogram()
        histogram.record_many(numpy.arange(10, dtype=dtype))
        assert histogram.to_bytes() == histogram_of(list(range(10))).to_bytes()
    with pytest.raises(TypeError, match="wanted a buffer of int64 or uint64 in native byte order, got"):
        Histogram().record_many(numpy.arange(10, dtype=">i8"))


def test_negative_values_are_refused_by_name_and_leave_nothing_behind() -> None:
    histogram = Histogram()
    with pytest.raises(ValueError, match=r"wanted value_ns in 0\.\.2\*\*64 - 1, got -5"):
        histogram.record(-5)
    with pytest.raises(ValueError, match=r"wanted count in 0\.\.2\*\*64 - 1, got -1"):
        histogram.record(5, -1)
    with pytest.raises(ValueError, match=r"wanted value_ns in .*, got 18446744073709551616"):
        histogram.record(2**64)
    with pytest.raises(ValueError, match="wanted values of at least 0, got -7 at index 2"):
        histogram.record_many(array("q", [1, 2, -7, 3]))
    assert histogram.to_bytes() == Histogram().to_bytes()


@pytest.mark.parametrize("wrong", [1.5, "1", None])
def test_values_that_are_not_whole_numbers_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError):
        Histogram().record(wrong)


def test_record_many_refuses_other_buffers() -> None:
    for wrong in (b"12345678", array("d", [1.0]), array("i", [1])):
        with pytest.raises(TypeError, match=r"wanted a buffer of int64 or uint64 .*, got format"):
            Histogram().record_many(wrong)
    with pytest.raises(ValueError, match="wanted a contiguous buffer, got one with gaps"):
        Histogram().record_many(memoryview(array("q", [1, 2, 3]))[::2])
    with pytest.raises(TypeError):
        Histogram().record_many([1, 2, 3])  # type: ignore[arg-type]


def test_more_values_than_a_word_counts_are_refused_and_leave_all_as_it_was() -> None:
    histogram = Histogram()
    histogram.record(WORD_MAX, WORD_MAX - 1)
    before = histogram.to_bytes()
    wanted = r"wanted at most 2\*\*64 - 1 values in all, got 18446744073709551614 \+ 2"
    with pytest.raises(OverflowError, match=wanted):
        histogram.record(1, 2)
    with pytest.raises(OverflowError, match=wanted):
        histogram.record_many(array("q", [1, 1]))
    with pytest.raises(OverflowError, match=wanted):
        histogram.merge(histogram_of([1, 1]))
    assert histogram.to_bytes() == before
    histogram.record(WORD_MAX)
    assert histogram.count == WORD_MAX
    assert histogram.mean == pytest.approx(WORD_MAX)


@pytest.mark.parametrize(
    ("name", "value"),
    [("significant_bits", 0), ("significant_bits", 15), ("highest_ns", 0), ("highest_ns", -1)],
)
def test_impossible_shapes_are_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"wanted .*{name}.*, got .*{value}"):
        Histogram(**{name: value})


@given(st.lists(anything), st.lists(anything), st.lists(anything))
def test_merging_is_recording_everything_in_one(first: list[int], second: list[int], third: list[int]) -> None:
    def merged(*parts: Histogram) -> Histogram:
        whole = Histogram()
        for part in parts:
            whole.merge(part)
        return whole

    a, b, c = histogram_of(first), histogram_of(second), histogram_of(third)
    everything = histogram_of(first + second + third).to_bytes()
    assert merged(a, b, c).to_bytes() == merged(c, b, a).to_bytes() == everything
    assert merged(merged(a, b), c).to_bytes() == merged(a, merged(b, c)).to_bytes() == everything


@given(st.lists(anything))
def test_merging_with_itself_doubles(values: list[int]) -> None:
    histogram = histogram_of(values)
    histogram.merge(histogram)
    assert histogram.to_bytes() == histogram_of(values * 2).to_bytes()


@pytest.mark.parametrize("other", [{"significant_bits": 8}, {"highest_ns": HOUR_NS + 1}])
def test_merge_refuses_another_shape(other: dict[str, int]) -> None:
    wanted = f"significant_bits=7 highest_ns={HOUR_NS}"
    got = f"significant_bits={other.get('significant_bits', 7)} highest_ns={other.get('highest_ns', HOUR_NS)}"
    with pytest.raises(ValueError, match=f"wanted the same shape, {wanted}, got {got}"):
        Histogram().merge(Histogram(**other))


def test_a_copy_is_independent() -> None:
    histogram = histogram_of([1, 2, 3])
    twin = histogram.copy()
    histogram.record(4)
    assert twin.to_bytes() == histogram_of([1, 2, 3]).to_bytes()


@given(st.lists(anything))
def test_reset_makes_it_new(values: list[int]) -> None:
    histogram = histogram_of(values, significant_bits=3)
    histogram.reset()
    assert histogram.to_bytes() == Histogram(significant_bits=3).to_bytes()


def sealed(body: bytes, magic: bytes = b"PSH\x01") -> bytes:
    """Give any content the frame and the hash of a valid one."""
    framed = magic + body
    hash_ = 0xCBF29CE484222325
    for byte in framed:
        hash_ = (hash_ ^ byte) * 0x100000001B3 % 2**64
    return framed + hash_.to_bytes(8, "little")


def numbers(*values: int) -> bytes:
    """Encode as LEB128."""
    out = bytearray()
    for value in values:
        rest = value
        while rest >= 0x80:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out)


@given(st.lists(anything), st.integers(1, 14), st.integers(1, WORD_MAX))
def test_bytes_come_back_as_the_same_histogram(values: list[int], bits: int, highest_ns: int) -> None:
    histogram = histogram_of(values, significant_bits=bits, highest_ns=highest_ns)
    data = histogram.to_bytes()
    for form in (data, bytearray(data), memoryview(data)):
        back = Histogram.from_bytes(form)
        assert (back.significant_bits, back.highest_ns) == (bits, highest_ns)
        assert back.buckets() == histogram.buckets()
        assert back.to_bytes() == data


def test_bytes_are_compact() -> None:
    histogram = Histogram()
    histogram.record_many(array("q", range(10_000, 20_000)))
    assert len(histogram.to_bytes()) < 50 + 3 * len(histogram.buckets())


@given(samples, st.data())
def test_every_changed_byte_is_noticed(values: list[int], data: st.DataObject) -> None:
    original = histogram_of(values).to_bytes()
    place = data.draw(st.integers(0, len(original) - 1))
    changed = bytearray(original)
    changed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match=r"Histogram\.from_bytes: wanted .*, got "):
        Histogram.from_bytes(changed)


@given(samples, st.data(), st.binary(min_size=1, max_size=20))
def test_cut_and_extended_bytes_are_refused(values: list[int], data: st.DataObject, extra: bytes) -> None:
    original = histogram_of(values).to_bytes()
    cut = original[: data.draw(st.integers(0, len(original) - 1))]
    for wrong in (cut, original + extra):
        with pytest.raises(ValueError, match=r"Histogram\.from_bytes: wanted .*, got "):
            Histogram.from_bytes(wrong)


@given(st.lists(anything, max_size=5), st.data())
def test_forged_bytes_with_a_valid_hash_are_refused_or_are_a_histogram(values: list[int], data: st.DataObject) -> None:
    body = bytearray(histogram_of(values).to_bytes()[4:-8])
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    forged = sealed(bytes(body))
    try:
        histogram = Histogram.from_bytes(forged)
    except ValueError:
        return
    assert histogram.to_bytes() == forged
    assert sum(count for _, _, count in histogram.buckets()) == histogram.count


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(numbers(60, WORD_MAX), "significant_bits in 1..14", id="memory bomb"),
        pytest.param(numbers(7, 0), "highest_ns >= 1", id="no range"),
        pytest.param(numbers(7, HOUR_NS, 0), "whole numbers", id="half a pair"),
        pytest.param(numbers(7, HOUR_NS, 0, 2**64), "whole numbers", id="number of 65 bits"),
        pytest.param(numbers(7, HOUR_NS) + b"\x80" * 30, "whole numbers", id="number without end"),
        pytest.param(b"\x87\x00" + numbers(HOUR_NS), "whole numbers", id="number in long form"),
        pytest.param(numbers(7, HOUR_NS, 0, 0), "words that are not zero", id="zero word"),
        pytest.param(numbers(7, 100, 107, 1), "words up to number 107", id="one word too far"),
        pytest.param(numbers(7, 100, WORD_MAX, 1), "words up to number 107", id="much too far"),
    ],
)
def test_forged_content_is_refused_for_what_is_wrong_with_it(body: bytes, wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted.replace(".", r"\.")):
        Histogram.from_bytes(sealed(body))


COUNT, SATURATED, NOT_MIN, MAX, SUM_LOW, SUM_HIGH, FIRST_BUCKET = range(7)


def with_words(values: list[int], changes: dict[int, int]) -> bytes:
    """The bytes of these values in a histogram up to 100 ns, with some words changed."""
    kept = [min(value, 100) for value in values]
    totals = [len(values), sum(value > 100 for value in values), WORD_MAX - min(values), max(values)]
    words = [*totals, sum(values), 0, *(kept.count(bucket) for bucket in range(101))]
    pairs, zeros = [7, 100], 0
    for word in (changes.get(place, word) for place, word in enumerate(words)):
        pairs, zeros = ([*pairs, zeros, word], 0) if word else (pairs, zeros + 1)
    return sealed(numbers(*pairs))


@pytest.mark.parametrize(
    ("values", "changes"),
    [
        ([5, 7, 200], {COUNT: 4}),
        ([5, 7, 200], {SATURATED: 0}),
        ([5, 7, 200], {SATURATED: 2}),
        ([5, 7, 200], {NOT_MIN: WORD_MAX - 6}),
        ([5, 7, 200], {SUM_LOW: 14}),
        ([5, 7, 200], {SUM_LOW: 601}),
        ([5, 7, 200], {SUM_HIGH: 1}),
        ([5, 7], {MAX: 6}),
        ([5, 7], {FIRST_BUCKET + 5: WORD_MAX, FIRST_BUCKET + 7: 3}),  # 2 if the sum of the counts wraps
        ([200, 200], {SATURATED: 1}),
        ([0], {COUNT: 0, FIRST_BUCKET: 0}),  # empty, but with a min, then with a max, then with a sum
        ([5], {COUNT: 0, FIRST_BUCKET + 5: 0, NOT_MIN: 0, SUM_LOW: 0}),
        ([5], {COUNT: 0, FIRST_BUCKET + 5: 0, NOT_MIN: 0, MAX: 0}),
    ],
)
def test_totals_that_contradict_the_buckets_are_refused(values: list[int], changes: dict[int, int]) -> None:
    assert with_words(values, {}) == histogram_of(values, highest_ns=100).to_bytes()
    with pytest.raises(ValueError, match="wanted totals that agree with the buckets"):
        Histogram.from_bytes(with_words(values, changes))


def test_foreign_bytes_and_later_versions_are_refused() -> None:
    with pytest.raises(ValueError, match="wanted at least 12 bytes, got 0"):
        Histogram.from_bytes(b"")
    with pytest.raises(ValueError, match="wanted bytes that start with PSH"):
        Histogram.from_bytes(sealed(numbers(7, HOUR_NS), magic=b"PNG\x01"))
    with pytest.raises(ValueError, match="wanted version 1, got 2"):
        Histogram.from_bytes(sealed(numbers(7, HOUR_NS), magic=b"PSH\x02"))
    with pytest.raises(TypeError):
        Histogram.from_bytes("PSH")  # type: ignore[arg-type]
