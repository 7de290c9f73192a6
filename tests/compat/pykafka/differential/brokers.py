"""The brokers that scripts are played on, with what their ZooKeeper has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from kazoo.client import KazooClient
from tests.compat.playing.theatre import Theatre

from barnabas.testing import ApacheKafka
from barnabas.testing.distribution import DEFAULT_VERSION

OLD_RELEASE = "2.8.2"
"""Of the time of pykafka, with ZooKeeper."""
NEW_RELEASE = DEFAULT_VERSION


class TheatreWithZooKeeper(Theatre):
    """On a broker that has started; `zookeeper`: of an old release."""

    served: ClassVar[frozenset[str]] = Theatre.served | {"znodes"}

    def __init__(self, kafka: ApacheKafka, zookeeper: str | None) -> None:
        super().__init__(kafka)
        self._zookeeper = zookeeper

    @property
    def place(self) -> Any:
        return (self.bootstrap, self._zookeeper)

    def znodes(self, path: str) -> dict[str, bytes]:
        """The data of each node below `path`, by its path from there."""
        client: Any = KazooClient(self._zookeeper)
        client.start()
        try:
            found: dict[str, bytes] = {}
            left = [path]
            while left:
                each = left.pop()
                if client.exists(each):
                    left += [f"{each}/{child}" for child in client.get_children(each)]
                    if each != path:
                        found[each.removeprefix(path + "/")] = client.get(each)[0]
            return found
        finally:
            client.stop()
            client.close()


@contextmanager
def theatre_on(release: str) -> Iterator[TheatreWithZooKeeper]:
    with ApacheKafka(release) as kafka:
        theatre = TheatreWithZooKeeper(kafka, kafka.zookeeper if release == OLD_RELEASE else None)
        try:
            yield theatre
        finally:
            theatre.close()
