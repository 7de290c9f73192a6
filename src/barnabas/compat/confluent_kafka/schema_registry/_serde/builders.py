# pyright: basic
"""What the builders of (de)serializers are given: by arguments, or one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

Conf = dict[str, Any] | None


class BuilderParts:
    """Of every builder."""

    _schema_registry_conf: Conf
    _schema_registry_client: Any
    _rule_conf: Conf
    _rule_registry: Any

    def _take(self, conf: Conf, client: Any, rule_conf: Conf, rule_registry: Any) -> None:
        self._schema_registry_conf = conf
        self._schema_registry_client = client
        self._rule_conf = rule_conf
        self._rule_registry = rule_registry

    def set_schema_registry_config(self, schema_registry_conf: dict[str, Any]) -> Self:
        """Makes a client of a registry with it. Not together with a client."""
        self._schema_registry_conf = schema_registry_conf
        return self

    def set_schema_registry_client(self, schema_registry_client: Any) -> Self:
        """A client of a registry, in place of one that is made."""
        self._schema_registry_client = schema_registry_client
        return self

    def set_rule_config(self, rule_conf: dict[str, Any]) -> Self:
        """What executors and actions of rules are told."""
        self._rule_conf = rule_conf
        return self

    def set_rule_registry(self, rule_registry: Any) -> Self:
        """Executors and actions of rules, in place of the process's."""
        self._rule_registry = rule_registry
        return self


class SerializerParts(BuilderParts):
    """Of every serializer's builder."""

    _serializer_conf: Conf
    _serializer_init: Callable[[Any], Any] | None

    def set_serializer_config(self, serializer_conf: dict[str, Any]) -> Self:
        """The serializer's properties."""
        self._serializer_conf = serializer_conf
        return self

    def set_serializer_init(self, serializer_init: Callable[[Any], Any]) -> Self:
        """Called with the serializer once it is built."""
        self._serializer_init = serializer_init
        return self


class DeserializerParts(BuilderParts):
    """Of every deserializer's builder."""

    _deserializer_conf: Conf
    _deserializer_init: Callable[[Any], Any] | None

    def set_deserializer_config(self, deserializer_conf: dict[str, Any]) -> Self:
        """The deserializer's properties."""
        self._deserializer_conf = deserializer_conf
        return self

    def set_deserializer_init(self, deserializer_init: Callable[[Any], Any]) -> Self:
        """Called with the deserializer once it is built."""
        self._deserializer_init = deserializer_init
        return self


class _WithSchema:
    _schema_str: Any

    def set_schema(self, schema_str: Any) -> Self:
        """The schema: a text, or a Schema."""
        self._schema_str = schema_str
        return self


class _WithToDict:
    _to_dict: Callable[[Any, Any], dict[str, Any]] | None

    def set_to_dict(self, to_dict: Callable[[Any, Any], dict[str, Any]]) -> Self:
        """Makes a dict of what is to be written, called with it and its context."""
        self._to_dict = to_dict
        return self


class _WithFromDict:
    _from_dict: Callable[[Any, Any], Any] | None

    def set_from_dict(self, from_dict: Callable[[Any, Any], Any]) -> Self:
        """Makes an object of what was read, called with it and its context."""
        self._from_dict = from_dict
        return self


class _WithMessageType:
    _msg_type: Any

    def set_message_type(self, msg_type: Any) -> Self:
        """The class of the messages, which has to be given."""
        self._msg_type = msg_type
        return self


class AvroSerializerParts(_WithSchema, _WithToDict, SerializerParts):
    def __init__(
        self,
        schema_registry_config: Conf = None,
        schema_registry_client: Any = None,
        schema: Any = None,
        to_dict: Callable[[Any, Any], dict[str, Any]] | None = None,
        serializer_config: Conf = None,
        rule_config: Conf = None,
        rule_registry: Any = None,
        serializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._take(schema_registry_config, schema_registry_client, rule_config, rule_registry)
        self._schema_str = schema
        self._to_dict = to_dict
        self._serializer_conf = serializer_config
        self._serializer_init = serializer_init

    def _arguments(self, client: Any) -> tuple[Any, ...]:
        """Of the serializer's class."""
        conf, rules = self._serializer_conf, (self._rule_conf, self._rule_registry)
        return client, self._schema_str, self._to_dict, conf, *rules


class AvroDeserializerParts(_WithSchema, _WithFromDict, DeserializerParts):
    def __init__(
        self,
        schema_registry_config: Conf = None,
        schema_registry_client: Any = None,
        schema: Any = None,
        from_dict: Callable[[Any, Any], Any] | None = None,
        return_record_name: bool = False,
        deserializer_config: Conf = None,
        rule_config: Conf = None,
        rule_registry: Any = None,
        deserializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._take(schema_registry_config, schema_registry_client, rule_config, rule_registry)
        self._schema_str = schema
        self._from_dict = from_dict
        self._return_record_name = return_record_name
        self._deserializer_conf = deserializer_config
        self._deserializer_init = deserializer_init

    def set_return_record_name(self, return_record_name: bool) -> Self:
        """Whether a record of a union is given with its name."""
        self._return_record_name = return_record_name
        return self

    def _arguments(self, client: Any) -> tuple[Any, ...]:
        """Of the deserializer's class."""
        conf, rules = self._deserializer_conf, (self._rule_conf, self._rule_registry)
        return client, self._schema_str, self._from_dict, self._return_record_name, conf, *rules


class JsonSerializerParts(_WithSchema, _WithToDict, SerializerParts):
    def __init__(
        self,
        schema_registry_config: Conf = None,
        schema_registry_client: Any = None,
        schema: Any = None,
        to_dict: Callable[[Any, Any], dict[str, Any]] | None = None,
        serializer_config: Conf = None,
        rule_config: Conf = None,
        rule_registry: Any = None,
        json_encode: Callable[[Any], Any] | None = None,
        serializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._take(schema_registry_config, schema_registry_client, rule_config, rule_registry)
        self._schema_str = schema
        self._to_dict = to_dict
        self._json_encode = json_encode
        self._serializer_conf = serializer_config
        self._serializer_init = serializer_init

    def set_json_encode(self, json_encode: Callable[[Any], Any]) -> Self:
        """Makes JSON of a value, in place of ours."""
        self._json_encode = json_encode
        return self

    def _arguments(self, client: Any) -> tuple[Any, ...]:
        """Of the serializer's class."""
        conf, rules = self._serializer_conf, (self._rule_conf, self._rule_registry)
        return self._schema_str, client, self._to_dict, conf, *rules, self._json_encode


class JsonDeserializerParts(_WithSchema, _WithFromDict, DeserializerParts):
    def __init__(
        self,
        schema_registry_config: Conf = None,
        schema_registry_client: Any = None,
        schema: Any = None,
        from_dict: Callable[[Any, Any], Any] | None = None,
        deserializer_config: Conf = None,
        rule_config: Conf = None,
        rule_registry: Any = None,
        json_decode: Callable[[Any], Any] | None = None,
        deserializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._take(schema_registry_config, schema_registry_client, rule_config, rule_registry)
        self._schema_str = schema
        self._from_dict = from_dict
        self._json_decode = json_decode
        self._deserializer_conf = deserializer_config
        self._deserializer_init = deserializer_init

    def set_json_decode(self, json_decode: Callable[[Any], Any]) -> Self:
        """Reads JSON, in place of ours."""
        self._json_decode = json_decode
        return self

    def _arguments(self, client: Any) -> tuple[Any, ...]:
        """Of the deserializer's class."""
        conf, rules = self._deserializer_conf, (self._rule_conf, self._rule_registry)
        return self._schema_str, self._from_dict, client, conf, *rules, self._json_decode


class ProtobufSerializerParts(_WithMessageType, SerializerParts):
    def __init__(
        self,
        schema_registry_config: Conf = None,
        schema_registry_client: Any = None,
        message_type: Any = None,
        serializer_config: Conf = None,
        rule_config: Conf = None,
        rule_registry: Any = None,
        serializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._take(schema_registry_config, schema_registry_client, rule_config, rule_registry)
        self._msg_type = message_type
        self._serializer_conf = serializer_config
        self._serializer_init = serializer_init

    def _check(self) -> None:
        if self._msg_type is None:
            raise ValueError("Protobuf serializer requires a message type; call set_message_type()")

    def _arguments(self, client: Any) -> tuple[Any, ...]:
        """Of the serializer's class."""
        return self._msg_type, client, self._serializer_conf, self._rule_conf, self._rule_registry


class ProtobufDeserializerParts(_WithMessageType, DeserializerParts):
    def __init__(
        self,
        schema_registry_config: Conf = None,
        schema_registry_client: Any = None,
        message_type: Any = None,
        deserializer_config: Conf = None,
        rule_config: Conf = None,
        rule_registry: Any = None,
        deserializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._take(schema_registry_config, schema_registry_client, rule_config, rule_registry)
        self._msg_type = message_type
        self._deserializer_conf = deserializer_config
        self._deserializer_init = deserializer_init

    def _check(self) -> None:
        if self._msg_type is None:
            raise ValueError("Protobuf deserializer requires a message type; call set_message_type()")

    def _arguments(self, client: Any) -> tuple[Any, ...]:
        """Of the deserializer's class."""
        return self._msg_type, self._deserializer_conf, client, self._rule_conf, self._rule_registry
