"""Configurations: the calls of KafkaAdminClient about them, as kafka-python 3 answers, and what they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.util import EnumHelper
from barnabas.compat.kafka_engine.admin import configs as requests
from barnabas.compat.kafka_engine.admin.containers import container_of
from barnabas.compat.kafka_engine.admin.session import BrokerSession
from barnabas.compat.kafka_engine.generations import generation
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.secrets import shown_field


class AlterConfigOp(EnumHelper, IntEnum):
    """What becomes of an entry of a configuration; lists take APPEND and SUBTRACT (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigType(EnumHelper, IntEnum):
    """The type of an entry's values."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSourceType(EnumHelper, IntEnum):
    """Where an entry's value comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8

    def is_modified(self) -> bool:
        """Whether somebody set it for this resource."""
        return self.value not in (3, 4, 5)

    @classmethod
    def dynamic_for_resource_type(cls, resource_type: Any) -> ConfigSourceType:
        """What brokers that do not tell mean by a value that is no default."""
        return _DYNAMIC_SOURCES[resource_type.name]


_DYNAMIC_SOURCES = {
    "UNKNOWN": ConfigSourceType.UNKNOWN,
    "TOPIC": ConfigSourceType.DYNAMIC_TOPIC_CONFIG,
    "BROKER": ConfigSourceType.DYNAMIC_BROKER_CONFIG,
    "BROKER_LOGGER": ConfigSourceType.DYNAMIC_BROKER_LOGGER_CONFIG,
    "CLIENT_METRICS": ConfigSourceType.DYNAMIC_CLIENT_METRICS_CONFIG,
    "GROUP": ConfigSourceType.DYNAMIC_GROUP_CONFIG,
}


class ConfigFilterType(EnumHelper, IntEnum):
    """Which entries `describe_configs` gives."""

    ALL = 0
    DYNAMIC = 1
    MODIFIED = 2
    DEFAULT = 3
    STATIC = 4

    def should_skip(self, config_source: ConfigSourceType) -> bool:
        """Whether an entry from this source is left out."""
        if self is ConfigFilterType.MODIFIED:
            return not config_source.is_modified()
        if self is ConfigFilterType.DEFAULT:
            return config_source.is_modified()
        if self is ConfigFilterType.STATIC:
            return config_source is not ConfigSourceType.STATIC_BROKER_CONFIG
        return False


class _ResourceTypes(EnumHelper, IntEnum):
    """Where ConfigResourceType has its functions from."""


ConfigResourceType: Any = _ResourceTypes(  # pyright: ignore[reportCallIssue]
    "ConfigResourceType",  # pyright: ignore[reportArgumentType]
    dict(generation().config_resource_types),
    module=__name__,
)
"""What has a configuration."""


class ConfigResource:
    """Something that has a configuration.

    `resource_type`: a ConfigResourceType, or its name. `configs`: the names of entries, or their values, or
    (AlterConfigOp, value) for each; None for all of them.
    """

    def __init__(self, resource_type: Any, name: str, configs: Any = None) -> None:
        if not isinstance(resource_type, ConfigResourceType):
            resource_type = ConfigResourceType[str(resource_type).upper()]
        self.resource_type = resource_type
        self.name = name
        self.configs = configs

    def __str__(self) -> str:
        return generation().config_resource_text.format(type=self.resource_type, name=self.name)

    def __repr__(self) -> str:
        return f"ConfigResource({self.resource_type}, {self.name}, {_shown(self.configs)})"


def _shown(configs: Any) -> str:
    if not isinstance(configs, Mapping):
        return f"{configs}"
    entries: Mapping[Any, Any] = configs  # pyright: ignore[reportUnknownVariableType]
    shown = (
        f"{name!r}: {shown_field('value', {'name': name, 'value': value})}" for name, value in entries.items()
    )
    return f"{{{', '.join(shown)}}}"


def _changes(configs: Any, needs: str) -> dict[str, tuple[int, Any]]:
    if not configs:
        return {}
    if not isinstance(configs, dict):
        raise TypeError(needs)
    changes: dict[str, tuple[int, Any]] = {}
    for name, change in configs.items():  # pyright: ignore[reportUnknownVariableType]
        operation, value = change if isinstance(change, tuple) else (AlterConfigOp.SET, change)  # pyright: ignore
        code = AlterConfigOp.value_for(operation)
        changes[name] = code, None if code == AlterConfigOp.DELETE else value
    return changes


class ConfigAdminMixin:
    """Calls about configurations."""

    _session: BrokerSession

    def describe_configs(
        self,
        config_resources: list[ConfigResource],
        include_synonyms: bool = False,
        config_filter: Any = "modified",
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """The entries of resources, by the type and name of a resource and by their own names.

        `config_filter`: a ConfigFilterType or its name; "modified" leaves out what nobody set.
        Raises: ValueError for a broker whose name is no number.
        """
        return self._session.run(self._described_configs(config_resources, include_synonyms, config_filter))

    def list_config_resources(self, resource_types: Iterable[Any] | None = None) -> dict[str, list[str]]:
        """The names of what has a configuration, by the names of types (KIP-1142). `resource_types`: of
        ConfigResourceType, or their names; None for all that brokers list."""
        wanted = [ConfigResourceType.build_from(each).value for each in resource_types or ()]
        answer = self._session.run(requests.list_resources(self._session, wanted))
        answer.check_whole()
        found: dict[str, list[str]] = {}
        for resource in answer.message.config_resources:
            name = ConfigResourceType(resource.resource_type).name.lower()
            found.setdefault(name, []).append(resource.resource_name)
        return found

    def alter_configs(
        self,
        config_resources: list[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Changes entries. Gives "OK" or the text of an error, by the type and name of a resource.

        `incremental`: False replaces all that is set, with what was set before filled in; None is True
        wherever brokers take it (2.3 and later). Raises: ValueError for an entry that a resource does not
        have, unless `raise_on_unknown` is False.
        """
        return self._session.run(
            self._altered_configs(config_resources, validate_only, raise_on_unknown, incremental)
        )

    def reset_configs(
        self,
        config_resources: list[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Gives entries their defaults again: those that are named, or all that were changed where none is.
        As `alter_configs`."""
        return self._session.run(
            self._reset_configs(config_resources, validate_only, raise_on_unknown, incremental)
        )

    async def _described_configs(
        self, config_resources: Iterable[ConfigResource], include_synonyms: bool, config_filter: Any
    ) -> dict[str, dict[str, dict[str, Any]]]:
        wanted = ConfigFilterType.build_from(config_filter)
        keys = {(each.resource_type, each.name): each.configs for each in config_resources}
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for place, resources in requests.places_of(keys).items():
            asked = [
                (int(kind), name, None if keys[kind, name] is None else list(keys[kind, name]))
                for kind, name in resources
            ]
            answer = await requests.describe_configs(
                self._session, asked, place, include_synonyms=include_synonyms
            )
            for result in container_of(answer.message, answer.version).results:
                kind = ConfigResourceType(result.resource_type)
                found.setdefault(kind.name.lower(), {})[result.resource_name] = {
                    name: entry
                    for name, entry in (self._config_entry(config, kind) for config in result.configs)
                    if not self._should_skip_config(entry, wanted, kind)
                }
        return found

    def _config_entry(self, config: Any, resource_type: Any) -> tuple[str, dict[str, Any]]:
        entry = config.to_dict()
        return self._process_config(entry, resource_type), entry

    @classmethod
    def _process_config(cls, config: dict[str, Any], resource_type: Any) -> str:
        name = config.pop("name")
        config["config_source"] = cls._get_config_source(config, resource_type).name
        for synonym in config.get("synonyms", ()):
            synonym["source"] = ConfigSourceType(synonym["source"]).name
        if "config_type" in config:
            config["config_type"] = ConfigType(config["config_type"]).name
        return name

    @staticmethod
    def _get_config_source(config: Mapping[str, Any], resource_type: Any) -> ConfigSourceType:
        if "config_source" in config:
            return ConfigSourceType.build_from(config["config_source"])
        if config["read_only"] and resource_type is ConfigResourceType.BROKER:
            return ConfigSourceType.STATIC_BROKER_CONFIG
        if config.get("is_default", False):
            return ConfigSourceType.DEFAULT_CONFIG
        return ConfigSourceType.dynamic_for_resource_type(resource_type)

    @classmethod
    def _should_skip_config(
        cls, config: Mapping[str, Any], config_filter: ConfigFilterType, resource_type: Any
    ) -> bool:
        is_fixed = config_filter == ConfigFilterType.DYNAMIC and config["read_only"]
        return is_fixed or config_filter.should_skip(cls._get_config_source(config, resource_type))

    async def _config_entries_of(
        self, config_resources: list[ConfigResource], config_filter: str
    ) -> list[dict[str, Any]]:
        """Of each resource."""
        lookups = [ConfigResource(each.resource_type, each.name) for each in config_resources]
        found = await self._described_configs(lookups, False, config_filter)
        return [found[each.resource_type.name.lower()][each.name] for each in config_resources]

    async def _check_configs_are_known(self, config_resources: list[ConfigResource]) -> None:
        entries = await self._config_entries_of(config_resources, "dynamic")
        for resource, known in zip(config_resources, entries, strict=True):
            unknown = set(resource.configs or ()) - set(known)
            if unknown:
                raise ValueError(f"Unrecognized configs: {unknown}")

    async def _unmentioned_configs(self, config_resources: list[ConfigResource]) -> list[dict[str, Any]]:
        """What is set of each resource and it does not name."""
        return [
            {
                name: entry["value"]
                for name, entry in entries.items()
                if name not in (resource.configs or ()) and entry["value"] is not None
            }
            for resource, entries in zip(
                config_resources, await self._config_entries_of(config_resources, "modified"), strict=True
            )
        ]

    async def _is_incremental(self, incremental: bool | None) -> bool:
        if incremental is not None:
            return incremental
        try:
            await self._session.version(IncrementalAlterConfigsRequest)
        except Errors.IncompatibleBrokerVersion:
            return False
        return True

    async def _altered_configs(
        self,
        config_resources: list[ConfigResource],
        validate_only: bool,
        raise_on_unknown: bool,
        incremental: bool | None,
    ) -> dict[str, dict[str, str]]:
        if raise_on_unknown:
            await self._check_configs_are_known(config_resources)
        is_incremental = await self._is_incremental(incremental)
        if not is_incremental:
            unmentioned = await self._unmentioned_configs(config_resources)
            for resource, missing in zip(config_resources, unmentioned, strict=True):
                resource.configs = {**(resource.configs or {}), **missing}
        return await self._sent_changes(config_resources, validate_only, is_incremental)

    async def _reset_configs(
        self,
        config_resources: list[ConfigResource],
        validate_only: bool,
        raise_on_unknown: bool,
        incremental: bool | None,
    ) -> dict[str, dict[str, str]]:
        if raise_on_unknown:
            await self._check_configs_are_known(config_resources)
        is_incremental = await self._is_incremental(incremental)
        # Replacing takes what is to stay, and a change what is to go: of some resources that is not said.
        unclear = [each for each in config_resources if bool(each.configs) is not is_incremental]
        if unclear:
            for resource, configs in zip(unclear, await self._unmentioned_configs(unclear), strict=True):
                resource.configs = configs
        if is_incremental:
            for resource in config_resources:
                resource.configs = dict.fromkeys(resource.configs or (), (AlterConfigOp.DELETE, None))
        return await self._sent_changes(config_resources, validate_only, is_incremental)

    async def _sent_changes(
        self, config_resources: list[ConfigResource], validate_only: bool, is_incremental: bool
    ) -> dict[str, dict[str, str]]:
        of_resource = {(each.resource_type, each.name): each.configs for each in config_resources}
        found: dict[str, dict[str, str]] = {}
        for place, resources in requests.places_of(of_resource).items():
            responses = await self._change_responses(
                [(kind, name, of_resource[kind, name]) for kind, name in resources],
                place,
                validate_only,
                is_incremental,
            )
            for response in responses:
                result = "OK"
                if response.error_code:
                    result = str(Errors.for_code(response.error_code)(response.error_message))
                kind = ConfigResourceType(response.resource_type).name.lower()
                found.setdefault(kind, {})[response.resource_name] = result
        return found

    async def _change_responses(
        self,
        resources: list[tuple[Any, str, Any]],
        place: int | None,
        validate_only: bool,
        is_incremental: bool,
    ) -> list[Any]:
        if is_incremental:
            needs = (
                "alter_configs requires configs as a dict of {key: (op, value)} or {key: value} "
                "(interpreted as SET)"
            )
            changes = [
                (int(kind), name, [(key, *change) for key, change in _changes(configs, needs).items()])
                for kind, name, configs in resources
            ]
            answer = await requests.alter_configs(self._session, changes, place, validate_only=validate_only)
            return list(answer.message.responses)
        values: list[tuple[int, str, dict[str, Any]]] = []
        for kind, name, configs in resources:
            found = _changes(configs, f"configs should be a dict of {{key: value}}, found {type(configs)}")
            for operation, _ in found.values():
                if operation != AlterConfigOp.SET:
                    raise ValueError(
                        "Non-incremental AlterConfigsRequest does not support operation "
                        f"{AlterConfigOp(operation)} (SET only)"
                    )
            values.append((int(kind), name, {key: value for key, (_, value) in found.items()}))
        replaced = await requests.replace_configs(self._session, values, place, validate_only=validate_only)
        return list(replaced.message.responses)
