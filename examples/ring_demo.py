"""Two processes over one shared-memory ring, live: first latency at a steady rate, then as fast as it goes.

Run it with `make demo`, or `python examples/ring_demo.py --seconds 3`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import struct
import time
from multiprocessing.context import SpawnProcess

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock._native import Histogram
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route

MESSAGE_BYTES = 100
RATE_PER_S = 5_000
BATCH = 256
PACED, FLAT_OUT, END = 1, 2, 3  # the stream that a record travels on says which part of the show it belongs to

STAMP = struct.Struct("<q")


def produce(address: str, seconds: float) -> None:
    """The second process: stamps each message with the time it was sent."""
    message = bytearray(MESSAGE_BYTES)
    with RingWriter.attach(address) as writer:
        paced, flat_out = Route(stream=PACED), Route(stream=FLAT_OUT)
        deadline = started = time.monotonic()
        while (now := time.monotonic()) < started + seconds:
            time.sleep(max(0.0, deadline - now))
            STAMP.pack_into(message, 0, time.monotonic_ns())
            writer.write(message, paced)
            deadline += 1 / RATE_PER_S
        batch = [bytes(message)] * BATCH
        while time.monotonic() < started + 2 * seconds:
            writer.write_many(batch, flat_out)
        writer.write(b"", Route(stream=END))


class Show:
    """What has arrived so far, and how it looks."""

    def __init__(self) -> None:
        self.latency = Histogram()
        self.messages = 0
        self.flat_out_since = 0.0
        self.flat_out_for = 0.0

    def rate(self) -> float:
        return self.messages / self.flat_out_for if self.flat_out_for else 0.0

    def __rich__(self) -> Group:
        table = Table(title=f"two processes, one ring, {MESSAGE_BYTES}-byte messages, both ends in Python")
        table.add_column("what")
        table.add_column("value", justify="right")
        latency = self.latency
        table.add_row(f"messages at {RATE_PER_S:,}/s", f"{latency.count:,}")
        if latency.count:
            for p in (50, 99, 99.9):
                table.add_row(f"latency p{p:g}", f"{latency.percentile(p) / 1e3:.1f} µs")
        table.add_row("messages flat out", f"{self.messages:,}")
        table.add_row("messages per second", f"{self.rate() / 1e6:.2f} million")
        return Group(table, self._bars())

    def _bars(self) -> Text:
        """The latencies as a picture: one bar for every doubling."""
        counts: dict[int, int] = {}
        for _, high, count in self.latency.buckets():
            counts[high.bit_length()] = counts.get(high.bit_length(), 0) + count
        most = max(counts.values(), default=1)
        lines = [
            f"{f'under {2**bits / 1e3:,.1f} µs':>18}  {'█' * max(1, 50 * count // most)} {count:,}"
            for bits, count in sorted(counts.items())
        ]
        return Text("\n".join([*lines, ""]), style="cyan")


def watch(reader: RingReader, producer: SpawnProcess, show: Show, live: Live) -> None:
    """The first process: reads until the end has come."""
    redraw_at = 0.0
    while True:
        for record in reader.read_many(timeout_s=0.1):
            if record.stream == END:
                return
            if record.stream == PACED:
                (sent,) = STAMP.unpack_from(record.payload)
                show.latency.record(max(0, time.monotonic_ns() - sent))
            else:
                show.flat_out_since = show.flat_out_since or time.monotonic()
                show.messages += len(record.payloads)
        now = time.monotonic()
        if show.flat_out_since:
            show.flat_out_for = now - show.flat_out_since
        if now > redraw_at:  # seldom: drawing takes milliseconds, and messages wait for it
            live.update(show, refresh=True)
            redraw_at = now + 0.5
        if not producer.is_alive() and reader.drained:
            message = f"the producer ended with exit code {producer.exitcode} before its last message"
            raise SystemExit(message)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each of the two parts lasts")
    seconds = parser.parse_args().seconds
    console = Console()
    show = Show()
    with RingReader.create(RingSettings(capacity_bytes=8 << 20)) as reader:
        producer = multiprocessing.get_context("spawn").Process(target=produce, args=(reader.address, seconds))
        producer.start()
        try:
            with Live(show, console=console, auto_refresh=False) as live:
                watch(reader, producer, show, live)
                live.update(show, refresh=True)
            counters = reader.counters()
            console.print(
                f"[green]done[/]: {counters.records_written:,} records, {counters.bytes_written / 1e6:,.0f} MB; "
                f"{counters.wakes:,} wake-ups, {counters.full_waits:,} waits for room, nothing lost"
            )
        except KeyboardInterrupt:
            console.print("stopped")
        finally:
            producer.terminate()
            producer.join()


if __name__ == "__main__":
    main()
