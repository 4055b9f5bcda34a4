"""A runner that counts by itself, or fails in the way that its job asks for. Executed by tests, in a process."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from bench.wordcount.corpus import read_corpus, sentence_stream
from bench.wordcount.job import CounterNotes, Job


def main() -> None:
    job = Job.from_command_line()
    manner = job.options.get("manner", "right")
    started_ns = time.monotonic_ns()
    job.note_start(started_ns)
    notes = CounterNotes(job, "counter")
    counts: Counter[str] = Counter()
    for number, line in enumerate(sentence_stream(read_corpus(Path(job.corpus)), job.sentences)):
        counts.update(line.split())
        if job.rate_per_s:
            notes.times[number] = time.monotonic_ns()
    if manner == "wrong":
        counts["nobody-said-this"] += 1
    if manner == "dying":
        sys.exit("it cannot be done")
    if manner in {"abandoning", "hanging"}:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(job.folder, "child").write_text(str(child.pid))
    if manner == "burning":  # a child while it counts, and itself when all is counted until somebody has seen it
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
        notes.save(counts, time.monotonic_ns())
        time.sleep(1)
    if manner == "hanging":
        time.sleep(600)
    # "steady" says that it took 100 µs for each sentence, however long it really took.
    notes.save(counts, started_ns + 100_000 * job.sentences if manner == "steady" else time.monotonic_ns())


if __name__ == "__main__":
    main()
