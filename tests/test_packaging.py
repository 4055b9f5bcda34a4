"""What is built for those who install Penstock: which wheels, and that what proves them can fail."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_wheels_are_built_for_every_python_that_is_supported() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "cibuildwheel", "--platform", "linux", "--archs", "x86_64", "--print-build-identifiers"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert listed.stdout.split() == [f"cp3{minor}-manylinux_x86_64" for minor in (11, 12, 13, 14)]


def test_the_proof_of_a_wheel_passes_with_this_tree() -> None:
    smoke = subprocess.run([sys.executable, ROOT / "tools/smoke.py"], capture_output=True, text=True)
    assert smoke.returncode == 0, smoke.stderr
    assert smoke.stdout.endswith(" works\n")


def test_the_readme_has_one_program_to_run_from_an_empty_folder(tmp_path: Path) -> None:
    """`make readme` and `make wheel` cut the program out of the README with sed; here it is run as cut."""
    cut = "/^```python$/,/^```$/{/^```/!p;/^```$/q}"
    program = subprocess.run(["sed", "-n", cut, ROOT / "README.md"], check=True, capture_output=True, text=True).stdout
    assert cut in (ROOT / "tools/readme_program.sh").read_text()
    (tmp_path / "wordcount.py").write_text(program)
    check = "import wordcount; from penstock import testing; testing.run_topology(wordcount.topo)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", check], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_fresh_machine_has_neither_home_nor_caches_nor_environments(tmp_path: Path) -> None:
    """What a developer's shell has must not reach the commands that are run as on a fresh machine."""
    environment = {
        **os.environ,
        "PYTHONPATH": "/somewhere",
        "VIRTUAL_ENV": sys.prefix,
        "PIP_CACHE_DIR": "/somewhere",
        "PIP_CONFIG_FILE": "/etc/pip.conf",
        "TMPDIR": str(tmp_path),
    }
    script = ROOT / "tools/fresh_machine.sh"
    shown = subprocess.run([script, "env"], env=environment, check=True, capture_output=True, text=True).stdout
    variables = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    assert variables["PIP_NO_CACHE_DIR"] == "1"
    assert variables["PIP_CONFIG_FILE"] == "/etc/pip.conf"
    assert variables["HOME"].startswith(str(tmp_path))
    assert sys.prefix not in variables["PATH"]
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "PIP_CACHE_DIR"} & variables.keys()
    assert not list(tmp_path.iterdir()), "the clone is still there"
