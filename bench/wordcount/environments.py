"""Virtual environments for peers, made when they are needed and kept for the next run.

Peers pin their dependencies against each other, so each has an environment of its own, made with this interpreter.
"""

import shutil
import subprocess
import venv
from pathlib import Path

import msgspec

_PATIENCE_S = 1800.0
_REASON_CHARACTERS = 300


class NotInstalledError(Exception):
    """A peer could not be installed here; says why."""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What one peer needs."""

    name: str
    requirements: tuple[str, ...]

    def python(self, root: Path) -> Path:
        """The interpreter that has it all, under the folder of all environments."""
        return root / self.name / "bin" / "python"

    def is_ready(self, root: Path) -> bool:
        """Whether exactly these requirements were installed."""
        marker = self._marker(root)
        return marker.is_file() and marker.read_text() == self._contents()

    def make(self, root: Path) -> None:
        """Make it from nothing, unless it is ready.

        Raises:
            NotInstalledError: pip could not install the requirements.
        """
        if self.is_ready(root):
            return
        folder = root / self.name
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        command = [str(self.python(root)), "-m", "pip", "install", "--disable-pip-version-check", *self.requirements]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
        except subprocess.TimeoutExpired as error:
            message = f"pip took more than {_PATIENCE_S:g} s to install {' '.join(self.requirements)}"
            raise NotInstalledError(message) from error
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr.strip()]
            message = f"pip does not install {' '.join(self.requirements)}: {errors[0][:_REASON_CHARACTERS]}"
            raise NotInstalledError(message)
        self._marker(root).write_text(self._contents())

    def _marker(self, root: Path) -> Path:
        return root / self.name / "ready"

    def _contents(self) -> str:
        return "\n".join(self.requirements) + "\n"
