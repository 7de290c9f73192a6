"""The data directory: who has it, and the one file of metadata in it.

Owns the lock and the file. Must not know what the metadata means beyond its shape.
"""

from __future__ import annotations

import base64
import json
import sys
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from barnabas.broker.authorization.acls import AccessControlEntry
from barnabas.broker.delegation_tokens.kept_token import KeptToken
from barnabas.broker.log.files import OpenFile, replace_file
from barnabas.broker.log.manager import log_directories
from barnabas.broker.log.memory_files import AnyPath
from barnabas.broker.quotas.client_quotas import ClientQuota
from barnabas.broker.replication.registration import PartitionRegistration
from barnabas.broker.scram_users import ScramCredential
from barnabas.errors import BarnabasError

if sys.platform != "win32":
    import fcntl

METADATA_FILE = "metadata.json"
METADATA_VERSION = 1
LOCK_FILE = ".lock"


class DataDirectoryError(BarnabasError):
    """The data directory is in use by another broker, or what it holds cannot be read."""


@dataclass(slots=True)
class StoredTopic:
    """A topic as it is kept: `settings` are only those that were set on it. `registrations` are those of its
    partitions, where there are several nodes. Another one is made for each change."""

    name: str
    topic_id: str
    partition_count: int
    settings: dict[str, str] = field(default_factory=dict[str, str])
    registrations: list[PartitionRegistration] = field(default_factory=list[PartitionRegistration])
    _text: str = field(default="", init=False, repr=False, compare=False)

    def text(self) -> str:
        """As it stands in the file. Most topics are as they were when the file is written once more, which
        tells where there are thousands."""
        if not self._text:
            names = ("name", "topic_id", "partition_count", "settings")
            kept = json.dumps({name: getattr(self, name) for name in names})
            rows = ", ".join(map(_text_of, self.registrations))
            self._text = f'{kept[:-1]}, "registrations": [{rows}]}}'
        return self._text


@lru_cache(maxsize=10_000)
def _text_of(registration: PartitionRegistration) -> str:
    return json.dumps([getattr(registration, name) for name in registration.__slots__])


@dataclass(slots=True)
class BrokerMetadata:
    """What the broker knows besides its logs. `leader_epoch` grows with every start."""

    cluster_id: str
    leader_epoch: int = -1
    node_count: int = 1
    stale_logs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Folders, by node, of replicas that were taken away while the node was stopped."""
    next_producer_id: int = 0
    features: dict[str, int] = field(default_factory=dict[str, int])
    """Levels other than a new cluster's."""
    features_epoch: int = 0
    changes: int = 0
    """How often the metadata has been kept."""
    scram_credentials: list[ScramCredential] = field(default_factory=list[ScramCredential])
    acls: list[AccessControlEntry] = field(default_factory=list[AccessControlEntry])
    delegation_tokens: list[KeptToken] = field(default_factory=list[KeptToken])
    client_quotas: list[ClientQuota] = field(default_factory=list[ClientQuota])
    broker_settings: dict[str, str] = field(default_factory=dict[str, str])
    """Of all nodes."""
    node_settings: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    client_metrics: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    group_settings: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    topics: list[StoredTopic] = field(default_factory=list[StoredTopic])


def data_directory(name: str) -> Path:
    """The folder of this name. Raises: DataDirectoryError for the empty one, which is the current one."""
    if not name:
        raise DataDirectoryError("the data directory has no name: choose a folder for the broker alone")
    return Path(name)


class DataDirectory:
    """A locked data directory, made if it does not exist. Raises: DataDirectoryError."""

    def __init__(self, path: AnyPath) -> None:
        self.path = path
        self._node_count = 1
        if sys.platform == "win32":
            raise DataDirectoryError(
                "the embedded broker writes its log by means that Windows does not have: run it in WSL, on "
                "Linux or on macOS; clients run on Windows as well"
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = OpenFile(path / LOCK_FILE)
        except OSError as error:
            raise DataDirectoryError(
                f"{path} cannot be the data directory: {error.strerror}; choose a folder that this user may "
                "write to"
            ) from error
        try:
            fcntl.flock(self._lock.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise DataDirectoryError(
                f"{path} is in use by another broker; stop that one or choose another data directory"
            ) from None

    def release(self) -> None:
        self._lock.close()

    def node_path(self, node_id: int) -> AnyPath:
        """Where a node has its logs: a node alone has the directory for itself."""
        return self.path if self._node_count == 1 else self.path / str(node_id)

    def load(self, node_count: int = 1) -> BrokerMetadata:
        """The metadata, new for an empty directory. Raises: DataDirectoryError."""
        metadata = self._load(node_count)
        if metadata.node_count != node_count:
            raise DataDirectoryError(
                f"{self.path} holds the data of {metadata.node_count} node(s), not of {node_count}; "
                "start as many or choose another data directory"
            )
        self._node_count = node_count
        return metadata

    def _load(self, node_count: int) -> BrokerMetadata:
        path = self.path / METADATA_FILE
        if not path.exists():
            if log_directories(self.path):
                raise DataDirectoryError(
                    f"{self.path} holds logs but no {METADATA_FILE}; "
                    "restore that file or choose an empty directory"
                )
            return BrokerMetadata(
                cluster_id=base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="),
                node_count=node_count,
            )
        try:
            content = json.loads(path.read_bytes())
            if content.pop("version") != METADATA_VERSION:
                raise DataDirectoryError(f"{path} was written by a later release; use that one")
            topics = [_topic(**topic) for topic in content.pop("topics")]
            users = [ScramCredential(**user) for user in content.pop("scram_credentials", ())]
            acls = [AccessControlEntry(**entry) for entry in content.pop("acls", ())]
            quotas = [ClientQuota(**quota) for quota in content.pop("client_quotas", ())]
            tokens = [KeptToken(**token) for token in content.pop("delegation_tokens", ())]
            return BrokerMetadata(
                **content,
                topics=topics,
                scram_credentials=users,
                acls=acls,
                client_quotas=quotas,
                delegation_tokens=tokens,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DataDirectoryError(f"{path} cannot be read: {error}; restore it from a copy") from None

    def save(self, metadata: BrokerMetadata) -> None:
        """Raises: OSError, and then the old metadata stands."""
        content = {"version": METADATA_VERSION, **_as_dict(metadata)}
        del content["topics"]
        content["scram_credentials"] = [_as_dict(user) for user in metadata.scram_credentials]
        content["acls"] = [_as_dict(entry) for entry in metadata.acls]
        content["delegation_tokens"] = [_as_dict(token) for token in metadata.delegation_tokens]
        content["client_quotas"] = [_as_dict(quota) for quota in metadata.client_quotas]
        # Without line ends json writes in C.
        rest = json.dumps(content)[1:]
        topics = ", ".join([topic.text() for topic in metadata.topics])
        replace_file(self.path / METADATA_FILE, f'{{"topics": [{topics}], {rest}'.encode())


Kept = BrokerMetadata | ScramCredential | AccessControlEntry | ClientQuota | KeptToken


def _as_dict(kept: Kept) -> dict[str, object]:
    return {name: getattr(kept, name) for name in kept.__slots__}


def _topic(registrations: Iterable[Iterable[Any]] = (), **kept: Any) -> StoredTopic:
    return StoredTopic(
        **kept, registrations=[PartitionRegistration(*map(_as_kept, row)) for row in registrations]
    )


def _as_kept(value: Any) -> Any:
    """JSON has no tuples."""
    return tuple(cast("list[int]", value)) if isinstance(value, list) else value
