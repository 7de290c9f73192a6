"""Requests that mean no good, or no sense: an error in JSON, at once, and the registry goes on."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.registry_server.conftest import Ask
from tests.registry_server.schemas import USER

from barnabas.registry_server.rest.app import LARGEST_BODY_BYTES
from barnabas.testing import EmbeddedRegistry

REGISTER = "POST /subjects/s/versions"


def nested(depth: int, begin: str, inner: str, end: str) -> str:
    return begin * depth + inner + end * depth


BODIES: list[tuple[str, Any]] = [
    ("nothing", b""),
    ("spaces", b"  \n"),
    ("no JSON", b"{"),
    ("no UTF-8", b'{"schema": "\xff\xfe"}'),
    ("a number", b"5"),
    ("null", b"null"),
    ("a list", b"[]"),
    ("deep", b"[" * 100_000),
    ("deep in a field", b'{"schema": ' + b'{"a":' * 100_000),
    ("a schema that is no text", {"schema": {"type": "string"}}),
    ("a version that is no number", {"schema": USER, "version": "one"}),
    ("an id beyond all", {"schema": USER, "id": 1 << 40}),
    ("a number beyond all", b'{"schema": "x", "id": ' + b"9" * 10_000 + b"}"),
    ("not a number", b'{"schema": "x", "id": NaN}'),
    ("infinity", b'{"schema": "x", "version": 1e999}'),
    ("an unknown field", {"schema": USER, "schem": 1}),
    ("an unknown field within", {"schema": USER, "metadata": {"tag": {}}}),
    ("half a pair", b'{"schema": "\\ud800"}'),
    ("half a pair in a key", b'{"schema": "x", "metadata": {"properties": {"\\udfff": "a"}}}'),
    ("references that are none", {"schema": USER, "references": {"a": 1}}),
    ("a rule of no kind", {"schema": USER, "ruleSet": {"domainRules": [{"kind": "MAGIC"}]}}),
    ("tags that are none", {"schema": USER, "schemaTagsToAdd": [{"tags": ["a"]}]}),
    ("a type that is none", {"schema": USER, "schemaType": ["AVRO"]}),
]

SCHEMAS = [
    nested(100_000, "[", "", "]"),
    nested(5_000, '{"type":"array","items":', '"int"', "}"),
    nested(900, '{"type":', '"int"', "}"),
    '{"type":"record","name":"R","fields":[{"name":"f","type":"int","default":'
    + "[" * 900
    + "]" * 900
    + "}]}",
    '{"type":"record","name":"R","fields":[{"name":"f","type":"S"}]}',
    '{"type":"fixed","name":"F","size":1e400}',
    '{"type":"fixed","name":"F","size":-1}',
    '{"type":"enum","name":"E","symbols":["A","A"]}',
    "[" + ",".join(['"int"'] * 100_000) + "]",
    "\x00",
]


OTHERS = [
    ("JSON", nested(100_000, "[", "", "]")),
    ("JSON", nested(3_000, '{"properties":{"a":', "{}", "}}")),
    ("JSON", nested(900, '{"not":', "{}", "}")),
    ("JSON", '{"$ref":"#/definitions/none"}'),
    ("JSON", '{"$ref":"http://127.0.0.1:9/none.json"}'),
    ("JSON", '{"type":"nothing"}'),
    ("JSON", '{"pattern":"(a+"}'),
    ("JSON", '"string"'),
    ("JSON", "{"),
    ("PROTOBUF", "message"),
    ("PROTOBUF", 'syntax = "proto3"; message M { M m = 99999999999999999999; }'),
    ("PROTOBUF", 'syntax = "proto3"; import "none.proto"; message M { N n = 1; }'),
    ("PROTOBUF", 'syntax = "proto3"; ' + nested(5_000, "message M { ", "", "}")),
    ("PROTOBUF", "/*" * 100_000),
    ("PROTOBUF", "\x00\x01\x02"),
    ("PROTOBUF", "AAAA"),
    ("PROTOBUF", '"string"'),
]


@pytest.mark.parametrize(("kind", "body"), BODIES, ids=[kind for kind, _ in BODIES])
@pytest.mark.parametrize("line", [REGISTER, "POST /subjects/s", "PUT /config", "PUT /mode"])
def test_a_body_that_is_none_is_unprocessable(ask: Ask, line: str, kind: str, body: Any) -> None:
    ask("POST /subjects/t/versions", {"schema": USER})
    status, found = ask(line, body)
    assert status in (422, 404)
    assert set(found) == {"error_code", "message"}
    assert "Traceback" not in found["message"]
    assert len(found["message"]) < 500
    assert ask("GET /subjects") == (200, ["t"])


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_a_schema_that_is_none_or_too_deep_is_invalid(ask: Ask, number: int) -> None:
    began = time.process_time()
    for line in (REGISTER, "POST /compatibility/subjects/t/versions"):
        ask("POST /subjects/t/versions", {"schema": USER})
        status, found = ask(line, {"schema": SCHEMAS[number]})
        assert status == 422
        assert found["error_code"] in (422, 42201)
        assert len(found["message"]) < 1000
    assert time.process_time() - began < 5


def test_a_schema_about_as_deep_as_python_goes_is_kept_or_refused(ask: Ask) -> None:
    # Libraries change the limit.
    limit = sys.getrecursionlimit()
    for depth in range(limit - 200, limit + 20, 5):
        status, found = ask(REGISTER, {"schema": '{"type":"int","x":' + "[" * depth + "]" * depth + "}"})
        assert status == 200 or (status, found["error_code"]) in [(422, 422), (422, 42201)]


@pytest.mark.parametrize(
    "number", range(len(OTHERS)), ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(OTHERS)]
)
def test_a_schema_of_another_type_that_is_none_is_invalid_as_well(ask: Ask, number: int) -> None:
    kind, text = OTHERS[number]
    # The processor's time, which does not pass while others have the machine.
    began = time.process_time()
    for line in (REGISTER, "POST /subjects/s", "POST /compatibility/subjects/s/versions"):
        status, found = ask(line, {"schema": text, "schemaType": kind})
        assert (status, found["error_code"]) in [(422, 422), (422, 42201)]
        assert found["message"].startswith(f"Invalid schema of type {kind}, details: ")
        assert len(found["message"]) < 1000
    assert time.process_time() - began < 5


def test_what_refers_to_itself_is_compared(ask: Ask) -> None:
    tree = '{"$id":"t","properties":{"child":{"$ref":"#"}},"additionalProperties":false}'
    node = 'syntax = "proto3";\n\nmessage Node {\n  Node next = 1;\n}\n'
    for kind, text, other in [
        ("JSON", tree, tree.replace("child", "left")),
        ("PROTOBUF", node, node.replace("Node next", "int32 next")),
    ]:
        assert ask(f"POST /subjects/{kind}/versions", {"schema": text, "schemaType": kind})[0] == 200
        check = f"POST /compatibility/subjects/{kind}/versions"
        assert ask(check, {"schema": text, "schemaType": kind})[1] == {"is_compatible": True}
        assert ask(check, {"schema": other, "schemaType": kind})[1] == {"is_compatible": False}


def test_a_schema_may_be_as_deep_as_it_says(ask: Ask) -> None:
    deep = nested(190, '{"type":"array","items":', '"int"', "}")
    assert ask(REGISTER, {"schema": deep})[0] == 200
    assert ask("POST /compatibility/subjects/s/versions", {"schema": deep})[1] == {"is_compatible": True}


def test_a_body_that_is_too_large_is_refused_and_not_kept(ask: Ask) -> None:
    body = json.dumps({"schema": '{"type":"int","doc":"' + "x" * LARGEST_BODY_BYTES + '"}'}).encode()
    status, found = ask(REGISTER, body)
    assert (status, found["error_code"]) == (422, 422)
    assert found["message"] == f"the body is larger than {LARGEST_BODY_BYTES} bytes"


def test_a_chain_of_references_has_an_end(ask: Ask) -> None:
    schema, references = '{"type":"record","name":"R0","fields":[]}', []
    for number in range(60):
        body = {"schema": schema, "references": references}
        assert ask(f"POST /subjects/r{number}/versions", body)[0] == 200
        # Each refers to the one before twice, under two names: by trying, two to the power of sixty.
        schema = json.dumps(
            {
                "type": "record",
                "name": f"R{number + 1}",
                "fields": [{"name": "a", "type": f"R{number}"}, {"name": "b", "type": f"R{number}"}],
            }
        )
        references = [{"name": f"R{number}", "subject": f"r{number}", "version": 1}]
    assert ask("GET /subjects/r59/versions/1?format=resolved")[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/xml"}, 415),
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"content_type": "application/octet-stream"}, 200),
        ({"accept": "text/html"}, 406),
        ({"accept": "application/json;q=0"}, 406),
        ({"accept": "application/*"}, 200),
        ({"accept": "text/html, */*;q=0.1"}, 200),
        ({"accept": "application/json;q=x"}, 406),
    ],
)
def test_only_json_is_taken_and_given(ask: Ask, headers: dict[str, str], status: int) -> None:
    found = ask(REGISTER, {"schema": USER}, **headers)
    assert found[0] == status
    if status != 200:
        words = {415: "HTTP 415 Unsupported Media Type", 406: "HTTP 406 Not Acceptable"}
        assert found[1] == {"error_code": status, "message": words[status]}


def test_unknown_fields_are_taken_from_who_says_that_they_may_come(ask: Ask) -> None:
    body = {"schema": USER, "later": {"a": 1}}
    assert ask(REGISTER, body)[1] == {"error_code": 422, "message": "Unrecognized field: later"}
    assert ask(REGISTER, body, Confluent_Accept_Unknown_Properties="true")[0] == 200


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("PATCH /subjects", 405),
        ("DELETE /schemas/ids/1", 405),
        ("PUT /subjects/s", 405),
        ("GET /compatibility/subjects/s/versions", 405),
        ("GET /subjects/s/versions/1/more", 404),
        ("GET /%00", 404),
        ("GET /%ff%fe", 404),
        ("GET /" + "a/" * 5_000, 404),
        ("GET /subjects?" + "a=b&" * 5_000, 422),
        ("GET /subjects?offset=" + "9" * 5_000, 404),
        ("GET /schemas/ids/" + "9" * 5_000, 404),
        ("GET /schemas/ids/-1", 404),
        ("GET /subjects/s/versions/" + "9" * 5_000, 422),
        ("GET /subjects/s/versions/٣", 422),
        ("GET /schemas/guids/" + "9" * 5_000, 404),
        ("OPTIONS /nowhere", 404),
    ],
)
def test_paths_that_lead_nowhere_say_so_in_json(ask: Ask, line: str, status: int) -> None:
    found = ask(line)
    assert found[0] == status
    assert set(found[1]) == {"error_code", "message"}


@pytest.mark.integration
def test_head_and_options_have_no_body(registry_url: str) -> None:
    with httpx.Client(base_url=registry_url) as client:
        head = client.head("/subjects")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == "application/vnd.schemaregistry.v1+json"
        options = client.options("/subjects/s/versions/1")
        assert (options.status_code, options.headers["allow"]) == (200, "DELETE,GET,HEAD,OPTIONS")
        assert client.get("/subjects", headers={"accept": "application/json"}).headers["content-type"] == (
            "application/json"
        )


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /subjects/s/versions HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"POST /subjects/s/versions HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{",
        b"POST /subjects/s/versions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
@pytest.mark.integration
def test_what_is_no_http_ends_its_connection_only(registry_url: str, sent: bytes) -> None:
    host, port = registry_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass
    assert httpx.get(f"{registry_url}/subjects").status_code == 200


@pytest.mark.integration
def test_a_body_that_does_not_come_is_not_waited_for(
    registry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.registry_server.rest.app.BODY_SECONDS", 0.05)
    host, port = registry_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"POST /subjects/s HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 408 ")


@pytest.mark.integration
def test_many_at_once_get_ids_and_versions_of_their_own() -> None:
    with EmbeddedRegistry() as registry, httpx.Client(base_url=registry.url) as client:
        client.put("/config", json={"compatibility": "NONE"})
        gate = threading.Barrier(16)

        def register(number: int) -> tuple[int, int]:
            gate.wait()
            body = {"schema": json.dumps({"type": "fixed", "name": f"F{number % 8}", "size": 1})}
            found = client.post("/subjects/s/versions", json=body).json()
            return found["id"], found["version"]

        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(register, range(16)))
        # Each schema was asked for twice.
        assert found[:8] == found[8:]
        assert sorted(found[:8]) == [(number, number) for number in range(1, 9)]
