"""Confluent's published API: each path, method, parameter, status and error code of its OpenAPI file, and the
calls that its documentation shows."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from tests.registry_server.conftest import Ask, asking
from tests.registry_server.documented_api import ANSWER_FIELDS, EXAMPLES, OPERATIONS, REQUEST_FIELDS
from tests.registry_server.schemas import OTHER, TEAM, USER, USER_2

from barnabas.registry_server.api_errors import forwarding_failed
from barnabas.registry_server.journal.journal import JournalError, JournalTimeoutError, NotLeaderError
from barnabas.registry_server.journal.memory import MemoryJournal
from barnabas.registry_server.rest.app import RegistryApp
from barnabas.registry_server.service import RegistryService

TAGGED = '{"type":"record","name":"User","fields":[{"name":"id","type":"long","confluent:tags":["PII"]}]}'
REFERENCE = {"name": "User", "subject": "s", "version": 1}
RULE = {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}
RESOURCE = {
    "resourceName": "orders",
    "resourceNamespace": "lkc-1",
    "resourceId": "id-1",
    "resourceType": "topic",
}
WEAK = {"subject": "s", "associationType": "value", "lifecycle": "WEAK"}
STRONG = {**WEAK, "lifecycle": "STRONG"}
FROZEN = {**RESOURCE, "resourceName": "o9", "resourceId": "id-9"}
BYTES = {"schema": '"bytes"'}
TEAM_BODY = {"schema": TEAM, "references": [REFERENCE]}
TEAM_2 = TEAM.replace('"name":"Team"', '"name":"Team","doc":"two"')
KV = {"properties": {"k": "v"}}
TM = {"properties": {"a": "b"}}
UNORDERED = USER.replace('"type":"long"', '"type":{"type":"long","z":1,"a":1}')
SEED: list[tuple[str, Any]] = [
    ("POST /subjects/s/versions", {"schema": USER, "metadata": KV}),
    ("POST /subjects/s/versions", {"schema": USER_2, "ruleSet": {"domainRules": [RULE]}}),
    ("POST /subjects/s/versions", {"schema": TAGGED}),
    ("POST /subjects/team/versions", {"schema": TEAM, "references": [REFERENCE]}),
    ("POST /subjects/gone/versions", {"schema": '"int"', "metadata": KV}),
    ("POST /subjects/gone/versions", {"schema": '"long"'}),
    ("POST /subjects/plain/versions", {"schema": '"long"', "metadata": KV}),
    ("DELETE /subjects/gone", None),
    ("POST /subjects/team/versions", {"schema": TEAM_2, "references": [REFERENCE]}),
    ("DELETE /subjects/team/versions/1", None),
    ("POST /subjects/u/versions", {"schema": UNORDERED}),
    ("POST /subjects/normal/versions?normalize=true", {"schema": UNORDERED}),
    ("POST /subjects/:.c:s/versions", {"schema": USER}),
    ("POST /subjects/:.c:team/versions", {"schema": TEAM, "references": [REFERENCE]}),
    ("PUT /config/clash", {"compatibility": "NONE"}),
    ("POST /subjects/clash/versions", {"schema": OTHER}),
    ("POST /subjects/clash/versions", {"schema": USER}),
    ("PUT /config/clash", {"compatibility": "BACKWARD"}),
    ("PUT /config/other-name", {"alias": "s"}),
    ("PUT /config/s", {"compatibility": "FULL"}),
    ("PUT /mode/s", {"mode": "READWRITE"}),
    ("POST /associations", {**RESOURCE, "associations": [WEAK]}),
    ("PUT /associations/resources/id-1", {**RESOURCE, "associations": [{**WEAK, "associationType": "key"}]}),
    ("POST /associations", {**FROZEN, "associations": [{"associationType": "value", "schema": BYTES}]}),
    ("POST /subjects/tm/versions", {"schema": TEAM, "references": [REFERENCE], "metadata": TM}),
]


def tags(record: str) -> list[Any]:
    return [{"schemaEntity": {"entityPath": record, "entityType": "sr_record"}, "tags": ["A"]}]


@contextmanager
def seeded() -> Generator[Ask]:
    with asking() as ask:
        for line, body in SEED:
            status, answer = ask(line, body)
            assert status in (200, 204), (line, answer)
        guids = {each["subject"]: each["guid"] for each in ask("GET /schemas?deleted=true")[1]}

        def asked(line: str, body: Any = None, **headers: str) -> tuple[int, Any]:
            named = line.replace("{guid}", guids["s"]).replace("{team-guid}", guids["team"])
            return ask(named, body, **headers)

        yield asked


def table() -> dict[str, tuple[list[str], list[str]]]:
    lines = OPERATIONS.splitlines()
    return {
        operation: (parameters.split()[1:], told.split()[1:])
        for operation, parameters, told in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    }


DOCUMENTED = table()
MUTATE = {**RESOURCE, "associations": [{"opType": "CREATE", **WEAK}]}
MUTATE_NEW = {**MUTATE, "resourceId": "id-2", "resourceName": "o2"}
NEW = {**RESOURCE, "resourceId": "id-2", "resourceName": "o2", "associations": [WEAK]}
ANSWERED: dict[str, tuple[str, Any]] = {
    "GET /": ("GET /", None),
    "POST /": ("POST /", {}),
    "POST /associations": ("POST /associations", NEW),
    "DELETE /associations/resources/{resourceId}": ("DELETE /associations/resources/id-1", None),
    "GET /associations/resources/{resourceId}": ("GET /associations/resources/id-1", None),
    "PUT /associations/resources/{resourceId}": (
        "PUT /associations/resources/id-1",
        {**RESOURCE, "associations": [WEAK]},
    ),
    "GET /associations/resources/{resourceNamespace}/{resourceName}": (
        "GET /associations/resources/lkc-1/orders",
        None,
    ),
    "GET /associations/subjects/{subject}": ("GET /associations/subjects/s", None),
    "POST /compatibility/subjects/{subject}/versions": (
        "POST /compatibility/subjects/s/versions",
        {"schema": OTHER},
    ),
    "POST /compatibility/subjects/{subject}/versions/{version}": (
        "POST /compatibility/subjects/s/versions/1",
        {"schema": OTHER},
    ),
    "DELETE /config": ("DELETE /config", None),
    "GET /config": ("GET /config", None),
    "PUT /config": ("PUT /config", {"compatibility": "FULL"}),
    "DELETE /config/{subject}": ("DELETE /config/s", None),
    "GET /config/{subject}": ("GET /config/s", None),
    "PUT /config/{subject}": ("PUT /config/s", {"compatibility": "FULL"}),
    "GET /contexts": ("GET /contexts", None),
    "DELETE /contexts/{context}": ("DELETE /contexts/.empty", None),
    "DELETE /mode": ("DELETE /mode", None),
    "GET /mode": ("GET /mode", None),
    "PUT /mode": ("PUT /mode", {"mode": "READONLY"}),
    "DELETE /mode/{subject}": ("DELETE /mode/s", None),
    "GET /mode/{subject}": ("GET /mode/s", None),
    "PUT /mode/{subject}": ("PUT /mode/s", {"mode": "READONLY"}),
    "GET /schemas": ("GET /schemas", None),
    "GET /schemas/guids/{guid}": ("GET /schemas/guids/{guid}", None),
    "GET /schemas/guids/{guid}/ids": ("GET /schemas/guids/{guid}/ids", None),
    "GET /schemas/ids/{id}": ("GET /schemas/ids/1", None),
    "GET /schemas/ids/{id}/schema": ("GET /schemas/ids/1/schema", None),
    "GET /schemas/ids/{id}/subjects": ("GET /schemas/ids/1/subjects", None),
    "GET /schemas/ids/{id}/versions": ("GET /schemas/ids/1/versions", None),
    "GET /schemas/types": ("GET /schemas/types", None),
    "GET /subjects": ("GET /subjects", None),
    "DELETE /subjects/{subject}": ("DELETE /subjects/u", None),
    "POST /subjects/{subject}": ("POST /subjects/s", {"schema": TAGGED}),
    "GET /subjects/{subject}/metadata": ("GET /subjects/s/metadata?key=k&value=v", None),
    "GET /subjects/{subject}/versions": ("GET /subjects/s/versions", None),
    "POST /subjects/{subject}/versions": ("POST /subjects/new/versions", {"schema": OTHER}),
    "DELETE /subjects/{subject}/versions/{version}": ("DELETE /subjects/s/versions/3", None),
    "GET /subjects/{subject}/versions/{version}": ("GET /subjects/s/versions/1", None),
    "GET /subjects/{subject}/versions/{version}/referencedby": (
        "GET /subjects/s/versions/1/referencedby",
        None,
    ),
    "GET /subjects/{subject}/versions/{version}/schema": ("GET /subjects/s/versions/1/schema", None),
    "POST /subjects/{subject}/versions/{version}/tags": (
        "POST /subjects/s/versions/1/tags",
        {
            "newVersion": 4,
            "tagsToAdd": [{"schemaEntity": {"entityPath": "User", "entityType": "sr_record"}, "tags": ["A"]}],
        },
    ),
    "GET /v1/metadata/deployment": ("GET /v1/metadata/deployment", None),
    "GET /v1/metadata/id": ("GET /v1/metadata/id", None),
    "GET /v1/metadata/version": ("GET /v1/metadata/version", None),
}
# The file is behind the server's source: that serves /associations:batchGet and /associations:batchMutate.
BEHIND = {"POST /associations:batch": ("POST /associations:batchMutate", {"requests": [MUTATE]})}
# What the server itself answers in place of what the file says.
OTHERWISE = {"DELETE /associations/resources/{resourceId}": 204}


def test_nothing_that_is_documented_is_left_out() -> None:
    assert {*ANSWERED, *BEHIND} == {*DOCUMENTED}


@pytest.mark.parametrize("operation", DOCUMENTED)
def test_what_is_documented_is_answered(operation: str) -> None:
    with seeded() as ask:
        status, answer = ask(*(ANSWERED | BEHIND)[operation])
    told = [int(each) for each in DOCUMENTED[operation][1] if len(each) == 3 and each < "400"]
    assert status == OTHERWISE.get(operation, told[0] if told else 200), answer


PARAMETERS: dict[str, dict[str, tuple[str, str | None, Any]]] = {
    "POST /associations": {
        "context": ("context=:.c:", None, None),
        "dryRun": ("dryRun=true", None, None),
    },
    "DELETE /associations/resources/{resourceId}": {
        "resourceType": ("resourceType=none", None, None),
        "associationType": ("associationType=none", None, None),
        "cascadeLifecycle": ("cascadeLifecycle=true", "DELETE /associations/resources/id-9", None),
        "dryRun": ("dryRun=true", None, None),
    },
    "PUT /associations/resources/{resourceId}": {
        "context": (
            "context=:.c:",
            "PUT /associations/resources/id-2",
            {**NEW, "associations": [{**WEAK, "associationType": "key"}]},
        ),
        "dryRun": ("dryRun=true", "PUT /associations/resources/id-2", NEW),
    },
    "POST /associations:batch": {
        "context": ("context=:.c:", "POST /associations:batchMutate", {"requests": [MUTATE_NEW]}),
        "dryRun": ("dryRun=true", "POST /associations:batchMutate", {"requests": [MUTATE_NEW]}),
    },
    **{
        operation: {
            "resourceType": ("resourceType=none", None, None),
            "associationType": ("associationType=key", None, None),
            "lifecycle": ("lifecycle=STRONG", None, None),
            "offset": ("offset=1", None, None),
            "limit": ("limit=1", None, None),
        }
        for operation in (
            "GET /associations/resources/{resourceId}",
            "GET /associations/resources/{resourceNamespace}/{resourceName}",
            "GET /associations/subjects/{subject}",
        )
    },
    "POST /compatibility/subjects/{subject}/versions": {"verbose": ("verbose=true", None, None)},
    "POST /compatibility/subjects/{subject}/versions/{version}": {"verbose": ("verbose=true", None, None)},
    "GET /config/{subject}": {"defaultToGlobal": ("defaultToGlobal=true", "GET /config/u", None)},
    "GET /contexts": {
        "offset": ("offset=1", None, None),
        "limit": ("limit=1", None, None),
        "contextPrefix": ("contextPrefix=.c", None, None),
    },
    "PUT /mode": {"force": ("force=true", "PUT /mode", {"mode": "IMPORT"})},
    "PUT /mode/{subject}": {"force": ("force=true", "PUT /mode/s", {"mode": "IMPORT"})},
    "GET /mode/{subject}": {"defaultToGlobal": ("defaultToGlobal=true", "GET /mode/u", None)},
    "DELETE /mode/{subject}": {"recursive": ("recursive=true", "DELETE /mode/:.c:", None)},
    "GET /schemas": {
        "subjectPrefix": ("subjectPrefix=te", None, None),
        "aliases": ("aliases=true", None, None),
        "deleted": ("deleted=true", None, None),
        "latestOnly": ("latestOnly=true", None, None),
        "ruleType": ("ruleType=CEL", None, None),
        "resourceType": ("resourceType=topic", None, None),
        "associationType": ("associationType=key", None, None),
        "lifecycle": ("lifecycle=NONE", None, None),
        "offset": ("offset=1", None, None),
        "limit": ("limit=1", None, None),
    },
    "GET /schemas/guids/{guid}": {"format": ("format=resolved", "GET /schemas/guids/{team-guid}", None)},
    "GET /schemas/ids/{id}": {
        "subject": ("subject=s", None, None),
        "format": ("format=resolved", "GET /schemas/ids/4", None),
        "referenceFormat": ("referenceFormat=qualified", "GET /schemas/ids/2?subject=:.c:team", None),
        "findTags": ("findTags=*", "GET /schemas/ids/3", None),
        "fetchMaxId": ("fetchMaxId=true", None, None),
    },
    "GET /schemas/ids/{id}/schema": {
        "subject": ("subject=:.c:team", "GET /schemas/ids/2/schema", None),
        "format": ("format=resolved", "GET /schemas/ids/4/schema", None),
    },
    **{
        f"GET /schemas/ids/{{id}}/{what}": {
            "subject": ("subject=:.c:", f"GET /schemas/ids/2/{what}", None),
            "deleted": ("deleted=true", f"GET /schemas/ids/6/{what}", None),
            "offset": ("offset=1", None, None),
            "limit": ("limit=1", f"GET /schemas/ids/6/{what}?deleted=true", None),
        }
        for what in ("subjects", "versions")
    },
    "GET /subjects": {
        "subjectPrefix": ("subjectPrefix=te", None, None),
        "offset": ("offset=1", None, None),
        "limit": ("limit=1", None, None),
        "deleted": ("deleted=true", None, None),
        "deletedOnly": ("deletedOnly=true", None, None),
    },
    "DELETE /subjects/{subject}": {"permanent": ("permanent=true", None, None)},
    "POST /subjects/{subject}": {
        "normalize": ("normalize=true", "POST /subjects/normal", {"schema": UNORDERED}),
        "format": ("format=resolved", "POST /subjects/team", {"schema": TEAM_2, "references": [REFERENCE]}),
        "deleted": ("deleted=true", "POST /subjects/gone", {"schema": '"int"', "metadata": KV}),
    },
    "GET /subjects/{subject}/metadata": {
        "key": ("key=k&value=w", "GET /subjects/s/metadata", None),
        "value": ("key=k&value=w", "GET /subjects/s/metadata", None),
        "format": ("format=resolved", "GET /subjects/tm/metadata?key=a&value=b", None),
        "deleted": ("deleted=true", "GET /subjects/gone/metadata?key=k&value=v", None),
    },
    "GET /subjects/{subject}/versions": {
        "deleted": ("deleted=true", "GET /subjects/team/versions", None),
        "deletedOnly": ("deletedOnly=true", "GET /subjects/team/versions", None),
        "offset": ("offset=1", None, None),
        "limit": ("limit=1", None, None),
    },
    "POST /subjects/{subject}/versions": {
        "normalize": ("normalize=true", "POST /subjects/n/versions", {"schema": UNORDERED}),
        "format": ("format=resolved", "POST /subjects/n/versions", TEAM_BODY),
    },
    "DELETE /subjects/{subject}/versions/{version}": {"permanent": ("permanent=true", None, None)},
    "GET /subjects/{subject}/versions/{version}": {
        "format": ("format=resolved", "GET /subjects/team/versions/2", None),
        "referenceFormat": ("referenceFormat=qualified", "GET /subjects/:.c:team/versions/1", None),
        "deleted": ("deleted=true", "GET /subjects/team/versions/1", None),
        "findTags": ("findTags=*", "GET /subjects/s/versions/3", None),
    },
    "GET /subjects/{subject}/versions/{version}/referencedby": {
        "deleted": ("deleted=true", None, None),
        "offset": ("offset=1", None, None),
        "limit": ("limit=1", "GET /subjects/s/versions/1/referencedby?deleted=true", None),
    },
    "GET /subjects/{subject}/versions/{version}/schema": {
        "format": ("format=resolved", "GET /subjects/team/versions/2/schema", None),
        "deleted": ("deleted=true", "GET /subjects/gone/versions/1/schema", None),
    },
}  # fmt: skip
"""A query that makes a difference to the answer; of another call than the usual one."""
# What makes no difference to the answer: a schema means the same when it is normalized, and the registry
# itself always has a level and a mode.
NO_DIFFERENCE = {
    ("POST /compatibility/subjects/{subject}/versions", "normalize"),
    ("POST /compatibility/subjects/{subject}/versions/{version}", "normalize"),
    ("GET /config", "defaultToGlobal"),
    ("GET /mode", "defaultToGlobal"),
    ("DELETE /mode", "recursive"),
}


@pytest.mark.parametrize(
    ("operation", "parameter"),
    [(operation, each) for operation, (parameters, _) in DOCUMENTED.items() for each in parameters],
)
def test_each_documented_parameter_does_something(operation: str, parameter: str) -> None:
    makes_difference = (operation, parameter) not in NO_DIFFERENCE
    query, line, body = (
        PARAMETERS[operation][parameter] if makes_difference else (f"{parameter}=true", None, None)
    )
    if line is None:
        line, body = (ANSWERED | BEHIND)[operation]
    answers: list[Any] = []
    for asked in (line, f"{line}{'&' if '?' in line else '?'}{query}"):
        with seeded() as ask:
            answers.append(without_times([ask(asked, body), ask("GET /associations/resources/id-1")]))
    assert (answers[0] != answers[1]) == makes_difference


def without_times(found: Any) -> Any:
    if isinstance(found, list | tuple):
        return [without_times(each) for each in found]
    if isinstance(found, dict):
        named: dict[str, Any] = found
        changing = ("ts", "createTs", "updateTs", "guid")
        return {name: without_times(each) for name, each in named.items() if name not in changing}
    return found


BAD = {"schema": "{"}
TAGS_OF_NONE = {
    "tagsToAdd": [{"schemaEntity": {"entityPath": "None", "entityType": "sr_record"}, "tags": ["A"]}]
}
ERRORS: dict[tuple[str, str], tuple[str, Any]] = {
    ("POST /associations", "42212"): ("POST /associations", {**RESOURCE, "associations": []}),
    ("PUT /associations/resources/{resourceId}", "42212"): (
        "PUT /associations/resources/id-1",
        {**RESOURCE, "associations": []},
    ),
    ("POST /compatibility/subjects/{subject}/versions", "42201"): (
        "POST /compatibility/subjects/s/versions",
        BAD,
    ),
    **{
        ("POST /compatibility/subjects/{subject}/versions/{version}", code): (
            f"POST /compatibility/subjects/s/versions/{version}",
            BAD,
        )
        for code, version in (("40402", "9"), ("42201", "1"), ("42202", "0"))
    },
    ("PUT /config", "42203"): ("PUT /config", {"compatibility": "NO"}),
    ("DELETE /config/{subject}", "40401"): ("DELETE /config/none", None),
    ("PUT /config/{subject}", "42203"): ("PUT /config/s", {"compatibility": "NO"}),
    **{
        (f"PUT {path}", code): (f"PUT {asked}", {"mode": mode})
        for path, asked in (("/mode", "/mode"), ("/mode/{subject}", "/mode/s"))
        for code, mode in (("42204", "NO"), ("42205", "IMPORT"))
    },
    ("DELETE /mode/{subject}", "40401"): ("DELETE /mode/none", None),
    ("GET /schemas/guids/{guid}", "40403"): ("GET /schemas/guids/none", None),
    ("GET /schemas/ids/{id}", "40403"): ("GET /schemas/ids/99", None),
    ("GET /schemas/ids/{id}/schema", "40403"): ("GET /schemas/ids/99/schema", None),
    ("GET /schemas/ids/{id}/subjects", "40403"): ("GET /schemas/ids/99/subjects", None),
    ("GET /schemas/ids/{id}/versions", "40403"): ("GET /schemas/ids/99/versions", None),
    ("DELETE /subjects/{subject}", "40401"): ("DELETE /subjects/none", None),
    ("POST /subjects/{subject}", "40401"): ("POST /subjects/none", {"schema": USER}),
    ("POST /subjects/{subject}", "40403"): ("POST /subjects/s", {"schema": OTHER}),
    ("GET /subjects/{subject}/metadata", "40401"): ("GET /subjects/none/metadata?key=k&value=v", None),
    ("GET /subjects/{subject}/metadata", "40403"): ("GET /subjects/s/metadata?key=k&value=w", None),
    ("GET /subjects/{subject}/versions", "40401"): ("GET /subjects/none/versions", None),
    ("POST /subjects/{subject}/versions", "409"): ("POST /subjects/s/versions", {"schema": OTHER}),
    ("POST /subjects/{subject}/versions", "42201"): ("POST /subjects/s/versions", BAD),
    **{
        (f"{method} /subjects/{{subject}}/versions/{{version}}{rest}", code): (
            f"{method} /subjects/{subject}/versions/{version}{rest}",
            None,
        )
        for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/referencedby"), ("GET", "/schema"))
        for code, subject, version in (("40401", "none", "1"), ("40402", "s", "9"), ("42202", "s", "0"))
    },
    ("POST /subjects/{subject}/versions/{version}/tags", "409"): (
        "POST /subjects/clash/versions/1/tags",
        {"newVersion": 3, "tagsToAdd": tags("User")},
    ),
    ("POST /subjects/{subject}/versions/{version}/tags", "42201"): (
        "POST /subjects/s/versions/1/tags",
        TAGS_OF_NONE,
    ),
}  # fmt: skip
# Where the server of 8.3.1 does not say what its file says: what it says in its place, and why.
IN_ITS_PLACE: dict[tuple[str, str], tuple[str, Any, int]] = {
    # Its source has this number.
    ("POST /associations", "40911"): ("POST /associations", {**RESOURCE, "associations": [STRONG]}, 40903),
    # The subject is not looked for.
    ("POST /compatibility/subjects/{subject}/versions/{version}", "40401"): (
        "POST /compatibility/subjects/none/versions/1",
        {"schema": USER},
        40402,
    ),
    # Newer numbers.
    ("GET /config/{subject}", "40401"): ("GET /config/none", None, 40408),
    ("GET /mode/{subject}", "40401"): ("GET /mode/none", None, 40409),
}  # fmt: skip
# What it never says.
NEVER = {
    # The check for too many is commented out in its source.
    ("POST /associations", "40912"),
    ("PUT /associations/resources/{resourceId}", "40912"),
    # Changing one that is there is what PUT is for, and there is no property in a DELETE.
    ("PUT /associations/resources/{resourceId}", "40911"),
    ("DELETE /associations/resources/{resourceId}", "42212"),
    # The path names no version.
    ("POST /compatibility/subjects/{subject}/versions", "42202"),
    # A subject may be configured before it is there; a context that is not there is deleted already; a guid
    # that nobody has, has no ids.
    ("PUT /config/{subject}", "40401"),
    ("DELETE /contexts/{context}", "40401"),
    ("GET /schemas/guids/{guid}/ids", "40403"),
}
OF_MUTABILITY = {("DELETE /mode", "42205")}
"""Where modes may not be changed: tested with that setting."""
OF_JOURNAL = {
    "50001": JournalError("no"),
    "50002": JournalTimeoutError("no"),
    "50003": NotLeaderError("no", "http://leads"),
    "50004": NotLeaderError("no"),
}


def test_every_documented_error_is_said_or_argued() -> None:
    said = {*ERRORS, *IN_ITS_PLACE, *NEVER, *OF_MUTABILITY}
    documented = {
        (operation, each)
        for operation, (_, told) in DOCUMENTED.items()
        for each in told
        if "400" <= each < "50000" and each != "500"
    }
    assert documented == said
    assert not {*ERRORS} & ({*IN_ITS_PLACE} | NEVER)


@pytest.mark.parametrize(("operation", "code"), ERRORS)
def test_a_documented_error_is_said(operation: str, code: str) -> None:
    with seeded() as ask:
        status, answer = ask(*ERRORS[operation, code])
    assert (str(answer["error_code"]), str(status)) == (code, code[:3]), answer


@pytest.mark.parametrize(("operation", "code"), IN_ITS_PLACE)
def test_an_error_is_said_as_the_server_says_it(operation: str, code: str) -> None:
    line, body, said = IN_ITS_PLACE[operation, code]
    with seeded() as ask:
        assert ask(line, body)[1]["error_code"] == said


class Failing(MemoryJournal):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def caught_up(self) -> None:
        raise self._error


WRITES = [
    (operation, code)
    for operation, (_, told) in DOCUMENTED.items()
    for code in told
    # What is read is read from memory, which does not fail.
    if code in OF_JOURNAL and not operation.startswith("GET") and "compatibility" not in operation
]


@pytest.mark.parametrize(("operation", "code"), WRITES)
def test_a_documented_error_of_the_store_is_said(operation: str, code: str) -> None:
    async def forward(*_: object) -> Any:
        raise forwarding_failed("no")

    async def run() -> httpx.Response:
        service = RegistryService(Failing(OF_JOURNAL[code]))
        app = RegistryApp(service, forward=forward)
        line, body = ANSWERED[operation]
        method, _, path = line.partition(" ")
        transport = httpx.ASGITransport(app=app)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://registry") as client:
                return await client.request(method, path, json=body)
        finally:
            await service.close()

    answer = asyncio.run(run())
    assert (answer.status_code, str(answer.json()["error_code"])) == (500, code)


@pytest.mark.parametrize("entity", REQUEST_FIELDS)
def test_requests_have_the_documented_fields_and_no_others(entity: str) -> None:
    line, names = REQUEST_FIELDS[entity]
    with seeded() as ask:
        for name in names:
            assert f"Unrecognized field: {name}" not in str(ask(line, {name: {"no": [5]}})), name
        status, answer = ask(line, {"no_such": 1})
    assert status == 422
    # Requests for associations may have more in them.
    is_lenient = entity == "AssociationCreateOrUpdateRequest"
    assert ("Unrecognized field: no_such" in answer["message"]) != is_lenient


@pytest.mark.parametrize("line", ANSWER_FIELDS)
def test_answers_have_only_documented_fields(line: str) -> None:
    with seeded() as ask:
        found = ask(line, {"schema": TAGGED} if line.startswith("POST") else None)[1]
    assert found
    assert {*found} <= {*ANSWER_FIELDS[line]}


def test_calls_of_the_documentation_are_answered_as_it_prints(ask: Ask) -> None:
    for line, body, status, printed in EXAMPLES:
        answered = ask(line, body)
        assert answered[0] == status, (line, answered)
        if isinstance(printed, dict):
            assert {name: answered[1].get(name) for name in printed} == printed, line
        else:
            assert answered[1] == printed, line
