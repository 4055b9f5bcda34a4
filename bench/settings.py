"""What a benchmark is given."""

from pathlib import Path

import msgspec

from bench.progress import Progress


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a benchmark is given; it returns a `bench.report.Outcome`."""

    quick: bool
    """Measure a small subset, in less than a minute."""
    out: Path
    """An existing folder for plots and other files."""
    progress: Progress
