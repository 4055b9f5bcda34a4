"""What the ring's tests share. That nothing leaks is checked for every test by tests/conftest.py."""

from collections.abc import Iterator

import pytest

from penstock.transport.ring import RingReader, RingSettings

SMALL = RingSettings(capacity_bytes=1 << 16, max_producers=4)


@pytest.fixture
def reader() -> Iterator[RingReader]:
    """A small ring: 64 KiB, so records of up to 8 KiB, and four producers."""
    with RingReader.create(SMALL) as reader:
        yield reader
