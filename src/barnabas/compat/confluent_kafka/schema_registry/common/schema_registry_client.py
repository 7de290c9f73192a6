# pyright: basic
"""What a registry keeps, as the original's classes have it, and how that looks in JSON.

Also small things that others import from here: the static bearer provider, which statuses mean what, how long
to wait before a retry. Knows nothing of requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self, TypeVar

from barnabas.chance import chance
from barnabas.compat.confluent_kafka.schema_registry.common._json_parts import (
    JsonObject,
    JsonPart,
    JsonParts,
    dict_of,
    dicts_of,
    json_parts,
    list_of,
    object_of,
    one_of,
    part_of,
    present,
)
from barnabas.compat.confluent_kafka.schema_registry.common._oauthbearer import (
    _AsyncStaticFieldProvider as _AsyncStaticFieldProvider,
)
from barnabas.compat.confluent_kafka.schema_registry.common._oauthbearer import (
    _StaticFieldProvider as _StaticFieldProvider,
)
from barnabas.compat.confluent_kafka.schema_registry.common._oauthbearer import (
    normalize_identity_pool as normalize_identity_pool,
)
from barnabas.registry.exchange import NOT_AT_PRESENT
from barnabas.registry.rules.kinds import RuleKind, RuleMode
from barnabas.registry.rules.kinds import RulePhase as RulePhase
from barnabas.values import frozen

__all__ = [
    "VALID_AUTH_PROVIDERS",
    "Association",
    "AssociationCreateOrUpdateInfo",
    "AssociationCreateOrUpdateRequest",
    "AssociationInfo",
    "AssociationResponse",
    "ConfigCompatibilityLevel",
    "Metadata",
    "MetadataProperties",
    "MetadataTags",
    "RegisteredSchema",
    "Rule",
    "RuleKind",
    "RuleMode",
    "RuleParams",
    "RuleSet",
    "Schema",
    "SchemaReference",
    "ServerConfig",
    "_AsyncStaticFieldProvider",
    "_StaticFieldProvider",
    "full_jitter",
    "is_retriable",
    "is_success",
    "normalize_identity_pool",
]

# The original has it here.
T = TypeVar("T")

VALID_AUTH_PROVIDERS = ["URL", "USER_INFO"]


def is_success(status_code: int) -> bool:
    return 200 <= status_code <= 299


def is_retriable(status_code: int) -> bool:
    return status_code in NOT_AT_PRESENT


def full_jitter(base_delay_ms: int, max_delay_ms: int, retries_attempted: int) -> float:
    return chance.random() * min(base_delay_ms * 2.0**retries_attempted, max_delay_ms)


@dataclass(slots=True, weakref_slot=True)
class RuleParams:
    """What a rule's executor is told besides."""

    params: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        return dict(self.params)

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        return cls(src_dict.copy())

    def __hash__(self) -> int:
        return hash(frozenset(self.params.items()))


@frozen
class Rule(JsonParts):
    """What is to be done with data of a schema."""

    name: str | None
    doc: str | None
    kind: RuleKind | None
    mode: RuleMode | None
    type: str | None
    tags: list[str] | None
    params: RuleParams | None
    expr: str | None
    on_success: str | None
    on_failure: str | None
    disabled: bool | None

    _json_parts = json_parts(
        kind=one_of(RuleKind),
        mode=one_of(RuleMode),
        type=JsonPart(is_told_as_none=True),
        params=part_of(RuleParams),
    )

    def __hash__(self) -> int:
        return hash((self.name, self.doc, self.kind, self.mode, self.type, self.params, self.expr))


@dataclass(slots=True, weakref_slot=True)
class RuleSet(JsonParts):
    """The rules of a schema, by their phases."""

    migration_rules: list[Rule] | None
    domain_rules: list[Rule] | None
    encoding_rules: list[Rule] | None = None
    enable_at: str | None = None

    _json_parts = json_parts(
        migration_rules=list_of(Rule),
        domain_rules=list_of(Rule),
        encoding_rules=list_of(Rule),
    )

    def __hash__(self) -> int:
        rules = (self.migration_rules or []) + (self.domain_rules or []) + (self.encoding_rules or [])
        return hash((frozenset(rules), self.enable_at))


@dataclass(slots=True, weakref_slot=True)
class MetadataTags:
    """Tags of fields, by the fields' paths, in which there may be wildcards."""

    tags: dict[str, list[str]] = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        return dict(self.tags)

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        return cls(src_dict.copy())

    def __hash__(self) -> int:
        tags = (self.tags or {}).items()
        return hash(
            frozenset((path, tuple(names) if isinstance(names, list) else names) for path, names in tags)
        )


@dataclass(slots=True, weakref_slot=True)
class MetadataProperties:
    """Properties of a schema."""

    properties: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        return dict(self.properties)

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        return cls(src_dict.copy())

    def __hash__(self) -> int:
        return hash(frozenset(self.properties.items()))


@frozen
class Metadata(JsonParts):
    """Of a schema. `sensitive` names the properties that are not to be shown."""

    tags: MetadataTags | None
    properties: MetadataProperties | None
    sensitive: list[str] | None

    _json_parts = json_parts(
        tags=part_of(MetadataTags),
        properties=part_of(MetadataProperties),
        sensitive=JsonPart(
            lambda found: list(found or []), lambda names: None if names is None else list(names)
        ),
    )

    def __hash__(self) -> int:
        return hash((self.tags, self.properties))


@frozen
class SchemaVersion:
    """Where a schema is registered."""

    subject: str | None
    version: int | None

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        return cls(src_dict.get("subject"), src_dict.get("version"))


@frozen
class SchemaReference(JsonParts):
    """Another schema that this one needs, by the name that it has in the text."""

    name: str | None
    subject: str | None
    version: int | None

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        return cls(src_dict.get("name"), src_dict.get("subject"), src_dict.get("version"))


class ConfigCompatibilityLevel(str, Enum):  # noqa: UP042  the bases are the original's
    """What a new version has to be compatible with."""

    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"
    NONE = "NONE"

    def __str__(self) -> str:
        return str(self.value)


@dataclass(slots=True, weakref_slot=True)
class ServerConfig(JsonParts):
    """What is set for a subject, or for all. It is set as `compatibility` and told as
    `compatibility_level`."""

    compatibility: ConfigCompatibilityLevel | None = None
    compatibility_level: ConfigCompatibilityLevel | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    _json_parts = json_parts(
        compatibility=one_of(ConfigCompatibilityLevel),
        compatibility_level=one_of(ConfigCompatibilityLevel),
        default_metadata=object_of(Metadata),
        override_metadata=object_of(Metadata),
        default_rule_set=object_of(RuleSet),
        override_rule_set=object_of(RuleSet),
    )


@frozen
class Schema(JsonParts):
    """A schema, not registered yet: its text, and of what type that is (AVRO, JSON, PROTOBUF)."""

    schema_str: str | None
    schema_type: str | None = "AVRO"
    references: list[SchemaReference] | None = field(default_factory=list)
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None

    _json_parts = json_parts(
        schema_str=JsonPart(name="schema"),
        schema_type=JsonPart(absent="AVRO"),
        references=JsonPart(list_of(SchemaReference).read, lambda parts: dicts_of(parts or [])),
        metadata=JsonPart(
            object_of(Metadata).read, lambda part: part.to_dict() if isinstance(part, Metadata) else None
        ),
        rule_set=JsonPart(
            object_of(RuleSet).read, lambda part: part.to_dict() if isinstance(part, RuleSet) else None
        ),
    )

    def __hash__(self) -> int:
        return hash((self.schema_str, self.schema_type, self.metadata, self.rule_set))

    # By these names `barnabas.registry` knows them.

    @property
    def text(self) -> str | None:
        return self.schema_str

    @property
    def type(self) -> str | None:
        return self.schema_type


@frozen
class RegisteredSchema:
    """A version of a subject. `schema_id` is the registry's own, `guid` the same in every registry."""

    subject: str | None
    version: int | None
    schema_id: int | None
    guid: str | None
    schema: Schema

    def to_dict(self) -> JsonObject:
        found = {} if self.schema is None else self.schema.to_dict()
        return found | present(id=self.schema_id, guid=self.guid, subject=self.subject, version=self.version)

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        return cls(
            subject=found.get("subject"),
            version=found.get("version"),
            schema_id=found.get("id"),
            guid=found.get("guid"),
            schema=Schema.from_dict(found),
        )


@frozen
class Association(JsonParts):
    """That a subject has the schemas of a resource, such as a topic."""

    subject: str | None
    guid: str | None
    resource_name: str | None
    resource_namespace: str | None
    resource_id: str | None
    resource_type: str | None
    association_type: str | None
    frozen: bool = False

    _json_parts = json_parts(
        frozen=JsonPart(absent=False, is_told_as_none=True),
    )


# What is empty is none, here.
_SCHEMA_IF_ANY = JsonPart(lambda found: Schema.from_dict(found) if found else None, dict_of)


def _some_of(kind: type[Any]) -> JsonPart:
    return JsonPart(lambda found: list_of(kind).read(found) or None, dicts_of)


@dataclass(slots=True, weakref_slot=True)
class AssociationInfo(JsonParts):
    """An association, as a registry answers it."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool = False
    schema: Schema | None = None

    _json_parts = json_parts(
        frozen=JsonPart(absent=False, is_told_as_none=True),
        schema=_SCHEMA_IF_ANY,
    )


@dataclass(slots=True, weakref_slot=True)
class AssociationCreateOrUpdateInfo(JsonParts):
    """An association that is to be made, or changed."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    schema: Schema | None = None
    normalize: bool | None = None

    _json_parts = json_parts(
        schema=_SCHEMA_IF_ANY,
    )


@dataclass(slots=True, weakref_slot=True)
class AssociationCreateOrUpdateRequest(JsonParts):
    """A resource, and the associations that it is to have."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationCreateOrUpdateInfo] | None = None

    _json_parts = json_parts(
        associations=_some_of(AssociationCreateOrUpdateInfo),
    )


@dataclass(slots=True, weakref_slot=True)
class AssociationResponse(JsonParts):
    """A resource, and the associations that it has now."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationInfo] | None = None

    _json_parts = json_parts(
        associations=_some_of(AssociationInfo),
    )
