"""All there is to measure."""

import msgspec


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A period of sampling, and how often it is compared with no sampling at all."""

    every_s: float
    slice_s: float
    """How long each side is measured at a time. At least one sample is taken within."""
    rounds: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One run, in slices: none, sampled, sampled, none, and so on."""

    warm_s: float
    settle_s: float
    """What is left out at the beginning of each slice."""
    compared: tuple[Compared, ...]


FULL = Plan(
    warm_s=5.0,
    settle_s=0.3,
    compared=(Compared(every_s=1.0, slice_s=3.3, rounds=30), Compared(every_s=20.0, slice_s=21.0, rounds=4)),
)
QUICK = Plan(warm_s=3.0, settle_s=0.3, compared=(Compared(every_s=1.0, slice_s=2.3, rounds=5),))
