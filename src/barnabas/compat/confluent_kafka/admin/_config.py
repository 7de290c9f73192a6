"""Configurations of topics, brokers and groups: whose they are, their entries, and how entries change."""

from __future__ import annotations

import functools
from enum import Enum

from barnabas.compat.confluent_kafka import cimpl
from barnabas.compat.confluent_kafka.admin._resource import ResourceType
from barnabas.compat.librdkafka.values.errors import KafkaError


class AlterConfigOpType(Enum):
    """What `incremental_alter_configs` does with an entry: SET a value, DELETE it, so that the default holds,
    or, in a list, APPEND items or SUBTRACT them."""

    SET = cimpl.ALTER_CONFIG_OP_TYPE_SET
    DELETE = cimpl.ALTER_CONFIG_OP_TYPE_DELETE
    APPEND = cimpl.ALTER_CONFIG_OP_TYPE_APPEND
    SUBTRACT = cimpl.ALTER_CONFIG_OP_TYPE_SUBTRACT


class ConfigSource(Enum):
    """Where the value of an entry comes from. An entry's `source` is the number of one of these."""

    UNKNOWN_CONFIG = cimpl.CONFIG_SOURCE_UNKNOWN_CONFIG
    DYNAMIC_TOPIC_CONFIG = cimpl.CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG
    DYNAMIC_BROKER_CONFIG = cimpl.CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG
    DYNAMIC_DEFAULT_BROKER_CONFIG = cimpl.CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG
    STATIC_BROKER_CONFIG = cimpl.CONFIG_SOURCE_STATIC_BROKER_CONFIG
    DEFAULT_CONFIG = cimpl.CONFIG_SOURCE_DEFAULT_CONFIG
    GROUP_CONFIG = cimpl.CONFIG_SOURCE_GROUP_CONFIG


class ConfigEntry:
    """One setting.

    name                   its name
    value                  its value as text; None where it has none, or where it is secret
    source                 where the value comes from
    is_read_only           whether it can be changed while the broker runs
    is_default             whether the value is the default
    is_sensitive           whether the value is secret, and so not told
    is_synonym             whether this is one of another entry's `synonyms`
    synonyms               by name, the entries whose values are taken where this one has none
    incremental_operation  an AlterConfigOpType, for `AdminClient.incremental_alter_configs`
    """

    def __init__(
        self,
        name: str,
        value: str | None,
        source: ConfigSource | int = ConfigSource.UNKNOWN_CONFIG,
        is_read_only: bool = False,
        is_default: bool = False,
        is_sensitive: bool = False,
        is_synonym: bool = False,
        synonyms: dict[str, ConfigEntry] | None = None,
        incremental_operation: AlterConfigOpType | None = None,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.is_read_only = bool(is_read_only)
        self.is_default = bool(is_default)
        self.is_sensitive = bool(is_sensitive)
        self.is_synonym = bool(is_synonym)
        self.synonyms: dict[str, ConfigEntry] = {} if synonyms is None else synonyms
        self.incremental_operation = incremental_operation

    def __repr__(self) -> str:
        return f"ConfigEntry({self})"

    def __str__(self) -> str:
        return f'{self.name}="{self.value}"'


@functools.total_ordering
class ConfigResource:
    """Whose configuration is described or altered, and what is to change in it.

    restype              what it is: a ResourceType, its name in any case, or its number
    name                 its name; a broker's is its number
    set_config           what it is to have, by name, for `AdminClient.alter_configs`
    incremental_configs  entries with what to do with them, for `AdminClient.incremental_alter_configs`
    described_configs, error
                         not for applications

    Two of them are the same when type and name are. Raises: ValueError.
    """

    Type = ResourceType

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        set_config: dict[str, str] | None = None,
        described_configs: dict[str, ConfigEntry] | None = None,
        error: KafkaError | None = None,
        incremental_configs: list[ConfigEntry] | None = None,
    ) -> None:
        if name is None:  # pyright: ignore[reportUnnecessaryComparison] - programs are not checked
            raise ValueError("Expected resource name to be a string")
        if isinstance(restype, str):
            try:
                restype = ResourceType[restype.upper()]
            except KeyError:
                raise ValueError(
                    f'Unknown resource type "{restype}": should be a ConfigResource.Type'
                ) from None
        elif isinstance(restype, int):
            restype = ResourceType(restype)
        self.restype = restype
        self.restype_int = int(restype.value)
        self.name = name
        self.set_config_dict: dict[str, str] = {} if set_config is None else set_config.copy()
        self.incremental_configs = list(incremental_configs or [])
        self.configs = described_configs
        self.error = error

    def __repr__(self) -> str:
        error = "" if self.error is None else f",{self.error!r}"
        return f"ConfigResource({self.restype},{self.name}{error})"

    def __hash__(self) -> int:
        return hash((self.restype, self.name))

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return self.restype < other.restype or self.name < other.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return (self.restype, self.name) == (other.restype, other.name)

    def __len__(self) -> int:
        """How many settings `alter_configs` would give it."""
        return len(self.set_config_dict)

    def set_config(self, name: str, value: str, overwrite: bool = True) -> None:
        """Has `alter_configs` give it a setting; without `overwrite` only where there is none of that name
        yet. All settings that it is not given go back to their defaults then."""
        if overwrite or name not in self.set_config_dict:
            self.set_config_dict[name] = value

    def add_incremental_config(self, config_entry: ConfigEntry) -> None:
        """Has `incremental_alter_configs` do what the entry's `incremental_operation` says."""
        self.incremental_configs.append(config_entry)
