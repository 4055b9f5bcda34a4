"""What commands about a run have in common: which one, how to ask it, and how to answer."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from penstock.control.admin import AdminClient
from penstock.control.registry import RunDirectory, RunFile

__all__ = ["Name", "console", "find", "reach", "say"]

console = Console()

Name = Annotated[
    str | None, Parameter(help="a run, or the beginning of its id, or a topology; without it, the only run there is.")
]


def find(name: str | None) -> RunFile:
    """The run that is meant; RunError if there is none, or more than one."""
    return RunDirectory.default().find(name)


def reach(file: RunFile) -> AdminClient:
    """Asks the driver of a run."""
    return AdminClient(endpoint=file.endpoint, server_public=file.server_public, keys=file.keys)


def say(text: str) -> None:
    """A line as it is: not broken, not coloured, and with nothing in it taken for markup."""
    console.print(Text(text), soft_wrap=True)
