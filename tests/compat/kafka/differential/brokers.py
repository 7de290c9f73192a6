"""The brokers that scripts are played on, for whole runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.compat.playing.theatre import OLD_RELEASE_KEEPS_RECORDS, Theatre

from barnabas.testing import ApacheKafka, SecureListeners
from barnabas.testing.distribution import DEFAULT_VERSION

OLD_RELEASE = "2.8.2"
"""Of the time of 1.2.1, with ZooKeeper."""
NEW_RELEASE = DEFAULT_VERSION


@contextmanager
def theatre_on(release: str, *, is_secure: bool = False) -> Iterator[Theatre]:
    security = SecureListeners() if is_secure else None
    config = OLD_RELEASE_KEEPS_RECORDS if release == OLD_RELEASE else None
    with ApacheKafka(release, security=security, config=config) as kafka:
        theatre = Theatre(kafka)
        try:
            yield theatre
        finally:
            theatre.close()
