"""Rates and delays as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.devcluster.quantities import parse_delay_s, parse_rate_bits_per_s, show_delay, show_rate


@pytest.mark.parametrize(
    ("text", "bits_per_s"),
    [("1gbit", 10**9), ("100mbit", 10**8), ("64kbit", 64_000), ("9600bit", 9600), ("1.5 Gbit", 1_500_000_000)],
)
def test_rates(text: str, bits_per_s: int) -> None:
    assert parse_rate_bits_per_s(text) == bits_per_s


@pytest.mark.parametrize(("text", "seconds"), [("0.1ms", 1e-4), ("50us", 5e-5), ("2s", 2.0), ("1.5 MS", 1.5e-3)])
def test_delays(text: str, seconds: float) -> None:
    assert parse_delay_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "1", "gbit", "1gbps", "-1gbit", "1e9bit", "1gbit/s", "1 g bit", "0.1ms"])
def test_what_is_no_rate_is_refused_with_what_was_wanted(text: str) -> None:
    with pytest.raises(ValueError, match=r"wanted a rate such as 1gbit.*units: bit, kbit, mbit, gbit") as caught:
        parse_rate_bits_per_s(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["", "5", "ms", "-1ms", "1m", "1 minute", "1gbit"])
def test_what_is_no_delay_is_refused_with_what_was_wanted(text: str) -> None:
    with pytest.raises(ValueError, match=r"wanted a delay such as 0.1ms.*units: us, ms, s") as caught:
        parse_delay_s(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["0gbit", "0.0mbit", f"{'9' * 400}gbit"])
def test_a_rate_is_above_zero_and_finite(text: str) -> None:
    with pytest.raises(ValueError, match="wanted a rate above zero"):
        parse_rate_bits_per_s(text)


@given(st.integers(min_value=1, max_value=9_999_999_999))
def test_a_rate_that_is_shown_can_be_read(bits_per_s: int) -> None:
    assert parse_rate_bits_per_s(show_rate(bits_per_s)) == bits_per_s


@pytest.mark.parametrize("text", ["1gbit", "2.5gbit", "100mbit", "8kbit", "1bit"])
def test_rates_are_shown_as_they_were_written(text: str) -> None:
    assert show_rate(parse_rate_bits_per_s(text)) == text


@pytest.mark.parametrize(("text", "shown"), [("0.1ms", "100us"), ("1.5ms", "1.5ms"), ("3s", "3s")])
def test_delays_are_shown(text: str, shown: str) -> None:
    assert show_delay(parse_delay_s(text)) == shown
