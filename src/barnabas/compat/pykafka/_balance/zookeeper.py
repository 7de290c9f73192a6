"""ZooKeeper by kazoo: the calls that a balanced consumer makes, each of which ends in time.

Owns the import of kazoo, which an extra brings and which happens when a consumer first needs it. Knows
nothing of groups.
"""

from __future__ import annotations

import contextlib
import importlib
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

__all__ = ["CONNECTED", "NodeStat", "ZooKeeperSession", "connect", "needs_kazoo"]

CONNECTED = "CONNECTED"
CHECK_TIMEOUT_SECONDS = 1.0


class NodeStat(Protocol):
    ephemeralOwner: int


class ZooKeeperSession:
    """A started KazooClient, as a balanced consumer uses it.

    Raises, of every call: `connection_errors` when the session is in doubt or gone, and what was asked may
    have been done or not; kazoo itself would wait for as long as ZooKeeper is away.
    """

    def __init__(self, client: Any) -> None:
        found = needs_kazoo("exceptions")
        self.client = client
        self.timeout_seconds: float = client._session_timeout / 1000
        self.no_node: type[Exception] = found.NoNodeError
        self.node_exists: type[Exception] = found.NodeExistsError
        self.connection_errors: tuple[type[Exception], ...] = (
            found.ConnectionLoss,
            found.SessionExpiredError,
            found.ConnectionClosedError,
            client.handler.timeout_exception,
        )

    @property
    def id(self) -> int | None:
        """The session's number, which a node that ends with it carries."""
        known = self.client.client_id
        return None if known is None else known[0]

    def ensure_path(self, path: str) -> None:
        self._answer(self.client.ensure_path_async(path))

    def exists(self, path: str) -> NodeStat | None:
        return self._answer(self.client.exists_async(path))

    def get(self, path: str) -> tuple[bytes, NodeStat]:
        return self._answer(self.client.get_async(path))

    def get_each(self, paths: Iterable[str]) -> dict[str, bytes]:
        """What is in each of these nodes that is there, asked for at once."""
        found: dict[str, bytes] = {}
        for path, pending in [(path, self.client.get_async(path)) for path in paths]:
            try:
                found[path] = self._answer(pending)[0]
            except self.no_node:
                continue
        return found

    def get_children(self, path: str) -> list[str]:
        return self._answer(self.client.get_children_async(path))

    def create_ephemeral(self, path: str, value: bytes) -> None:
        self._answer(self.client.create_async(path, value, ephemeral=True, makepath=True))

    def delete(self, path: str) -> None:
        """Deletes a node, if it is there."""
        with contextlib.suppress(self.no_node):
            self._answer(self.client.delete_async(path))

    def has_own(self, path: str) -> bool:
        """Whether a node is there that ends with this session, as far as can be known in a second."""
        if not self.client.connected:
            return False
        try:
            stat = self.client.exists_async(path).get(timeout=CHECK_TIMEOUT_SECONDS)
        except self.connection_errors:
            return False
        return stat is not None and stat.ephemeralOwner == self.id

    def watch_children(self, path: str, called: Callable[[Sequence[str]], object]) -> None:
        """Has `called` told the children of `path`, now and whenever they change, until it returns False."""
        needs_kazoo("recipe.watchers").ChildrenWatch(self.client, path, called)

    def listen(self, called: Callable[[str], object]) -> Callable[[], None]:
        """Has the bound method `called` told every state of the connection, for as long as its object lives.
        Returns what ends it."""
        weak = weakref.WeakMethod(called)

        def listener(state: str) -> bool:
            method = weak()
            if method is None:
                return True  # kazoo forgets listeners that return True
            method(state)
            return False

        self.client.add_listener(listener)
        return lambda: self.client.remove_listener(listener)

    def close(self) -> None:
        self.client.stop()
        self.client.close()

    def _answer(self, pending: Any) -> Any:
        return pending.get(timeout=self.timeout_seconds)


def connect(hosts: str, *, session_timeout_seconds: float, uses_gevent: bool) -> Any:
    """A started KazooClient. Raises: kazoo's KazooTimeoutError when no server answers within 15 seconds."""
    arguments: dict[str, Any] = {"timeout": session_timeout_seconds}
    if uses_gevent:
        arguments["handler"] = needs_kazoo("handlers.gevent").SequentialGeventHandler()
    client = needs_kazoo("client").KazooClient(hosts, **arguments)
    try:
        client.start()
    except BaseException:
        client.stop()
        client.close()
        raise
    return client


def needs_kazoo(module: str = "client") -> Any:
    """A module of kazoo. Raises: ImportError, which names the extra, where it is not installed."""
    try:
        return importlib.import_module(f"kazoo.{module}")
    except ImportError as error:
        raise ImportError(
            "BalancedConsumer reaches ZooKeeper by kazoo, which the extra pykafka brings: "
            "pip install 'barnabas[pykafka]'"
        ) from error
