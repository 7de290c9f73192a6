"""The brokers that scripts are played on, with what their ZooKeeper has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from kazoo.client import KazooClient
from tests.compat.playing.theatre import OLD_RELEASE_KEEPS_RECORDS, PATIENCE_SECONDS, Theatre
from tests.waiting import Patience

from barnabas.errors import BarnabasError
from barnabas.testing import ApacheKafka
from barnabas.testing.distribution import DEFAULT_VERSION

OLD_RELEASE = "2.8.2"
"""Of the time of pykafka, with ZooKeeper."""
NEW_RELEASE = DEFAULT_VERSION


class TheatreWithZooKeeper(Theatre):
    """On a broker that has started; `zookeeper`: of an old release."""

    served: ClassVar[frozenset[str]] = Theatre.served | {
        *("znodes", "stop_broker", "start_broker", "pause_broker", "resume_broker"),
        *("kill_zookeeper", "launch_zookeeper"),
    }

    def __init__(self, kafka: ApacheKafka, zookeeper: str | None) -> None:
        super().__init__(kafka)
        self._zookeeper = zookeeper

    @property
    def place(self) -> Any:
        return (self.bootstrap, self._zookeeper)

    def stop_broker(self) -> None:
        self._kafka.stop()

    def start_broker(self) -> None:
        self._kafka.start()
        self._wait_until_topics_can_be_made()

    def restore(self) -> None:
        """Brings back a broker that a script stopped which did not come to its end."""
        if not self._kafka.is_alive:
            self.start_broker()

    def pause_broker(self) -> None:
        self._kafka.pause()

    def resume_broker(self) -> None:
        self._kafka.resume()
        self._wait_until_topics_can_be_made()

    def _wait_until_topics_can_be_made(self) -> None:
        """An old broker says before that that it is ready."""
        patience = Patience(PATIENCE_SECONDS)
        while True:
            try:
                self.create_topic(f"made-after-all-{time.monotonic_ns()}", 1, {})
                return
            except BarnabasError as error:
                patience.check(error)

    def kill_zookeeper(self) -> None:
        self._kafka.kill_zookeeper()

    def launch_zookeeper(self) -> None:
        self._kafka.launch_zookeeper()

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
    config = OLD_RELEASE_KEEPS_RECORDS if release == OLD_RELEASE else None
    with ApacheKafka(release, config=config) as kafka:
        theatre = TheatreWithZooKeeper(kafka, kafka.zookeeper if release == OLD_RELEASE else None)
        try:
            yield theatre
        finally:
            theatre.close()
