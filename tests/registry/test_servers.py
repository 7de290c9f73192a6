"""The same requests, to Apicurio Registry and to Barnabas's own: what Apicurio answers as Confluent's does,
ours answers as well. Words, and fields that only newer registries have, are not compared."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest
from tests.registry_server.schemas import OTHER, TEAM, USER, USER_2, USER_3

COMPARED = ("id", "subject", "version", "schema", "is_compatible", "compatibility", "compatibilityLevel")
REFERENCES = [{"name": "User", "subject": "{user}", "version": 1}]


def schema(text: str, **others: Any) -> dict[str, Any]:
    return {"schema": text, **others}


REQUESTS: list[tuple[str, Any]] = [
    ("POST /subjects/{s}/versions", schema(USER)),
    ("POST /subjects/{s}/versions", schema(USER)),
    ("POST /subjects/{s}/versions", schema(USER_2)),
    ("GET /subjects/{s}/versions", None),
    ("GET /subjects/{s}/versions/1", None),
    ("GET /subjects/{s}/versions/latest", None),
    ("GET /subjects/{s}/versions/latest/schema", None),
    ("GET /subjects/{s}/versions/9", None),
    ("GET /subjects/{none}/versions", None),
    ("GET /schemas/ids/99999999", None),
    ("GET /schemas/ids/{first}", None),
    ("POST /subjects/{s}", schema(USER)),
    ("POST /subjects/{s}", schema(OTHER)),
    ("POST /subjects/{none}", schema(OTHER)),
    ("PUT /config/{s}", {"compatibility": "BACKWARD"}),
    ("GET /config/{s}", None),
    ("POST /compatibility/subjects/{s}/versions/latest", schema(USER_3)),
    ("POST /compatibility/subjects/{s}/versions/latest", schema(OTHER)),
    ("POST /compatibility/subjects/{s}/versions", schema(OTHER)),
    ("POST /subjects/{s}/versions", schema(OTHER)),
    ("POST /subjects/{s}/versions", schema("{")),
    ("POST /subjects/{s}/versions", schema('{"type":"nothing"}')),
    ("DELETE /config/{s}", None),
    ("POST /subjects/{user}/versions", schema(USER)),
    ("POST /subjects/{team}/versions", schema(TEAM, references=REFERENCES)),
    ("GET /subjects/{user}/versions/1/referencedby", None),
    ("POST /subjects/{none}/versions", schema(TEAM, references=[{**REFERENCES[0], "subject": "{none}"}])),
    ("DELETE /subjects/{user}/versions/1", None),
    ("DELETE /subjects/{s}/versions/1", None),
    ("GET /subjects/{s}/versions", None),
    ("GET /subjects/{s}/versions?deleted=true", None),
    ("DELETE /subjects/{s}/versions/1?permanent=true", None),
    ("GET /subjects/{s}/versions?deleted=true", None),
    ("DELETE /subjects/{s}", None),
    ("DELETE /subjects/{s}", None),
    ("DELETE /subjects/{s}?permanent=true", None),
    ("DELETE /subjects/{s}?permanent=true", None),
    ("DELETE /subjects/{none}", None),
]


class Asking:
    """Of one registry, with subjects of the test's own; ids are numbered as they are seen."""

    def __init__(self, url: str, subject: str) -> None:
        self._client = httpx.Client(base_url=url)
        self._names = {name: f"{subject}-{name}" for name in ("s", "none", "user", "team")}
        self._ids: dict[int, int] = {}
        self._numbers = itertools.count(1)

    def ask(self, line: str, body: Any) -> tuple[int, Any]:
        names = {**self._names, "first": next(iter(self._ids), 0)}
        method, _, path = line.format(**names).partition(" ")
        if isinstance(body, dict) and "references" in body:
            named = [{**each, "subject": each["subject"].format(**names)} for each in body["references"]]
            body = {**body, "references": named}
        answer = self._client.request(method, path, json=body)
        return answer.status_code, self._essence(path, answer.json())

    def _essence(self, path: str, found: Any) -> Any:
        if path.endswith("referencedby"):
            return [self._numbered(each) for each in found]
        if not isinstance(found, dict):
            return found
        if "error_code" in found:
            return found["error_code"]
        if "fields" in found:
            return found
        # Apicurio answers a registration with the id only.
        compared = COMPARED[:1] if path.endswith("/versions") and "id" in found else COMPARED
        parts = {name: found[name] for name in compared if name in found}
        return parts | ({"id": self._numbered(parts["id"])} if "id" in parts else {})

    def _numbered(self, schema_id: int) -> int:
        if schema_id not in self._ids:
            self._ids[schema_id] = next(self._numbers)
        return self._ids[schema_id]

    def close(self) -> None:
        self._client.close()


def test_both_answer_alike(apicurio: str, embedded: str, subject: str) -> None:
    theirs, ours = Asking(apicurio, subject), Asking(embedded, subject)
    for line, body in REQUESTS:
        expected = theirs.ask(line, body)
        assert (line, ours.ask(line, body)) == (line, expected)
    theirs.close()
    ours.close()


@pytest.mark.parametrize("line", ["GET /subjects", "GET /subjects?deleted=true"])
def test_both_list_alike(apicurio: str, embedded: str, subject: str, line: str) -> None:
    found: list[list[str]] = []
    for url in (apicurio, embedded):
        asking = Asking(url, subject)
        for name in ("user", "s"):
            asking.ask(f"POST /subjects/{{{name}}}/versions", schema(USER))
        asking.ask("DELETE /subjects/{s}", None)
        _, listed = asking.ask(line, None)
        found.append(sorted(each for each in listed if each.startswith(subject)))
        asking.close()
    assert found[0] == found[1]
