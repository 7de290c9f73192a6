"""What the broker knows besides its logs, in memory and on disk.

Owns that both are the same: a change that cannot be written is taken back. Must not know what a change means.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from barnabas.broker.authorization.acls import AccessControlEntry
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.configs.named_settings import NamedSettings
from barnabas.broker.data_directory import DataDirectory, StoredTopic
from barnabas.broker.delegation_tokens.kept_token import KeptToken
from barnabas.broker.log.files import described
from barnabas.broker.metadata_part import MetadataPart
from barnabas.broker.quotas.client_quotas import ClientQuota
from barnabas.broker.scram_users import ScramCredential
from barnabas.broker.topic import Topic
from barnabas.broker_errors import KafkaStorageError


class KeptMetadata:
    """Reads the metadata of a data directory, and gives it to `settings`. With every write it takes what
    `topics` and `settings` have then. Raises: DataDirectoryError, OSError."""

    def __init__(
        self,
        directory: DataDirectory,
        node_count: int,
        topics: Mapping[str, Topic],
        settings: BrokerSettings,
    ) -> None:
        self._directory = directory
        self._topics = topics
        self._settings = settings
        self._to_undo: list[Callable[[], None]] | None = None
        """What takes back each change that was made while saving is put off."""
        self.content = content = directory.load(node_count)
        """What is kept. Whoever changes it calls `keep`."""
        content.leader_epoch += 1
        settings.cluster_wide = content.broker_settings
        settings.of_nodes = {int(node): kept for node, kept in content.node_settings.items()}
        self.acls = MetadataPart[list[AccessControlEntry]](
            content, "acls", "access control entries", self.keep
        )
        self.delegation_tokens = MetadataPart[list[KeptToken]](
            content, "delegation_tokens", "delegation tokens", self.keep
        )
        self.client_quotas = MetadataPart[list[ClientQuota]](content, "client_quotas", "quotas", self.keep)
        self.scram_credentials = MetadataPart[list[ScramCredential]](
            content, "scram_credentials", "users' credentials", self.keep
        )
        self.client_metrics = NamedSettings(content.client_metrics, self.keep)
        self.group_settings = NamedSettings(content.group_settings, self.keep)
        directory.save(content)

    def keep(self, what: str, undo: Callable[[], None]) -> None:
        """Writes a change that is made in memory, or takes it back. `what`: what cannot be done then.

        Raises: KafkaStorageError.
        """
        if self._to_undo is not None:
            self._to_undo.append(undo)
            return
        try:
            self._save()
        except OSError as error:
            undo()
            raise KafkaStorageError(f"cannot {what}: {described(error)}") from error

    @contextmanager
    def saved_once(self) -> Generator[None]:
        """Keeps all changes that are made inside with one write at the end. Nothing inside may give way to
        anything else. Raises: KafkaStorageError, which says why none of them holds then."""
        to_undo = self._to_undo = []
        try:
            yield
        finally:
            self._to_undo = None
        if not to_undo:
            return
        try:
            self._save()
        except OSError as error:
            for undo in reversed(to_undo):
                undo()
            raise KafkaStorageError(described(error)) from error

    def _save(self) -> None:
        content = self.content
        content.topics = [self._stored(topic) for topic in self._topics.values()]
        content.broker_settings = self._settings.cluster_wide
        content.node_settings = {str(node): kept for node, kept in self._settings.of_nodes.items()}
        content.changes += 1
        self._directory.save(content)

    def _stored(self, topic: Topic) -> StoredTopic:
        """The same as before where nothing has changed."""
        kept, count, own = topic.kept, len(topic.partitions), topic.own_settings
        has_one_node = self.content.node_count == 1
        registrations = [] if has_one_node else [each.registration for each in topic.partitions]
        if (
            kept is None
            or kept.partition_count != count
            or kept.settings != own
            or kept.registrations != registrations
        ):
            kept = StoredTopic(topic.name, str(topic.topic_id), count, dict(own), registrations)
            topic.kept = kept
        return kept
