"""Files as users write them."""

from __future__ import annotations

import textwrap
from pathlib import Path

READY = """
    import penstock as ps

    def build(name):
        topo = ps.Topology(name)
        numbers = topo.spout("numbers", ps.Rate(None, limit=10))
        topo.bolt("last", ps.Collect(), numbers.shuffle())
        return topo

    only = build("only")
"""

FACTORY = """
    from __future__ import annotations
    from pathlib import Path
    from typing import TYPE_CHECKING

    import penstock as ps

    if TYPE_CHECKING:
        from nowhere import Settings

    given = {}

    def topology(
        limit: int = 10,
        rate: float | None = None,
        loud: bool = False,
        folder: Path = Path("here"),
        label: str = "",
        plain=3,
        other: Settings | None = None,
    ) -> ps.Topology:
        given.update(locals())
        topo = ps.Topology("made")
        numbers = topo.spout("numbers", ps.Rate(rate, limit=limit))
        topo.bolt("last", ps.Collect(), numbers.shuffle())
        return topo
"""


def write(folder: Path, name: str, text: str) -> str:
    """A file of this name and text; its path."""
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return str(path)
