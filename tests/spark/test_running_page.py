"""Every command of docs/running.md is run as it is there, but for names that are the reader's own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest

from penstock.devcluster import DevCluster, DevClusterSettings
from penstock.devcluster.driver_settings import write_defaults
from penstock.spark.run import start
from tests.endless import End
from tests.spark import scenarios, topologies
from tests.spark.remote_driver import QUIET
from tests.spark.yarn_cluster import YarnCluster

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "running.md"
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Penstock is compiled, installed and packed for the first of the tests that need that.
PACKING_PATIENCE_S = 1200

# The page's own words for what each reader has another one of.
MASTER = "spark://head:7077"
PACKAGE = "pip install penstock "
SPARK = "pyspark==4.3.*"

SENTENCES = ["the quick brown fox", "jumps over the dog", "the end"]
TIMES = 400
MY_TOPOLOGY = """
    import json
    import sys
    from pathlib import Path

    import penstock as ps
    import pyspark


    class Split(ps.Bolt):
        fields = ("word",)

        def process(self, tup):
            for word in tup.line.split():
                yield (word,)


    class Count(ps.KeyedBolt):
        fields = ("word", "count", "places")

        def process(self, key, tup):
            self.state[key] = self.state.get(key, 0) + 1

        def finish(self):
            for word, count in self.state.items():
                yield word, count, [sys.executable, ps.__file__, pyspark.__file__]


    topo = ps.Topology("words")
    words = topo.bolt("split", Split(), topo.spout("lines", ps.Lines({sentences!r} * {times})).shuffle(), tasks=2)
    topo.bolt("totals", ps.Collect(), topo.bolt("count", Count(), words.by("word"), tasks=2).to_one())

    if __name__ == "__main__":
        rows = ps.run(topo, workers=2).collected("totals")
        result = {{
            "counts": {{row.word: row.count for row in rows}},
            "places": sorted({{tuple(row.places) for row in rows}}),
            "driver": sys.executable,
        }}
        Path({result!r}).write_text(json.dumps(result))
"""


def sections() -> dict[str, str]:
    """The page's text, by heading."""
    _, *parts = HEADING.split(BLOCK.sub(lambda block: block[0].replace("\n#", "\n\\#"), PAGE.read_text()))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def commands(section: str) -> list[str]:
    """What a section has the reader type: lines after a prompt, with those that continue them."""
    blocks = [text for kind, text in BLOCK.findall(sections()[section]) if kind == "console"]
    return [command.strip() for text in blocks for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]


def typed(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Runs a command as if typed in a folder, whose `env` is active as soon as it is there. Returns what it said."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    path = [folder / "env" / "bin", Path(sys.executable).parent, os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=inherited
        | {"VIRTUAL_ENV": str(folder / "env"), "PATH": os.pathsep.join(map(str, path)), "XDG_RUNTIME_DIR": str(folder)}
        | dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode} of\n{command}\nwhich said:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Penstock as it is published, from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "--no-build-isolation --config-settings=build-dir=build/wheel-{wheel_tag}"
    typed(f"cd {ROOT} && {sys.executable} -m pip wheel --quiet --no-deps {build} -w {folder} .", folder, {})
    (found,) = folder.glob("penstock-*.whl")
    return found


@pytest.fixture(scope="module")
def packed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which an environment was made and packed as the page says."""
    folder = tmp_path_factory.mktemp("page")
    make, *rest = commands("Shipping the environment")
    typed(make, folder, {})
    lend_pyspark(folder / "env")
    for command in rest:
        own = command.replace(PACKAGE, f"pip install {wheel} ").replace(SPARK, f"pyspark=={pyspark.__version__}")
        typed(own, folder, {})
    return folder


def lend_pyspark(environment: Path) -> None:
    """Has pip find PySpark there, as links to our own: 470 MB need not come a second time, for they are not packed.

    They are found by looking, not in pip's records: where there is no `wheel`, an older pip installs the source archive
    by its `setup.py`, and the record of that names files of the archive.
    """
    package = Path(pyspark.__file__).parent
    (site,) = environment.glob("lib/python*/site-packages")
    (site / package.name).mkdir()
    for source in package.iterdir():
        (site / package.name / source.name).symlink_to(source)
    for record in package.parent.glob("pyspark-*-info"):  # .dist-info or .egg-info
        (site / record.name).symlink_to(record)
    for script in (*(package / "bin").iterdir(), package / "find_spark_home.py"):
        if (installed := Path(sys.executable).parent / script.name).exists():
            (environment / "bin" / script.name).symlink_to(installed)


@pytest.fixture(scope="module")
def standalone() -> Iterator[DevCluster]:
    """Room for as many workers as the page asks for."""
    with DevCluster(DevClusterSettings(nodes=2, slots_per_node=4)) as cluster:
        yield cluster


def on_standalone(command: str, folder: Path, cluster: DevCluster) -> str:
    defaults = {"SPARK_CONF_DIR": str(cluster.folder / "conf")}
    return typed(command.replace(MASTER, cluster.master_url), folder, defaults)


def my_topology(folder: Path) -> Path:
    """Writes the script of that name, and returns where it will leave its result."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    text = textwrap.dedent(MY_TOPOLOGY).format(sentences=SENTENCES, times=TIMES, result=str(result))
    (folder / "my_topology.py").write_text(text)
    return result


def assert_right(result: Path, *, driver: str) -> None:
    """The words were counted right, on workers that had everything from the archive, but PySpark from Spark."""
    found = json.loads(result.read_text())
    assert found["counts"] == topologies.counted_words(SENTENCES * TIMES)
    assert re.fullmatch(driver, found["driver"])
    for python, penstock, spark in found["places"]:
        assert re.search(r"/environment/bin/python$", python)
        assert re.search(r"/environment/lib/python[^/]*/site-packages/penstock/__init__.py$", penstock)
        assert "/pyspark.zip/" in spark


def test_every_command_is_in_a_section_that_is_run() -> None:
    run_here = {"The doctor", "Shipping the environment", "Standalone", "YARN", "Moving tasks"}
    assert {name for name in sections() if commands(name)} == run_here
    # Nor is there a command elsewhere: in a block of another kind, or in a sentence.
    rest = re.sub(r"^```console\n.*?^```$", "", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\$ .*|`(?:spark-submit|penstock) [^`]*-[^`]*`", rest, flags=re.MULTILINE) == []


@pytest.mark.cluster
def test_the_doctor_is_asked(standalone: DevCluster, tmp_path: Path) -> None:
    (command,) = commands("The doctor")
    said = on_standalone(command, tmp_path, standalone)

    assert re.search(r"executors on [12] nodes? have Penstock", said)  # as many as have come by then


@pytest.mark.cluster
@pytest.mark.timeout(PACKING_PATIENCE_S)
def test_a_packed_environment_runs_on_a_standalone_cluster(standalone: DevCluster, packed: Path) -> None:
    result = my_topology(packed)
    (packed / "wordcount.py").write_text((packed / "my_topology.py").read_text())
    said = [on_standalone(command, packed, standalone) for command in commands("Standalone")]

    assert "words ended after" in said[0]
    assert_right(result, driver=f"{packed}/env/bin/python3")


@pytest.mark.timeout(PACKING_PATIENCE_S)
def test_a_packed_environment_runs_on_yarn(yarn: YarnCluster, packed: Path) -> None:
    before = yarn.applications()
    write_defaults(packed, yarn.spark_settings() | QUIET)
    for command in commands("YARN"):
        result = my_topology(packed)
        typed(command, packed, yarn.environment | {"SPARK_CONF_DIR": str(packed)})
        in_container = "--deploy-mode cluster" in command
        assert_right(result, driver=r".*/environment/bin/python" if in_container else f"{packed}/env/bin/python3")
    own = {name: state for name, state in yarn.applications().items() if name not in before}
    assert list(own.values()) == [("FINISHED", "SUCCEEDED")] * 2


@pytest.mark.parametrize("way", ["by the handle", "by commands"])
def test_tasks_are_moved(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # so that there is one run only
    end = End(tmp_path)
    # Tasks are not moved to a worker that is silent, and on a busy machine one may be for a second.
    with start(topologies.word_count(end, tasks=3), workers=3, spark=spark, detection_s=10.0) as running:
        scenarios.await_flow(running)
        if way == "by the handle":
            (code,) = (text for kind, text in BLOCK.findall(sections()["Moving tasks"]) if kind == "py")
            exec(compile(code, str(PAGE), "exec"), {"run": running})
        else:
            for command in commands("Moving tasks"):
                assert re.search("done in|nothing had to move", typed(command, tmp_path, {}))
        end.tell(more=10_000)
        running.wait()
        summary = running.summary()
    assert len([task for task in summary.metrics.tasks if task.component == "count"]) == 8
    right = topologies.counted_words([topologies.sentence(number) for number in range(end.count)])
    assert {row.word: row.count for row in summary.collected("totals")} == right
