"""What a registry keeps: schemas, with what they refer to, their metadata and rules.

Owns how these look in JSON. Knows nothing of requests, nor of what a schema's text means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any, Literal, Self, TypeVar, cast

from barnabas.values import frozen

SchemaType = Literal["AVRO", "JSON", "PROTOBUF"]
JsonObject = dict[str, Any]
T = TypeVar("T")

_LEFT_OUT: tuple[Any, ...] = (None, (), [], {})


class BadAnswerError(Exception):
    """JSON that is not what the API has there."""


@frozen
class SchemaReference:
    """Another schema that this one needs. `name`: what it is called in the text: a full name in Avro, a URL
    in JSON Schema, the path of an import in Protobuf."""

    name: str
    subject: str
    version: int

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        return cls(read.text("name"), read.text("subject"), read.number("version"))


@frozen
class Metadata:
    """Metadata of a schema. `tags`: of fields, by their paths, which may have `*`. `sensitive`: names of
    properties that are not to be shown."""

    tags: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    sensitive: Sequence[str] = ()

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        tags = {path: tuple(names) for path, names in read.mapping("tags").items()}
        return cls(tags, read.mapping("properties"), tuple(read.sequence("sensitive")))


@frozen
class Rule:
    """What is to be done with data of a schema. `kind`: CONDITION or TRANSFORM; `mode`: when (UPGRADE,
    DOWNGRADE, UPDOWN, READ, WRITE, WRITEREAD); `type`: by what (CEL, CEL_FIELD, JSONATA, ENCRYPT, ...)."""

    name: str
    kind: str | None = None
    mode: str | None = None
    type: str | None = None
    doc: str | None = None
    tags: Sequence[str] | None = None
    params: Mapping[str, str] | None = None
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool | None = None

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        words: JsonObject = {each.name: read.any(camel(each.name)) for each in fields(cls)}
        words["name"] = read.text("name")
        return cls(**words)


@frozen
class RuleSet:
    """Rules for moving from one version to another, for each record, and for its bytes."""

    migration_rules: Sequence[Rule] = ()
    domain_rules: Sequence[Rule] = ()
    encoding_rules: Sequence[Rule] = ()
    enable_at: str | None = None

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)

        def rules(kind: str) -> tuple[Rule, ...]:
            return tuple(map(Rule.from_json, read.sequence(kind)))

        enable_at = read.any("enableAt")
        return cls(rules("migrationRules"), rules("domainRules"), rules("encodingRules"), enable_at)


@frozen
class Schema:
    """A schema as it is registered. `text`: an Avro or JSON schema in JSON, or a .proto file."""

    text: str
    type: SchemaType | str = "AVRO"
    references: Sequence[SchemaReference] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None

    def __hash__(self) -> int:
        return hash((self.text, self.type))

    def to_json(self) -> JsonObject:
        """Returns it in the form that a registry takes."""
        found: JsonObject = {"schema": self.text, "schemaType": self.type}
        if self.references:
            found["references"] = [to_json(reference) for reference in self.references]
        if self.metadata is not None:
            found["metadata"] = to_json(self.metadata)
        if self.rule_set is not None:
            found["ruleSet"] = to_json(self.rule_set)
        return found

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        metadata, rule_set = read.any("metadata"), read.any("ruleSet")
        return cls(
            read.text("schema"),
            # Left out for Avro.
            read.any("schemaType") or "AVRO",
            tuple(map(SchemaReference.from_json, read.sequence("references"))),
            None if metadata is None else Metadata.from_json(metadata),
            None if rule_set is None else RuleSet.from_json(rule_set),
        )


@frozen
class RegisteredSchema:
    """A version of a subject. `id` is the registry's (or the context's), `guid` is the same in every
    registry; None where the registry is too old to have one."""

    subject: str
    version: int
    id: int
    guid: str | None
    schema: Schema
    is_deleted: bool = False

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        return cls(
            read.text("subject"),
            read.number("version"),
            read.number("id"),
            read.any("guid"),
            Schema.from_json(found),
            bool(read.any("deleted")),
        )


@frozen
class SubjectVersion:
    """A subject and its version that a schema is registered as."""

    subject: str
    version: int

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        return cls(read.text("subject"), read.number("version"))


@frozen
class Compatibility:
    """The answer to whether a schema may become a subject's next version. If it may not, `messages` say why,
    as the registry puts it."""

    is_compatible: bool
    messages: Sequence[str] = ()

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        return cls(bool(read.some("is_compatible")), tuple(map(str, read.sequence("messages"))))


@frozen
class RegistrySettings:
    """What holds for a subject, a context, or all of a registry; None is not set there. `compatibility`:
    NONE, BACKWARD, FORWARD, FULL, or one of the last three with _TRANSITIVE."""

    compatibility: str | None = None
    compatibility_group: str | None = None
    compatibility_policy: str | None = None
    alias: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_rules: bool | None = None
    validate_names: bool | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        values = {each.name: read.any(camel(each.name)) for each in fields(cls)}
        if values["compatibility"] is None:
            # Its name where it is asked for, and not set.
            values["compatibility"] = read.any("compatibilityLevel")
        for name, kind in (("metadata", Metadata), ("rule_set", RuleSet)):
            for whose in ("default", "override"):
                part = values[f"{whose}_{name}"]
                values[f"{whose}_{name}"] = None if part is None else kind.from_json(part)
        return cls(**values)


@frozen
class Association:
    """That a subject has the schemas of a resource, a topic mostly. `association_type`: `key` or `value`;
    `lifecycle`: STRONG (goes with the resource) or WEAK. `is_frozen`: that it cannot be changed; None leaves
    it to the registry."""

    association_type: str
    subject: str | None = None
    lifecycle: str | None = None
    is_frozen: bool | None = None
    schema: Schema | None = None
    guid: str | None = None

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Reads it from what a registry answers."""
        read = Reader(found)
        schema, lifecycle, is_frozen = read.any("schema"), read.any("lifecycle"), read.any("frozen")
        return cls(
            read.text("associationType"),
            read.any("subject"),
            lifecycle,
            # Newer registries do not say what the lifecycle does.
            lifecycle == "STRONG" if is_frozen is None else bool(is_frozen),
            None if schema is None else Schema.from_json(schema),
            read.any("guid"),
        )

    def to_json(self) -> JsonObject:
        """Returns it in the form that a registry takes."""
        found: JsonObject = {"associationType": self.association_type}
        own = {"subject": self.subject, "lifecycle": self.lifecycle, "frozen": self.is_frozen}
        for name, value in own.items():
            if value is not None:
                found[name] = value
        if self.schema is not None:
            found["schema"] = self.schema.to_json()
        return found


@frozen
class Resource:
    """What subjects are associated with. `namespace`: of a topic, the cluster's id."""

    id: str
    name: str
    namespace: str
    type: str = "topic"


class Reader:
    """Of the fields of a JSON object. Raises: BadAnswerError, which names the field."""

    def __init__(self, found: Any) -> None:
        if not isinstance(found, dict):
            raise BadAnswerError(f"an object was to be expected, not {found!r:.100}")
        self._found = cast(JsonObject, found)

    def any(self, name: str) -> Any:
        """None where it is not there."""
        return self._found.get(name)

    def some(self, name: str) -> Any:
        value = self._found.get(name)
        if value is None:
            raise BadAnswerError(f"{name} is missing")
        return value

    def text(self, name: str) -> str:
        return self._of_type(name, str, "a text")

    def number(self, name: str) -> int:
        return self._of_type(name, int, "a whole number")

    def sequence(self, name: str) -> list[Any]:
        """Empty where it is not there."""
        return [] if self._found.get(name) is None else cast(list[Any], self._of_type(name, list, "a list"))

    def mapping(self, name: str) -> JsonObject:
        """Empty where it is not there."""
        return (
            {} if self._found.get(name) is None else cast(JsonObject, self._of_type(name, dict, "an object"))
        )

    def _of_type(self, name: str, kind: type[T], what: str) -> T:
        value = self.some(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise BadAnswerError(f"{name} was to be {what}, not {value!r:.100}")
        return value


def camel(name: str) -> str:
    """`rule_set` -> `ruleSet`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def to_json(value: Any) -> Any:
    """Of the classes above, and of what is in them. What is None or empty is left out."""
    if isinstance(value, Schema | Association):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: to_json(part) for name, part in cast(Mapping[str, Any], value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_json(part) for part in cast(Sequence[Any], value)]
    if value is None or isinstance(value, str | int | float):
        return value
    parts = {each.name: getattr(value, each.name) for each in fields(value)}
    return {camel(name): to_json(part) for name, part in parts.items() if part not in _LEFT_OUT}
