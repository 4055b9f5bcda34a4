"""Sentences over a TCP connection, for systems that take no records from Python of their own: a line each.

Standard library only: it is imported in the peers' environments too.
"""

import socket
import threading
import time
from itertools import islice
from pathlib import Path
from types import TracebackType

from bench.wordcount.corpus import read_corpus, sentence_stream
from bench.wordcount.job import Job

_LINES_PER_SEND = 500


class Feeder:
    """Listens; sends the sentences of a job to the first who connects, at the job's rate, and then hangs up.

    With `numbered`, a line is the number of the sentence, a blank and the sentence.
    """

    def __init__(self, job: Job, *, numbered: bool) -> None:
        """Start listening."""
        self._job = job
        self._numbered = numbered
        self._closed = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, name="feeder", daemon=True)

    def __enter__(self) -> "Feeder":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._server.shutdown(socket.SHUT_RDWR)  # who waits for a connection waits no longer
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:
            if self._closed.is_set():  # nobody came
                return
            raise
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._job.rate_per_s:
                self._pace(connection)
            else:
                self._flood(connection)

    def _lines(self) -> list[bytes]:
        sentences = sentence_stream(read_corpus(Path(self._job.corpus)), self._job.sentences)
        if self._numbered:
            return [f"{number} {line}\n".encode() for number, line in enumerate(sentences)]
        return [f"{line}\n".encode() for line in sentences]

    def _flood(self, connection: socket.socket) -> None:
        lines = iter(self._lines())
        self._job.note_start(time.monotonic_ns())
        while not self._closed.is_set() and (part := b"".join(islice(lines, _LINES_PER_SEND))):
            connection.sendall(part)

    def _pace(self, connection: socket.socket) -> None:
        job, lines = self._job, self._lines()
        started_ns = time.monotonic_ns()
        job.note_start(started_ns)
        sent = 0
        while sent < job.sentences and not self._closed.is_set():
            now_ns = time.monotonic_ns()
            due = job.due_count(started_ns, now_ns)
            if sent == due:
                time.sleep((job.due_ns(started_ns, sent) - now_ns) / 1e9)
            else:
                connection.sendall(b"".join(lines[sent:due]))
                sent = due
