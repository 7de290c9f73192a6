"""Clients of a schema registry: what they ask, and what they make of answers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.recording_registry import RecordingRegistry
from tests.compat.differential.script import script
from tests.compat.differential.stage import Stage

AVRO = '{"type": "record", "name": "R", "namespace": "n", "fields": [{"name": "f", "type": "string"}]}'
GUID = "6e9a8f4c-3c4b-4d8e-9f3a-1b2c3d4e5f60"
REGISTERED = {"subject": "s", "version": 3, "id": 7, "guid": GUID, "schema": AVRO}
RULES = {
    "migrationRules": [{"name": "m", "kind": "TRANSFORM", "mode": "UPGRADE", "type": "JSONATA", "expr": "$"}],
    "domainRules": [
        {
            "name": "d",
            "doc": "a rule",
            "kind": "CONDITION",
            "mode": "WRITEREAD",
            "type": "CEL",
            "tags": ["PII"],
            "params": {"a": "b"},
            "expr": "true",
            "onSuccess": "NONE",
            "onFailure": "ERROR,NONE",
            "disabled": False,
        }
    ],
    "encodingRules": [{"name": "e"}],
    "enableAt": "CLIENT",
}
METADATA = {"tags": {"n.R.*": ["PII"]}, "properties": {"owner": "me"}, "sensitive": ["owner"]}
FULL = {
    **REGISTERED,
    "schemaType": "JSON",
    "references": [{"name": "r", "subject": "t", "version": 1}],
    "metadata": METADATA,
    "ruleSet": RULES,
}
CONFIG = {
    "compatibilityLevel": "FULL",
    "compatibilityGroup": "g",
    "alias": "a",
    "defaultMetadata": METADATA,
    "overrideRuleSet": RULES,
}
ASSOCIATION = {
    "subject": "s",
    "guid": "g",
    "resourceName": "topic",
    "resourceNamespace": "lkc",
    "resourceId": "id",
    "resourceType": "topic",
    "associationType": "value",
    "frozen": True,
}


def _calls(registry: ModuleType) -> list[tuple[str, tuple[Any, ...], dict[str, Any], Any]]:
    """Name, arguments, keywords, and what is answered."""
    schema = registry.Schema(AVRO)
    whole = registry.Schema.from_dict(FULL)
    config = registry.ServerConfig.from_dict({"compatibility": "NONE", **CONFIG})
    wanted = registry.AssociationCreateOrUpdateRequest(
        "topic",
        "lkc",
        "id",
        "topic",
        [registry.AssociationCreateOrUpdateInfo("s", "value", "WEAK", None, schema, True)],
    )
    made = {
        "resourceName": "topic",
        "associations": [{"subject": "s", "lifecycle": "WEAK", "schema": {"schema": AVRO}}],
    }
    return [
        ("register_schema", ("a b/c", schema), {}, {"id": 1}),
        ("register_schema", ("other", whole, True), {}, FULL),
        ("register_schema_full_response", ("s", schema), {}, {"id": 1}),
        ("register_schema_full_response", ("s", whole), {"normalize_schemas": True}, FULL),
        ("get_schema", (7,), {}, {"schema": AVRO}),
        ("get_schema", (8, "s t"), {"fmt": "serialized", "reference_format": "x"}, FULL),
        ("get_schema_by_guid", ("some-guid",), {}, FULL),
        ("get_schema_by_guid", ("other-guid", "serialized"), {}, REGISTERED),
        ("get_schema_types", (), {}, ["AVRO"]),
        ("get_subjects_by_schema_id", (1,), {}, ["s"]),
        ("get_subjects_by_schema_id", (1, "s", True, 2, 3), {}, ["s"]),
        ("get_schema_versions", (1,), {}, [{"subject": "s", "version": 1}]),
        ("get_schema_versions", (1, "s &=", True, 2, 3), {}, [{"subject": "s"}]),
        ("lookup_schema", ("s", registry.Schema("{}")), {}, REGISTERED),
        ("lookup_schema", ("s é", whole, True, "resolved", True), {}, FULL),
        ("get_subjects", (), {}, ["a", "b"]),
        ("get_subjects", (":.c:", True, True, 1, 2), {}, []),
        ("delete_subject", ("s",), {}, [1, 2]),
        ("delete_subject", ("s", True), {}, [1]),
        ("get_latest_version", ("s",), {}, FULL),
        ("get_latest_version", ("t", "resolved"), {}, REGISTERED),
        ("get_latest_with_metadata", ("s", {"owner": "me & you"}), {}, FULL),
        ("get_latest_with_metadata", ("s", {}, True, "resolved"), {}, FULL),
        ("get_version", ("s",), {}, FULL),
        ("get_version", ("s2", 4), {}, {**REGISTERED, "subject": "s2", "version": 4}),
        ("get_version", ("s2", 5, True, "resolved"), {}, {**REGISTERED, "subject": "s2", "version": 5}),
        ("get_referenced_by", ("s",), {}, [1, 2]),
        ("get_referenced_by", ("s", 2, 1, 5), {}, []),
        ("get_versions", ("s",), {}, [1, 2]),
        ("get_versions", ("s", True, True, 1, 2), {}, [1]),
        ("delete_version", ("s", 1), {}, 1),
        ("delete_version", ("s", 1, True), {}, 1),
        ("set_compatibility", (), {"level": "full"}, {"compatibility": "FULL"}),
        ("set_compatibility", ("s/t", "NONE"), {}, {"compatibility": "NONE"}),
        ("set_compatibility", ("s",), {}, {}),
        ("get_compatibility", (), {}, {"compatibilityLevel": "FULL"}),
        ("get_compatibility", ("s",), {}, {"compatibility": "FULL"}),
        ("test_compatibility", ("s", schema), {}, {"is_compatible": True}),
        ("test_compatibility", ("s", whole, 3, True, True), {}, {"is_compatible": False, "messages": ["m"]}),
        ("test_compatibility_all_versions", ("s", schema), {}, {"is_compatible": True}),
        ("test_compatibility_all_versions", ("s", schema, True, True), {}, {}),
        ("set_config", (), {"config": config}, CONFIG),
        ("set_config", ("s", config), {}, CONFIG),
        ("set_config", ("s",), {}, CONFIG),
        ("delete_config", (), {}, CONFIG),
        ("delete_config", ("s",), {}, {"compatibility": "FULL"}),
        ("get_config", (), {}, CONFIG),
        ("get_config", ("s",), {}, {"compatibilityLevel": "SOME"}),
        ("get_mode", ("s",), {}, {"mode": "IMPORT"}),
        ("update_mode", ("s", "IMPORT", True), {}, {"mode": "IMPORT"}),
        ("delete_mode", ("s",), {}, {"mode": "READWRITE"}),
        ("get_global_mode", (), {}, {"mode": "READWRITE"}),
        ("update_global_mode", ("READONLY",), {}, {"mode": "READONLY"}),
        ("get_contexts", (), {}, [".", ".c"]),
        ("get_contexts", (1, 2), {}, []),
        ("get_associations_by_resource_name", ("topic", "-"), {}, [ASSOCIATION, {"subject": "s"}]),
        (
            "get_associations_by_resource_name",
            ("a topic", "lkc/1", "topic", ["key", "value"], 1, 2),
            {},
            [],
        ),
        ("create_association", (wanted,), {}, made),
        ("create_association", (registry.AssociationCreateOrUpdateRequest(),), {}, {}),
        ("delete_associations", ("id",), {}, b""),
        ("delete_associations", ("id", "topic", ["key"], True), {}, b""),
    ]


def shown(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> str:
    """What a call gives, as it shows itself."""
    return repr(call(*arguments, **keywords))


def made(kind: Callable[[Any], Any], settings: Any) -> str:
    return type(kind(settings)).__name__


def run(call: Callable[[], Any]) -> Any:
    """What a call of either client gives."""

    async def awaited() -> Any:
        result = call()
        return await result if inspect.isawaitable(result) else result

    return asyncio.run(awaited())


@script()
def each_call_of_a_registrys_client_asks_and_gives_the_same(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    server = RecordingRegistry(stage, (200, {}))
    client = registry.SchemaRegistryClient({"url": server.url})
    for name, arguments, keywords, answer in _calls(registry):
        server.answer_with((200, answer))
        stage.attempt(name, shown, getattr(client, name), *arguments, **keywords)
        server.record(name)


@script()
def each_call_of_the_asynchronous_client_asks_and_gives_the_same(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    server = RecordingRegistry(stage, (200, {}))

    async def each() -> None:
        async with registry.AsyncSchemaRegistryClient({"url": server.url}) as client:
            for name, arguments, keywords, answer in _calls(registry):
                server.answer_with((200, answer))
                try:
                    stage.record(name, repr(await getattr(client, name)(*arguments, **keywords)))
                except Exception as error:
                    stage.record(name, error)
                server.record(name)

    asyncio.run(each())


@script()
def what_a_registrys_client_knows_it_does_not_ask_again(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    server = RecordingRegistry(stage, (200, FULL))
    client = registry.SchemaRegistryClient({"url": server.url, "cache.latest.ttl.sec": 100})
    schema = registry.Schema(AVRO)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("register_schema", ("s", schema)),
        ("register_schema", ("s", schema)),
        ("register_schema_full_response", ("s", registry.Schema.from_dict(FULL))),
        ("get_schema", (7, "s")),
        ("get_schema", (7,)),
        ("get_schema", (7, None, "serialized")),
        ("get_schema_by_guid", (GUID,)),
        ("lookup_schema", ("s", schema)),
        ("lookup_schema", ("s", schema, True)),
        ("get_version", ("s", 3)),
        ("get_version", ("s", "latest")),
        ("get_latest_version", ("s",)),
        ("get_latest_version", ("s", "resolved")),
        ("get_latest_with_metadata", ("s", {"a": "b"})),
        ("get_latest_with_metadata", ("s", {"a": "b"})),
        ("get_latest_with_metadata", ("s", {"a": "b"}, True)),
        ("delete_version", ("s", 3)),
        ("get_version", ("s", 3)),
        ("lookup_schema", ("s", schema)),
        ("get_schema", (7, "s")),
        ("register_schema", ("s", schema)),
        ("delete_subject", ("s",)),
        ("get_version", ("s", 3)),
        ("delete_subject", ("s", True)),
        ("get_version", ("s", 3)),
        ("clear_latest_caches", ()),
        ("get_latest_version", ("s",)),
        ("get_version", ("s", 3)),
        ("clear_caches", ()),
        ("get_version", ("s", 3)),
        ("get_schema_by_guid", (GUID,)),
    ]
    for name, arguments in calls:
        stage.attempt(name, shown, getattr(client, name), *arguments)
        server.record(name)


@script()
def a_registrys_errors_are_told_alike(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    server = RecordingRegistry(stage, (200, {}))
    settings = {"url": server.url, "max.retries": 1, "retries.wait.ms": 1}
    client = registry.SchemaRegistryClient(settings)
    answers: dict[str, tuple[int, Any]] = {
        "a registry's": (404, {"error_code": 40401, "message": "Subject 's' not found."}),
        "without code": (409, {"message": "incompatible"}),
        "without anything": (422, {}),
        "a list": (422, []),
        "no JSON": (500, b"<html>"),
        "empty": (503, b""),
        "a redirect": (302, b""),
        "a success without JSON": (200, b"<html>"),
        "a success of a number": (200, 5),
        "a success without content": (204, b""),
        "an empty success": (200, b""),
    }
    for label, answer in answers.items():
        server.answer_with(answer)
        error = stage.attempt(label, client.get_schema, 1)
        stage.record("which is", error)
        server.record(label)
        stage.attempt(f"{label}: subjects", client.get_subjects)
        server.record(f"{label}: subjects")
    error = registry.SchemaRegistryError(404, 40401, "not found")
    stage.record("an error", [str(error), repr(error), error.http_status_code, error.error_code, error.args])
    error_module = stage.module("schema_registry.error")
    error = error_module.OAuthTokenError("no token", 401, "text")
    stage.record("a token's error", [str(error), error.message, error.status_code, error.response_text])


@script()
def a_registry_that_fails_is_asked_again_and_then_the_next_one(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    first, second = RecordingRegistry(stage, (503, {})), RecordingRegistry(stage, (200, ["s"]))
    settings = {"url": f"{first.url}/, {second.url}/path", "max.retries": 2, "retries.wait.ms": 1}
    client = registry.SchemaRegistryClient(settings)
    for label, answers in {
        "never": ((503, {}),),
        "later": ((429, {}), (500, {}), (200, ["first"])),
        "refused": ((404, {"error_code": 1, "message": "no"}),),
        "no JSON": ((200, b"no"),),
    }.items():
        first.answer_with(*answers)
        stage.attempt(label, client.get_subjects)
        first.record(f"{label}: first")
        second.record(f"{label}: second")
    nobody = registry.SchemaRegistryClient({**settings, "url": f"http://127.0.0.1:1,{second.url}"})
    stage.attempt("nobody, and then one", nobody.get_subjects)
    nobody = registry.SchemaRegistryClient({**settings, "url": "http://127.0.0.1:1"})
    stage.within("nobody", lambda: type(nobody.get_subjects()))
    client.close()
    client.close()
    stage.attempt("closed", client.get_subjects)


@script()
def a_registrys_client_says_who_it_is(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    server = RecordingRegistry(stage, (200, ["s"]))
    with_user = server.url.replace("http://", "http://us%2Fer:pass%20word@")
    static = {
        "bearer.auth.credentials.source": "STATIC_TOKEN",
        "bearer.auth.token": "token",
        "bearer.auth.logical.cluster": "lsrc-1",
    }
    custom = {
        "bearer.auth.credentials.source": "CUSTOM",
        "bearer.auth.custom.provider.config": {"a": 1},
    }

    def fields(config: Any) -> Any:
        stage.record("the function is given", config)
        return {"bearer.auth.token": "mine", "bearer.auth.logical.cluster": "lsrc-2"}

    cases: dict[str, dict[str, Any]] = {
        "nobody": {},
        "in the URL": {"url": with_user},
        "by property": {"basic.auth.user.info": "user:pass:word"},
        "only a name in the URL": {"url": server.url.replace("http://", "http://user@")},
        "static": static,
        "static with a pool": {**static, "bearer.auth.identity.pool.id": "pool"},
        "static with pools": {**static, "bearer.auth.identity.pool.id": ["pool-1", "pool-2"]},
        "static and basic": {**static, "basic.auth.user.info": "user:pass"},
        "custom": {**custom, "bearer.auth.custom.provider.function": fields},
        "custom without fields": {**custom, "bearer.auth.custom.provider.function": lambda _: {}},
    }
    for label, settings in cases.items():
        client = registry.SchemaRegistryClient({"url": server.url, **settings})
        stage.attempt(label, client.get_subjects)
        server.record(label)

    async def fields_later(config: Any) -> Any:
        return fields(config)

    settings = {"url": server.url, **custom, "bearer.auth.custom.provider.function": fields_later}
    asynchronous = registry.AsyncSchemaRegistryClient(settings)
    stage.attempt("custom, awaited", lambda: run(asynchronous.get_subjects))
    server.record("custom, awaited")


@script()
def a_registrys_client_asks_for_tokens(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    server = RecordingRegistry(stage, (200, ["s"]))
    tokens = RecordingRegistry(stage, (200, {"access_token": "t1", "expires_in": 3600}))
    common = {"url": server.url, "max.retries": 1, "retries.wait.ms": 1}
    common["bearer.auth.logical.cluster"] = "lsrc-1"
    oidc = {
        **common,
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.client.id": "a client",
        "bearer.auth.client.secret": "a:secret/",
        "bearer.auth.scope": "a scope",
        "bearer.auth.issuer.endpoint.url": f"{tokens.url}/token?x=1",
        "bearer.auth.identity.pool.id": "pool",
    }
    client = registry.SchemaRegistryClient(oidc)
    for label in ("first", "again"):
        stage.attempt(label, client.get_subjects)
        tokens.record(f"{label}: tokens")
        server.record(label)
    tokens.answer_with((200, {"access_token": "t2", "expires_in": -100}))
    client = registry.SchemaRegistryClient({**oidc, "bearer.auth.scope": ""})
    for label in ("short", "renewed"):
        stage.within(label, client.get_subjects)
        tokens.record(f"{label}: tokens")
        server.record(label)
    for label, answer in {
        "refused": (401, {"error": "invalid_client", "error_description": "who?"}),
        "broken": (500, b"no"),
    }.items():
        tokens.answer_with(answer)
        client = registry.SchemaRegistryClient(oidc)
        stage.attempt(label, client.get_subjects)
        tokens.record(f"{label}: tokens")
    azure = {
        **common,
        "bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS",
        "bearer.auth.issuer.endpoint.url": f"{tokens.url}/metadata?z=1#f",
    }
    answer = {"access_token": "azure", "expires_in": "3600", "expires_on": "99999999999"}
    for label, more in {
        "as it is": {},
        "with a query": {"bearer.auth.issuer.endpoint.query": "a=b&c=d"},
    }.items():
        tokens.answer_with((200, answer))
        client = registry.SchemaRegistryClient({**azure, **more})
        stage.attempt(label, client.get_subjects)
        stage.attempt(f"{label}, again", client.get_subjects)
        tokens.record(f"{label}: tokens")
        server.record(label)


@script()
def a_registrys_client_refuses_what_it_cannot_use(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    url = {"url": "http://127.0.0.1:1"}
    bearer = {**url, "bearer.auth.logical.cluster": "c"}
    oidc = {**bearer, "bearer.auth.credentials.source": "OAUTHBEARER"}
    azure = {**bearer, "bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS"}
    custom = {**url, "bearer.auth.credentials.source": "CUSTOM"}
    full = {
        f"bearer.auth.{name}": "x" for name in ("client.id", "client.secret", "scope", "issuer.endpoint.url")
    }
    cases: list[dict[str, Any]] = [
        {},
        {"url": 5},
        {"url": ""},
        {"url": "ftp://x"},
        {"url": "http://a, b"},
        {**url, "nothing.of": 1, "the.kind": 2},
        {**url, "basic.auth.user.info": "user"},
        {"url": "http://a:b@c", "basic.auth.user.info": "user:pass"},
        {**url, "ssl.key.location": "x"},
        {**url, "ssl.key.password": "x"},
        {**url, "ssl.ca.location": "/nowhere/at/all"},
        {**url, "ssl.certificate.location": "/nowhere/at/all"},
        {**url, "cache.capacity": "x"},
        {**url, "cache.latest.ttl.sec": "x"},
        {**url, "max.retries": "x"},
        {**url, "retries.wait.ms": "x"},
        {**url, "retries.max.wait.ms": "x"},
        {**url, "max.retries": 1.5, "cache.capacity": 2.5, "timeout": 3},
        {**url, "ssl.ca.location": False},
        {**url, "bearer.auth.token": "t"},
        {**url, "bearer.auth.credentials.source": "OTHER"},
        {**url, "bearer.auth.credentials.source": "STATIC_TOKEN"},
        {**bearer, "bearer.auth.credentials.source": "STATIC_TOKEN"},
        {**bearer, "bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": 5},
        {**bearer, "bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.logical.cluster": 5},
        {**oidc, **full},
        {**oidc, "bearer.auth.client.id": "x"},
        {**oidc, **full, "bearer.auth.identity.pool.id": 5},
        {**oidc, **full, "bearer.auth.identity.pool.id": [5]},
        *[{**oidc, **full, name: 5} for name in full],
        azure,
        {**azure, "bearer.auth.issuer.endpoint.url": 5},
        {**azure, "bearer.auth.issuer.endpoint.query": 5},
        {**azure, "bearer.auth.issuer.endpoint.query": "a=b"},
        custom,
        {**custom, "bearer.auth.custom.provider.function": 5, "bearer.auth.custom.provider.config": {}},
        {**custom, "bearer.auth.custom.provider.function": print, "bearer.auth.custom.provider.config": 5},
    ]
    for settings in cases:
        for kind in ("SchemaRegistryClient", "AsyncSchemaRegistryClient"):
            given = dict(settings)
            label = stage.text(sorted(settings.items(), key=str))
            stage.attempt(label, made, getattr(registry, kind), given)
        stage.record("left as it was", given == settings)
