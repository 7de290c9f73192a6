"""Access control entries over restarts, and the authorizer that goes by them.

Owns how entries are added and taken away, each kept before it counts. Must not know requests.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.authorization.acls import AccessControlEntry, EntryFilter
from barnabas.broker.authorization.authorizer import Authorizer, parse_super_users
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.metadata_part import MetadataPart


class AclStore:
    def __init__(self, kept: MetadataPart[list[AccessControlEntry]], authorizer: Authorizer) -> None:
        self._kept = kept
        self._authorizer = authorizer
        authorizer.load(kept.value)

    def matching(self, asked: EntryFilter) -> list[AccessControlEntry]:
        return [entry for entry in self._kept.value if asked.matches(entry)]

    def add(self, entries: Iterable[AccessControlEntry]) -> None:
        """Adds checked entries; what is there already stays once. Raises: KafkaStorageError."""
        self._change(list(dict.fromkeys([*self._kept.value, *entries])))

    def remove(self, filters: Iterable[EntryFilter]) -> None:
        """Takes away all that filters match. Raises: KafkaStorageError."""
        gone = {entry for asked in filters for entry in self.matching(asked)}
        self._change([entry for entry in self._kept.value if entry not in gone])

    def _change(self, entries: list[AccessControlEntry]) -> None:
        if len(entries) != len(self._kept.value):
            self._kept.change(entries)
            self._authorizer.load(entries)


def configured_authorizer(settings: BrokerSettings) -> Authorizer:
    """Raises: InvalidConfigError."""
    return Authorizer(
        is_on=bool(settings.get("authorizer.class.name").value),
        super_users=parse_super_users(settings.get("super.users").value),
        allows_by_default=settings.flag("allow.everyone.if.no.acl.found"),
    )
