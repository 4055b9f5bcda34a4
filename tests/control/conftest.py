"""The load store in each database that it can be in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.postgres import postgres_server

__all__ = ["postgres_server"]


# For the whole session, so that the server is there before the check for leaks looks around.
@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def database_server(request: pytest.FixtureRequest) -> str:
    """The word sqlite, or the URL of a server."""
    return str(request.getfixturevalue("postgres_server")) if request.param == "postgresql" else "sqlite"


@pytest.fixture
def store_url(database_server: str, tmp_path: Path) -> Iterator[str]:
    """Where there is no store yet."""
    if database_server == "sqlite":
        yield f"sqlite://{tmp_path}/load.db"
        return
    yield database_server
    import psycopg

    with psycopg.connect(database_server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS penstock CASCADE")
