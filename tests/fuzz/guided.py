"""Fuzzing guided by the coverage of our own Python code: `python -m tests.fuzz --atheris` runs this for each target."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FunctionType

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore] # there are no wheels for some Pythons

from tests.fuzz.mutation import MOST_BYTES
from tests.fuzz.targets import TARGETS

FOLDER = Path("build/fuzz")


def instrument_our_own() -> None:
    """Function by function: atheris' hook for imports does not see what an editable install imports."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("penstock."):
            continue
        classes = [thing for thing in vars(module).values() if isinstance(thing, type) and thing.__module__ == name]
        for owner in (module, *classes):
            for thing in list(vars(owner).values()):
                if isinstance(thing, FunctionType) and thing.__module__ == name:
                    atheris.instrument_func(thing)


def main() -> None:
    name, seconds = sys.argv[1:]
    folder = FOLDER / f"{name}.corpus"
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(TARGETS[name].corpus()):
        (folder / f"real-{number}").write_bytes(data)
    instrument_our_own()
    options = [f"-max_total_time={seconds}", f"-max_len={MOST_BYTES}", f"-artifact_prefix={FOLDER}/{name}-"]
    atheris.Setup([sys.argv[0], *options, str(folder)], TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
