"""What serializers and deserializers are told, by the names that Confluent's have for it, in snake_case.

Plain data; what the words mean is in `serializing` and `deserializing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, cast

from barnabas.errors import InvalidSettingError
from barnabas.registry.schemas import Schema
from barnabas.registry.serializers.schema_id import IdReader, IdWriter
from barnabas.registry.serializers.subjects import AssociatedSubject, Strategy, StrategyName, subjects_of
from barnabas.settings.table import checked_values, setting
from barnabas.values import frozen

SubjectNames = StrategyName | Strategy | AssociatedSubject


def _properties(name: str, value: Any) -> Mapping[str, str] | None:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidSettingError(f"{name} must be a mapping of properties to values, not {value!r}")
    return cast(Mapping[str, str] | None, value)


def _strategy(name: str, value: Any) -> Any:
    if not isinstance(value, str | AssociatedSubject) and not callable(value):
        raise InvalidSettingError(f"{name} must be a name or a function, not {value!r}")
    subjects_of(cast(Any, value))
    return value


def _place(*names: str) -> Any:
    def check(name: str, value: Any) -> Any:
        if value not in names and not callable(value):
            raise InvalidSettingError(f"{name} must be {' or '.join(names)}, or a function, not {value!r}")
        return value

    return check


@frozen(kw_only=True)
class SerializerSettings:
    """Of any serializer."""

    auto_register_schemas: bool = setting(True, "Whether schemas are registered, or only looked up.")
    normalize_schemas: bool = setting(False, "Whether the registry takes texts that mean the same for one.")
    use_schema_id: int | None = setting(None, "Write with the schema that has this id.")
    use_latest_version: bool = setting(False, "Write with the subject's latest version.")
    use_latest_with_metadata: Any = setting(
        None, "Write with the latest version that has these properties.", check=_properties
    )
    subject_name_strategy: Any = setting("associated", "How subjects are named.", check=_strategy)
    schema_id: Any = setting(
        "prefix",
        "Where the schema's id goes, or a function that puts it there.",
        check=_place("prefix", "header"),
    )
    rules_of_latest_only: bool = setting(
        False, "Run rules only of schemas that the registry has given, as Confluent's client does."
    )

    @property
    def uses_latest(self) -> bool:
        """Whether values are written with a schema that the registry chooses, not with one's own."""
        return (
            self.use_schema_id is not None
            or self.use_latest_version
            or self.use_latest_with_metadata is not None
        )

    def check(self, schema: Schema | None) -> None:
        """Raises: InvalidSettingError."""
        if schema is None and not self.uses_latest:
            raise InvalidSettingError(
                "a schema is missing: give one, or use_latest_version=True for the subject's latest version"
            )


@frozen(kw_only=True)
class DeserializerSettings:
    """Of any deserializer. With one of the `use_` settings values are given as the subject's latest schema
    has them, by the rules that lead there."""

    use_latest_version: bool = setting(False, "Read into the subject's latest version.")
    use_latest_with_metadata: Any = setting(
        None, "Read into the latest version that has these properties.", check=_properties
    )
    subject_name_strategy: Any = setting("associated", "How subjects are named.", check=_strategy)
    schema_id: Any = setting(
        "dual",
        "Where the schema's id is (dual: in the headers, or else before the data), or a function that reads "
        "it.",
        check=_place("dual", "prefix"),
    )

    @property
    def uses_latest(self) -> bool:
        return self.use_latest_version or self.use_latest_with_metadata is not None


class SerializerKeywords(TypedDict, total=False):
    """What a serializer takes by name."""

    auto_register_schemas: bool
    normalize_schemas: bool
    use_schema_id: int | None
    use_latest_version: bool
    use_latest_with_metadata: Mapping[str, str] | None
    subject_name_strategy: SubjectNames
    schema_id: Literal["prefix", "header"] | IdWriter


class DeserializerKeywords(TypedDict, total=False):
    """What a deserializer takes by name."""

    use_latest_version: bool
    use_latest_with_metadata: Mapping[str, str] | None
    subject_name_strategy: SubjectNames
    schema_id: Literal["dual", "prefix"] | IdReader


def load_serializer_settings(settings: Mapping[str, Any]) -> SerializerSettings:
    """Raises: UnknownSettingError, InvalidSettingError."""
    return SerializerSettings(**checked_values(SerializerSettings, settings, {}))


def load_deserializer_settings(settings: Mapping[str, Any]) -> DeserializerSettings:
    """Raises: UnknownSettingError, InvalidSettingError."""
    return DeserializerSettings(**checked_values(DeserializerSettings, settings, {}))
