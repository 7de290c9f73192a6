"""What a script for pykafka works with besides the package: see BareStage."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any
from unittest import mock

from tests.compat.playing.played.stage import BareStage


class Stage(BareStage):
    """One run of one script with pykafka. `place`: the addresses of the broker and of its ZooKeeper."""

    def __init__(self, pykafka: Any, place: tuple[str, str | None] | None, ask: Any) -> None:
        bootstrap, self.zookeeper = place or (None, None)
        super().__init__(pykafka, bootstrap, ask)
        if self.zookeeper is not None:
            self.call(self.zookeeper, "<zookeeper>")
        self._clients: list[Any] = []

    # clients, ended after the script

    def client(self, **settings: Any) -> Any:
        """A KafkaClient, at the broker."""
        return self._package.KafkaClient(**{"hosts": self.bootstrap, **settings})

    def topic_of(self, name: str, **settings: Any) -> Any:
        """A Topic, by a client of its own, which lasts as long: no topic keeps its cluster."""
        client = self.client(**settings)
        self._clients.append(client)
        return client.topics[name.encode()]

    def stopping(self, worker: Any) -> Any:
        """The same producer or consumer, which is stopped after the script."""
        self.closing(worker.stop)
        return worker

    # kafka-tools

    def tool(self, label: str, *arguments: str) -> None:
        """Records what a command line says and how it ends."""
        # A process of its own begins without what an earlier client found out of another release.
        self.module("utils").VERSIONS_CACHE.clear()
        output, complaints = _Output(), _Output()
        ended: Any = "returned"
        with (
            mock.patch.object(sys, "argv", ["kafka-tools", *arguments]),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(complaints),
        ):
            try:
                self.module("cli.kafka_tools").main()
            except SystemExit as exit:
                ended = f"exit {exit.code}"
            except KeyError:
                # Ours is one too, and says more.
                ended = "an error code that pykafka does not know"
            except Exception as error:
                ended = error
        self.record(f"{label} ended", ended)
        self.record(f"{label} said", output.getvalue().splitlines())
        # The genuine one's log and its warnings go there too, where nobody configured them.
        usage = [line for line in complaints.getvalue().splitlines() if line.startswith("kafka-tools")]
        self.record(f"{label} complained", usage)

    # ZooKeeper

    def znodes(self, path: str) -> Any:
        """The data of each node below a path, by its path from there."""
        return self.ask("znodes", path)


class _Output(io.StringIO):
    def close(self) -> None:
        """What is written stays to be read: kafka-tools closes what it writes to."""
