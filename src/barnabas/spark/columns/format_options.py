"""The options that say what keys and values mean: `value.format` and those beside it, checked by themselves.

Whether a schema is right is seen when columns are made of it (`decoding`, `encoding`), and only then is a
registry asked. Must not know Spark.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from barnabas.errors import ConfigError
from barnabas.registry.config import RegistryConfig, load_registry_config
from barnabas.settings.table import from_properties
from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.option_table import DECODING, OF_A_REGISTRY, OF_A_SIDE, OF_A_WRITTEN_SIDE, names
from barnabas.spark.option_values import boolean, whole_number
from barnabas.values import frozen

Side = Literal["key", "value"]
Mode = Literal["failfast", "permissive", "dead-letter"]
FormatName = Literal["string", "json", "avro", "protobuf"]

SIDES: tuple[Side, ...] = ("key", "value")
FORMATS: tuple[FormatName, ...] = ("string", "json", "avro", "protobuf")
# The first is the default.
MODES: tuple[Mode, ...] = ("failfast", "permissive", "dead-letter")
FRAMINGS = ("none", "confluent")
REGISTRY_PREFIX = "schema.registry."

FORMAT_OPTIONS = tuple(f"{side}.{name}" for side in SIDES for name in names(OF_A_SIDE))
DECODING_OPTIONS = names(DECODING)
ENCODING_OPTIONS = tuple(f"{side}.{name}" for side in SIDES for name in names(OF_A_WRITTEN_SIDE))


@frozen
class RegistryOptions:
    """Where a schema is, and which it is: the latest version where neither `version` nor `id` is given, nor a
    schema beside the options."""

    config: RegistryConfig
    subject: str
    version: int | None
    id: int | None
    registers: bool
    normalize: bool
    ignores_rules: bool = False


@frozen
class FormatOptions:
    """The format of keys or of values. `schema` is text, or for protobuf the bytes of a descriptor set."""

    side: Side
    format: FormatName
    schema: str | bytes | None
    message: str | None
    is_framed: bool
    schema_id: int | None
    registry: RegistryOptions | None = None


@frozen
class DecodingOptions:
    sides: tuple[FormatOptions, ...]
    mode: Mode
    dead_letter_topic: str | None


def decoding_options(given: Mapping[str, str], topic_read: str | None = None) -> DecodingOptions | None:
    """By the lower-case names of options. None where keys and values stay bytes. `topic_read`: the topic, if
    there is only one.

    Raises: InvalidOptionError.
    """
    sides = _sides(given, topic_read)
    if not sides:
        for option in DECODING_OPTIONS:
            if option.lower() in given:
                raise InvalidOptionError(f"{option} means nothing without value.format or key.format")
        return None
    mode = _mode(given)
    topic = _text(given, "deadLetterTopic")
    if mode == "dead-letter" and topic is None:
        raise InvalidOptionError("mode is dead-letter: say where to, with deadLetterTopic")
    if mode != "dead-letter" and topic is not None:
        raise InvalidOptionError(f"deadLetterTopic is for mode=dead-letter, and mode is {mode}")
    return DecodingOptions(sides, mode, topic)


def encoding_options(given: Mapping[str, str], topic_written: str | None = None) -> tuple[FormatOptions, ...]:
    """By the lower-case names of options. `topic_written`: the option `topic`. Raises: InvalidOptionError."""
    sides = _sides(given, topic_written)
    for side in SIDES:
        is_registered = any(each.side == side and each.registry is not None for each in sides)
        for name in names(OF_A_WRITTEN_SIDE):
            if f"{side}.{name}" in given and not is_registered:
                raise InvalidOptionError(f"{side}.{name} means nothing without schema.registry.url")
    for side in sides:
        if side.registry is not None:
            continue
        if side.is_framed and side.schema_id is None:
            raise InvalidOptionError(f"{side.side}.framing is confluent: give the id in {side.side}.schemaId")
        if side.format == "json" and side.schema is not None:
            raise InvalidOptionError(f"{side.side}.schema: what is written as json goes by its column's type")
    return sides


def _sides(given: Mapping[str, str], topic: str | None) -> tuple[FormatOptions, ...]:
    config = _registry_config(given)
    found = [_side(given, side, config, topic) for side in SIDES]
    sides = tuple(options for options in found if options is not None)
    if config is not None and all(side.registry is None for side in sides):
        raise InvalidOptionError(
            "schema.registry.url means nothing without value.format or key.format of avro, json or protobuf"
        )
    return sides


def _registry_config(given: Mapping[str, str]) -> RegistryConfig | None:
    """The `schema.registry.` options, by the registry client's own table."""
    settings: dict[str, Any] = from_properties(
        {
            name.removeprefix(REGISTRY_PREFIX): value
            for name, value in given.items()
            if name.startswith(REGISTRY_PREFIX)
        }
    )
    if not settings:
        return None
    # Spark prints the options of streaming frames in plans, and hides those with "password" in their names.
    if "basic_auth_user_info" in settings:
        raise InvalidOptionError(
            "schema.registry.basic.auth.user.info would be shown in Spark's plans: give "
            "schema.registry.basic.auth.user and schema.registry.basic.auth.password"
        )
    user, password = settings.pop("basic_auth_user", None), settings.pop("basic_auth_password", None)
    if (user is None) != (password is None):
        raise InvalidOptionError(
            "schema.registry.basic.auth.user and schema.registry.basic.auth.password go together"
        )
    if user is not None:
        settings["basic_auth_user_info"] = f"{user}:{password}"
    url = settings.pop("url", "")
    if not url.strip():
        raise InvalidOptionError("schema.registry.url is missing: give the registry's http://host:port")
    try:
        return load_registry_config(url, settings)
    except ConfigError as error:
        raise InvalidOptionError(f"in the options schema.registry.*: {error}") from None


def _side(
    given: Mapping[str, str], side: Side, config: RegistryConfig | None, topic: str | None
) -> FormatOptions | None:
    name = given.get(f"{side}.format", "binary").strip().lower()
    if name == "binary":
        for other in names(OF_A_SIDE)[1:]:
            if f"{side}.{other}".lower() in given:
                raise InvalidOptionError(f"{side}.{other} means nothing without {side}.format")
        return None
    for known in FORMATS:
        if name == known:
            return _checked(given, side, known, config, topic)
    raise InvalidOptionError(f"{side}.format must be one of binary, {', '.join(FORMATS)}, not {name!r}")


def _checked(
    given: Mapping[str, str], side: Side, name: FormatName, config: RegistryConfig | None, topic: str | None
) -> FormatOptions:
    has_registry = config is not None and name != "string"
    framing = given.get(f"{side}.framing", "confluent" if has_registry else "none").strip().lower()
    if framing not in FRAMINGS:
        raise InvalidOptionError(f"{side}.framing must be one of {', '.join(FRAMINGS)}, not {framing!r}")
    is_framed = framing == "confluent"
    registry = None
    if config is not None and has_registry and is_framed:
        registry = _registry_options(given, side, config, topic)
    else:
        for option in names(OF_A_REGISTRY):
            if f"{side}.{option}".lower() in given:
                raise InvalidOptionError(
                    f"{side}.{option} is for a format whose schema is in a registry: give schema.registry.url"
                )
    schema_id = whole_number(given, f"{side}.schemaId")
    if schema_id is not None and not is_framed:
        raise InvalidOptionError(f"{side}.schemaId is that of a header: set {side}.framing to confluent")
    if schema_id is not None and schema_id >= 2**32:
        raise InvalidOptionError(f"{side}.schemaId must be below 2^32, not {schema_id}")
    message = _text(given, f"{side}.message")
    if (message is not None) != (name == "protobuf") and (message is not None or registry is None):
        problem = "is needed by" if name == "protobuf" else "is for protobuf, and means nothing to"
        raise InvalidOptionError(f"{side}.message {problem} {side}.format={name}")
    schema = _schema(given, side, is_binary=name == "protobuf" and registry is None)
    if schema is not None and name == "string":
        raise InvalidOptionError(f"{side}.schema means nothing to {side}.format=string")
    if schema is None and registry is None and name in ("avro", "protobuf"):
        raise InvalidOptionError(f"{side}.format={name} needs {side}.schema or {side}.schemaFile")
    if registry is not None and schema_id is not None:
        raise InvalidOptionError(
            f"{side}.schemaId is for a schema beside the options; with a registry it is {side}.schema.id"
        )
    if registry is not None and schema is not None and (registry.version, registry.id) != (None, None):
        raise InvalidOptionError(f"{side}.schema excludes {side}.schema.version and {side}.schema.id")
    return FormatOptions(side, name, schema, message, is_framed, schema_id, registry)


def _registry_options(
    given: Mapping[str, str], side: Side, config: RegistryConfig, topic: str | None
) -> RegistryOptions:
    version = _text(given, f"{side}.schema.version")
    number = None
    if version is not None and version.lower() != "latest":
        number = whole_number(given, f"{side}.schema.version")
    id = whole_number(given, f"{side}.schema.id")
    if version is not None and id is not None:
        raise InvalidOptionError(f"{side}.schema.version and {side}.schema.id exclude each other")
    subject = _text(given, f"{side}.schema.subject")
    if subject is None:
        if topic is None and id is None:
            raise InvalidOptionError(
                f"there is not one topic that a subject could be named after: give {side}.schema.subject"
            )
        subject = f"{topic}-{side}" if topic is not None else ""
    registers = boolean(given, f"{side}.schema.register", default=True)
    normalize = boolean(given, f"{side}.schema.normalize", default=False)
    ignores_rules = boolean(given, f"{side}.schema.ignoreRules", default=False)
    return RegistryOptions(config, subject, number, id, registers, normalize, ignores_rules)


def _schema(given: Mapping[str, str], side: Side, *, is_binary: bool) -> str | bytes | None:
    """The schema as it is given, or out of the file that is."""
    inline, path = _text(given, f"{side}.schema"), _text(given, f"{side}.schemaFile")
    if inline is not None and path is not None:
        raise InvalidOptionError(f"give either {side}.schema or {side}.schemaFile, not both")
    if path is not None:
        try:
            contents = Path(path).read_bytes()
            return contents if is_binary else contents.decode()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidOptionError(f"{side}.schemaFile cannot be read on the driver: {error}") from None
    if inline is None or not is_binary:
        return inline
    try:
        return base64.b64decode(inline, validate=True)
    except ValueError as error:
        raise InvalidOptionError(
            f"{side}.schema must be a descriptor set in base64 ({error}), or {side}.schemaFile name its file"
        ) from None


def _mode(given: Mapping[str, str]) -> Mode:
    text = given.get("mode", MODES[0]).strip().lower()
    for mode in MODES:
        if text == mode:
            return mode
    raise InvalidOptionError(f"mode must be one of {', '.join(MODES)}, not {text!r}")


def _text(given: Mapping[str, str], option: str) -> str | None:
    text = given.get(option.lower())
    if text is not None and not text.strip():
        raise InvalidOptionError(f"{option} is empty")
    return None if text is None else text.strip()
