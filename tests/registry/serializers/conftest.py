"""The registry that confluent-kafka keeps in memory for tests, shared by its serializers and ours."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import confluent_kafka.schema_registry as theirs
import pytest
from confluent_kafka.schema_registry.error import SchemaRegistryError

from barnabas.registry import RegistryError, Schema
from barnabas.registry.config import RegistryConfig
from barnabas.registry.schemas import Association, Metadata, RegisteredSchema, Rule, RuleSet, SchemaReference

T = TypeVar("T")
Asked = Generator[Callable[[], Any], Any, T]


def to_theirs(schema: Schema) -> theirs.Schema:
    references = [theirs.SchemaReference(r.name, r.subject, r.version) for r in schema.references]
    metadata = schema.metadata
    return theirs.Schema(
        schema.text,
        schema.type,
        references,
        None
        if metadata is None
        else theirs.Metadata(
            theirs.MetadataTags({path: list(tags) for path, tags in metadata.tags.items()}),
            theirs.MetadataProperties(dict(metadata.properties)),
            list(metadata.sensitive),
        ),
        None if schema.rule_set is None else theirs.RuleSet.from_dict(_json_of(schema)["ruleSet"]),
    )


def _json_of(schema: Schema) -> dict[str, Any]:
    return {"ruleSet": {"migrationRules": [], "domainRules": [], "encodingRules": []}, **schema.to_json()}


def to_ours(found: theirs.Schema) -> Schema:
    metadata = found.metadata
    rules = found.rule_set
    return Schema(
        found.schema_str,
        found.schema_type,
        tuple(SchemaReference(r.name, r.subject, r.version) for r in found.references or ()),
        None
        if metadata is None
        else Metadata(
            metadata.tags.tags if metadata.tags else {},
            metadata.properties.properties if metadata.properties else {},
            tuple(metadata.sensitive or ()),
        ),
        None
        if rules is None
        else RuleSet(
            *(
                tuple(Rule.from_json(rule.to_dict()) for rule in kind or ())
                for kind in (rules.migration_rules, rules.domain_rules, rules.encoding_rules)
            ),
            rules.enable_at,
        ),
    )


def _registered(found: theirs.RegisteredSchema) -> RegisteredSchema:
    return RegisteredSchema(found.subject, found.version, found.schema_id, found.guid, to_ours(found.schema))


@dataclass
class TheirCalls:
    """What our serializers ask, answered by their client. `asked` counts questions."""

    client: theirs.SchemaRegistryClient
    latest_seconds: float = 60.0
    asked: list[str] = field(default_factory=list[str])

    def _ask(self, what: str, call: Callable[[], Any]) -> Asked[Any]:
        self.asked.append(what)
        return (yield call)

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Asked[RegisteredSchema]:
        wanted = to_theirs(schema)
        call = self.client.register_schema_full_response
        found = yield from self._ask(f"register {subject}", lambda: call(subject, wanted, normalize))
        return RegisteredSchema(subject, 0, found.schema_id, found.guid, schema)

    def look_up(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> Asked[RegisteredSchema]:
        wanted = to_theirs(schema)
        call = self.client.lookup_schema
        found = yield from self._ask(f"look up {subject}", lambda: call(subject, wanted, normalize, deleted))
        return _registered(found)

    def latest(
        self,
        subject: str,
        *,
        metadata: Mapping[str, str] | None = None,
        format: str | None = None,
        is_renewed: bool = False,
    ) -> Asked[RegisteredSchema]:
        if metadata is None:
            call = self.client.get_latest_version
            found = yield from self._ask(f"latest {subject}", lambda: call(subject, format))
        else:
            with_metadata = self.client.get_latest_with_metadata
            found = yield from self._ask(
                f"latest {subject}", lambda: with_metadata(subject, dict(metadata), True, format)
            )
        return _registered(found)

    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Asked[Schema]:
        call = self.client.get_schema
        return to_ours((yield from self._ask(f"schema {id}", lambda: call(id, subject, format))))

    def schema_by_guid(self, guid: str, *, format: str | None = None) -> Asked[Schema]:
        call = self.client.get_schema_by_guid
        return to_ours((yield from self._ask(f"schema {guid}", lambda: call(guid, format))))

    def version(
        self, subject: str, version: int, *, deleted: bool = False, format: str | None = None
    ) -> Asked[RegisteredSchema]:
        call = self.client.get_version
        what = f"version {subject} {version}"
        return _registered((yield from self._ask(what, lambda: call(subject, version, deleted, format))))

    def associations(
        self,
        resource_name: str,
        *,
        namespace: str = "-",
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        offset: int = 0,
        limit: int | None = None,
    ) -> Asked[list[Association]]:
        call = self.client.get_associations_by_resource_name
        found = yield from self._ask(
            f"associations {resource_name}",
            lambda: call(resource_name, namespace, resource_type, list(association_types)),
        )
        return [Association(each.association_type, each.subject) for each in found]


class TheirRegistry:
    """Stands where our Registry is given."""

    def __init__(self, client: theirs.SchemaRegistryClient, latest_seconds: float = 60.0) -> None:
        self.client = client
        self.calls = TheirCalls(client, latest_seconds)
        self.config = RegistryConfig()

    def answer(self, step: Callable[[], Any]) -> Any:
        return step()

    def run(self, steps: Asked[T]) -> T:
        answer: Any = None
        error: Exception | None = None
        while True:
            try:
                step = steps.send(answer) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value
            answer = error = None
            try:
                answer = self.answer(step)
            except SchemaRegistryError as failure:
                error = RegistryError(str(failure), status=failure.http_status_code)


@pytest.fixture
def their_client() -> theirs.SchemaRegistryClient:
    return theirs.SchemaRegistryClient.new_client({"url": "mock://"})


@pytest.fixture
def registry(their_client: theirs.SchemaRegistryClient) -> TheirRegistry:
    return TheirRegistry(their_client)
