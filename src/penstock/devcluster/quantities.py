"""Rates and delays as people write them: 1gbit, 0.1ms."""

from __future__ import annotations

import math
import re

__all__ = ["parse_delay_s", "parse_rate_bits_per_s", "show_delay", "show_rate"]

# In decimal steps, as networks are sold. `tc` also knows bps, which are bytes there and bits elsewhere: left out.
_RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_DELAYS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def parse_rate_bits_per_s(text: str) -> int:
    """Bits per second of a rate such as ``1gbit``, ``100mbit`` or ``64kbit``. ValueError says what is wrong."""
    return round(_parse(text, _RATES, "a rate", "1gbit, 100mbit or 64kbit"))


def parse_delay_s(text: str) -> float:
    """Seconds of a delay such as ``0.1ms``, ``50us`` or ``1s``. ValueError says what is wrong."""
    return _parse(text, _DELAYS, "a delay", "0.1ms, 50us or 1s")


def show_rate(bits_per_s: int) -> str:
    """A rate as `parse_rate_bits_per_s` takes it, in the largest unit that leaves at least one."""
    unit = next(unit for unit in reversed(_RATES) if bits_per_s >= _RATES[unit] or unit == "bit")
    return f"{bits_per_s / _RATES[unit]:.10g}{unit}"


def show_delay(seconds: float) -> str:
    """A delay as `parse_delay_s` takes it, in the largest unit that leaves at least one."""
    unit = next(unit for unit in reversed(_DELAYS) if seconds >= _DELAYS[unit] or unit == "us")
    return f"{seconds / _DELAYS[unit]:.6g}{unit}"


def _parse(text: str, units: dict[str, float] | dict[str, int], what: str, examples: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip().lower())
    if found is None or found[2] not in units:
        message = f"wanted {what} such as {examples} (units: {', '.join(units)}), got {text!r}"
        raise ValueError(message)
    value = float(found[1]) * units[found[2]]
    if not math.isfinite(value) or value <= 0:
        message = f"wanted {what} above zero, got {text!r}"
        raise ValueError(message)
    return value
