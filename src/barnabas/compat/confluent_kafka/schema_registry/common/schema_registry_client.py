# pyright: basic
"""What a registry keeps, as the original's classes have it, and how that looks in JSON.

Also small things that others import from here: the static bearer provider, which statuses mean what, how long
to wait before a retry. Knows nothing of requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self, TypeVar

from barnabas.chance import chance
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

VALID_AUTH_PROVIDERS = ["URL", "USER_INFO"]

T = TypeVar("T")
JsonObject = dict[str, Any]


def is_success(status_code: int) -> bool:
    return 200 <= status_code <= 299


def is_retriable(status_code: int) -> bool:
    return status_code in NOT_AT_PRESENT


def full_jitter(base_delay_ms: int, max_delay_ms: int, retries_attempted: int) -> float:
    return chance.random() * min(base_delay_ms * 2.0**retries_attempted, max_delay_ms)


def _present(**values: Any) -> JsonObject:
    return {name: value for name, value in values.items() if value is not None}


def _dict_of(part: Any) -> Any:
    """In JSON; what is not one of the classes is left as it is."""
    return part.to_dict() if hasattr(part, "to_dict") else part


def _dicts_of(parts: list[Any] | None) -> list[JsonObject] | None:
    return None if parts is None else [part.to_dict() for part in parts]


def _read(kind: type[Any], found: Any) -> Any:
    """One of these classes where something is there. Raises: TypeError, if that is no object."""
    if found is None:
        return None
    if not isinstance(found, dict):
        raise TypeError()
    return kind.from_dict(found)


def _read_all(kind: type[T], found: list[JsonObject] | None) -> list[T]:
    read: Callable[[JsonObject], T] = kind.from_dict  # pyright: ignore[reportAttributeAccessIssue]
    return [read(each) for each in found or []]


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
class Rule:
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

    def __hash__(self) -> int:
        return hash((self.name, self.doc, self.kind, self.mode, self.type, self.params, self.expr))

    def to_dict(self) -> JsonObject:
        found = _present(
            name=self.name,
            doc=self.doc,
            kind=None if self.kind is None else self.kind.value,
            mode=None if self.mode is None else self.mode.value,
        )
        # There even if it is None.
        found["type"] = self.type
        return found | _present(
            tags=self.tags,
            params=_dict_of(self.params),
            expr=self.expr,
            onSuccess=self.on_success,
            onFailure=self.on_failure,
            disabled=self.disabled,
        )

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        kind, mode, params = found.get("kind"), found.get("mode"), found.get("params")
        return cls(
            name=found.get("name"),
            doc=found.get("doc"),
            kind=None if kind is None else RuleKind(kind),
            mode=None if mode is None else RuleMode(mode),
            type=found.get("type"),
            tags=found.get("tags"),
            params=None if params is None else RuleParams.from_dict(params),
            expr=found.get("expr"),
            on_success=found.get("onSuccess"),
            on_failure=found.get("onFailure"),
            disabled=found.get("disabled"),
        )


@dataclass(slots=True, weakref_slot=True)
class RuleSet:
    """The rules of a schema, by their phases."""

    migration_rules: list[Rule] | None
    domain_rules: list[Rule] | None
    encoding_rules: list[Rule] | None = None
    enable_at: str | None = None

    def to_dict(self) -> JsonObject:
        return _present(
            migrationRules=_dicts_of(self.migration_rules),
            domainRules=_dicts_of(self.domain_rules),
            encodingRules=_dicts_of(self.encoding_rules),
            enableAt=self.enable_at,
        )

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        return cls(
            migration_rules=_read_all(Rule, found.get("migrationRules")),
            domain_rules=_read_all(Rule, found.get("domainRules")),
            encoding_rules=_read_all(Rule, found.get("encodingRules")),
            enable_at=found.get("enableAt"),
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
class Metadata:
    """Of a schema. `sensitive` names the properties that are not to be shown."""

    tags: MetadataTags | None
    properties: MetadataProperties | None
    sensitive: list[str] | None

    def __hash__(self) -> int:
        return hash((self.tags, self.properties))

    def to_dict(self) -> JsonObject:
        return _present(
            tags=_dict_of(self.tags),
            properties=_dict_of(self.properties),
            sensitive=None if self.sensitive is None else list(self.sensitive),
        )

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        tags, properties = found.get("tags"), found.get("properties")
        return cls(
            tags=None if tags is None else MetadataTags.from_dict(tags),
            properties=None if properties is None else MetadataProperties.from_dict(properties),
            sensitive=list(found.get("sensitive") or []),
        )


@frozen
class SchemaVersion:
    """Where a schema is registered."""

    subject: str | None
    version: int | None

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        return cls(src_dict.get("subject"), src_dict.get("version"))


@frozen
class SchemaReference:
    """Another schema that this one needs, by the name that it has in the text."""

    name: str | None
    subject: str | None
    version: int | None

    def to_dict(self) -> JsonObject:
        return _present(name=self.name, subject=self.subject, version=self.version)

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
class ServerConfig:
    """What is set for a subject, or for all. It is set as `compatibility` and told as
    `compatibility_level`."""

    compatibility: ConfigCompatibilityLevel | None = None
    compatibility_level: ConfigCompatibilityLevel | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    def to_dict(self) -> JsonObject:
        level = self.compatibility_level
        return _present(
            compatibility=None if self.compatibility is None else self.compatibility.value,
            compatibilityLevel=None if level is None else level.value,
            compatibilityGroup=self.compatibility_group,
            defaultMetadata=_dict_of(self.default_metadata),
            overrideMetadata=_dict_of(self.override_metadata),
            defaultRuleSet=_dict_of(self.default_rule_set),
            overrideRuleSet=_dict_of(self.override_rule_set),
        )

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        compatibility, level = found.get("compatibility"), found.get("compatibilityLevel")
        return cls(
            compatibility=None if compatibility is None else ConfigCompatibilityLevel(compatibility),
            compatibility_level=None if level is None else ConfigCompatibilityLevel(level),
            compatibility_group=found.get("compatibilityGroup"),
            default_metadata=_read(Metadata, found.get("defaultMetadata")),
            override_metadata=_read(Metadata, found.get("overrideMetadata")),
            default_rule_set=_read(RuleSet, found.get("defaultRuleSet")),
            override_rule_set=_read(RuleSet, found.get("overrideRuleSet")),
        )


@frozen
class Schema:
    """A schema, not registered yet: its text, and of what type that is (AVRO, JSON, PROTOBUF)."""

    schema_str: str | None
    schema_type: str | None = "AVRO"
    references: list[SchemaReference] | None = field(default_factory=list)
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None

    def __hash__(self) -> int:
        return hash((self.schema_str, self.schema_type, self.metadata, self.rule_set))

    # By these names `barnabas.registry` knows them.

    @property
    def text(self) -> str | None:
        return self.schema_str

    @property
    def type(self) -> str | None:
        return self.schema_type

    def to_dict(self) -> JsonObject:
        return _present(
            schema=self.schema_str,
            schemaType=self.schema_type,
            references=_dicts_of(self.references or []),
            metadata=self.metadata.to_dict() if isinstance(self.metadata, Metadata) else None,
            ruleSet=self.rule_set.to_dict() if isinstance(self.rule_set, RuleSet) else None,
        )

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        return cls(
            schema_str=found.get("schema"),
            schema_type=found.get("schemaType", "AVRO"),
            references=_read_all(SchemaReference, found.get("references")),
            metadata=_read(Metadata, found.get("metadata")),
            rule_set=_read(RuleSet, found.get("ruleSet")),
        )


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
        return found | _present(id=self.schema_id, guid=self.guid, subject=self.subject, version=self.version)

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
class Association:
    """That a subject has the schemas of a resource, such as a topic."""

    subject: str | None
    guid: str | None
    resource_name: str | None
    resource_namespace: str | None
    resource_id: str | None
    resource_type: str | None
    association_type: str | None
    frozen: bool = False

    def to_dict(self) -> JsonObject:
        return _present(
            subject=self.subject,
            guid=self.guid,
            resourceName=self.resource_name,
            resourceNamespace=self.resource_namespace,
            resourceId=self.resource_id,
            resourceType=self.resource_type,
            associationType=self.association_type,
        ) | {"frozen": self.frozen}

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        return cls(
            subject=found.get("subject"),
            guid=found.get("guid"),
            resource_name=found.get("resourceName"),
            resource_namespace=found.get("resourceNamespace"),
            resource_id=found.get("resourceId"),
            resource_type=found.get("resourceType"),
            association_type=found.get("associationType"),
            frozen=found.get("frozen", False),
        )


@dataclass(slots=True, weakref_slot=True)
class AssociationInfo:
    """An association, as a registry answers it."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool = False
    schema: Schema | None = None

    def to_dict(self) -> JsonObject:
        found = _present(
            subject=self.subject, associationType=self.association_type, lifecycle=self.lifecycle
        )
        return found | {"frozen": self.frozen} | _present(schema=_dict_of(self.schema))

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        schema = found.get("schema")
        return cls(
            subject=found.get("subject"),
            association_type=found.get("associationType"),
            lifecycle=found.get("lifecycle"),
            frozen=found.get("frozen", False),
            schema=Schema.from_dict(schema) if schema else None,
        )


@dataclass(slots=True, weakref_slot=True)
class AssociationCreateOrUpdateInfo:
    """An association that is to be made, or changed."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    schema: Schema | None = None
    normalize: bool | None = None

    def to_dict(self) -> JsonObject:
        return _present(
            subject=self.subject,
            associationType=self.association_type,
            lifecycle=self.lifecycle,
            frozen=self.frozen,
            schema=_dict_of(self.schema),
            normalize=self.normalize,
        )

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        schema = found.get("schema")
        return cls(
            subject=found.get("subject"),
            association_type=found.get("associationType"),
            lifecycle=found.get("lifecycle"),
            frozen=found.get("frozen"),
            schema=Schema.from_dict(schema) if schema else None,
            normalize=found.get("normalize"),
        )


@dataclass(slots=True, weakref_slot=True)
class AssociationCreateOrUpdateRequest:
    """A resource, and the associations that it is to have."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationCreateOrUpdateInfo] | None = None

    def to_dict(self) -> JsonObject:
        return _of_resource(self)

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        return cls(**_read_resource(AssociationCreateOrUpdateInfo, src_dict.copy()))


@dataclass(slots=True, weakref_slot=True)
class AssociationResponse:
    """A resource, and the associations that it has now."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationInfo] | None = None

    def to_dict(self) -> JsonObject:
        return _of_resource(self)

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        return cls(**_read_resource(AssociationInfo, src_dict.copy()))


def _of_resource(whole: AssociationCreateOrUpdateRequest | AssociationResponse) -> JsonObject:
    return _present(
        resourceName=whole.resource_name,
        resourceNamespace=whole.resource_namespace,
        resourceId=whole.resource_id,
        resourceType=whole.resource_type,
        associations=_dicts_of(whole.associations),
    )


def _read_resource(kind: type[Any], found: JsonObject) -> JsonObject:
    return {
        "resource_name": found.get("resourceName"),
        "resource_namespace": found.get("resourceNamespace"),
        "resource_id": found.get("resourceId"),
        "resource_type": found.get("resourceType"),
        "associations": _read_all(kind, found.get("associations")) or None,
    }
