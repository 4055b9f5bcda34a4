"""How often a property is tried: a number for a machine that is in a hurry, and a factor for one that hunts."""

import os

from hypothesis import HealthCheck, settings

__all__ = ["tried"]

_USUAL = 50
_GIVEN = int(os.environ.get("PENSTOCK_EXAMPLES") or 0)
_EXAMPLES = _GIVEN or _USUAL

# A busy machine is slow at random, so neither a slow example nor the slow making of one is a failure. The blob repeats
# a failure elsewhere. The same code is tried with the same values, so that a commit that passed passes again; with
# PENSTOCK_EXAMPLES a run tries other values each time, so often where no test says how often.
settings.register_profile(
    "penstock",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not _GIVEN,
    max_examples=_EXAMPLES,
)
settings.load_profile("penstock")


def tried(times: int, *, steps: int = 50) -> settings:
    """For a property of its own number: so often, or as many times more as PENSTOCK_EXAMPLES is above 50.

    The example of a state machine has so many steps.
    """
    return settings(max_examples=max(1, times * _EXAMPLES // _USUAL), stateful_step_count=steps)
