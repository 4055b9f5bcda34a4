"""What git knows of the code that is measured."""

import subprocess
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]

# What benchmarks themselves write: keeping a result makes no other code of the tree it was measured on.
_NOT_CODE = (":(exclude)bench/results", ":(exclude)docs/benchmarks.md", ":(exclude)docs/images")

# What a tuple passes.
_DATA_PLANE = ("native", "src/penstock/worker", "src/penstock/transport", "src/penstock/flow")


class GitError(Exception):
    """Git could not say."""


class Code(NamedTuple):
    """A commit, and whether the tree is not quite that."""

    commit: str
    dirty: bool


class History:
    """The history of one working tree."""

    def __init__(self, top: Path = REPOSITORY) -> None:
        """The tree whose top folder is `top`."""
        self._top = top

    def commit(self, of: str = "HEAD") -> str:
        """The full id of a commit."""
        return self.ask("rev-parse", "--verify", f"{of}^{{commit}}")

    def is_dirty(self) -> bool:
        """Whether the tree differs from its commit in more than results."""
        return bool(self.ask("status", "--porcelain", "--", ".", *_NOT_CODE))

    def code(self) -> Code:
        """What the tree has now."""
        return Code(self.commit(), self.is_dirty())

    def is_same_code(self, commit: str) -> bool:
        """Whether the tree has the code of another commit: whether they differ in nothing but results."""
        try:
            return not self.is_dirty() and not self.ask("diff", "--name-only", commit, "HEAD", "--", ".", *_NOT_CODE)
        except GitError:  # a commit that this clone has never seen
            return False

    def data_plane_changes_since(self, commit: str) -> int | None:
        """How many commits since then have touched what a tuple passes; None for a commit that is not known."""
        try:
            return int(self.ask("rev-list", "--count", f"{commit}..HEAD", "--", *_DATA_PLANE))
        except GitError:
            return None

    def last_tag(self) -> str | None:
        """The tag nearest to HEAD, if there is one."""
        try:
            return self.ask("describe", "--tags", "--abbrev=0")
        except GitError:
            return None

    def ask(self, *arguments: str) -> str:
        """What a git command prints.

        Raises:
            GitError: it failed.
        """
        done = subprocess.run(["git", *arguments], cwd=self._top, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            message = f"git {' '.join(arguments)} in {self._top}: {done.stderr.strip()}"
            raise GitError(message)
        return done.stdout.strip()
