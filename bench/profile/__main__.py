"""`python -m bench.profile record FILE`, and `draw BEFORE AFTER FOLDER`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.profile.recording import ProfileError, Recording, record


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    options = _parser().parse_args(arguments)
    if options.what == "record":
        try:
            recording = record()
        except ProfileError as error:
            print(error, file=sys.stderr)
            return 1
        options.file.write_bytes(msgspec.json.format(msgspec.json.encode(recording)) + b"\n")
        print(f"Wrote {options.file}")
        return 0
    from bench.profile.pictures import draw  # what records need not be able to draw

    before, after = (msgspec.json.decode(file.read_bytes(), type=Recording) for file in (options.before, options.after))
    for picture in draw(before, after, options.folder):
        print(f"Wrote {picture}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description="Where the CPU time of a tuple goes.")
    commands = parser.add_subparsers(dest="what", required=True)
    recording = commands.add_parser("record", help="look at the workers of two topologies, for a minute")
    recording.add_argument("file", type=Path)
    drawing = commands.add_parser("draw", help="two recordings as pictures")
    for name in ("before", "after", "folder"):
        drawing.add_argument(name, type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
