"""Where the papers write to a database: a sink that keeps the last value of each key."""

from typing import Any

import penstock as ps


class LastValue(ps.KeyedBolt):
    """Keeps it."""

    fields = ()

    def process(self, key: Any, tup: ps.Tuple) -> None:
        self.state[key] = tup[1]
