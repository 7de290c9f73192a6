"""Users of a registry: the file that they are in, their roles, and what is asked of a request."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from barnabas.errors import InvalidSettingError
from barnabas.registry_server.access import User, Users, hashed, read_users, user_line
from barnabas.registry_server.rest.guard import Guard, only_reads

GOOD = "scrypt$14$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "users"
        path.write_text(text)
        return path

    return write


def test_a_password_fits_its_hash_and_no_other_does() -> None:
    password = hashed("påss word")
    assert password.fits("påss word")
    assert not password.fits("pass word")
    assert not password.fits("")
    assert str(password) != str(hashed("påss word"))


def test_users_are_read_from_lines_as_they_are_made(written: Callable[[str], Path]) -> None:
    lines = ["# who may use it", "", user_line("alice", "write", "a"), user_line("bob", "read", "b")]
    users = read_users(written("\n".join(lines)))
    assert {name: user.role for name, user in users.items()} == {"alice": "write", "bob": "read"}
    assert users["alice"].password.fits("a")
    assert "a " not in lines[2].split("$")[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alice write", "line 1: a line has a user's name, a role and a hash"),
        (f"alice admin {GOOD}", "line 1: the role 'admin' is not one of read, write"),
        (f"al:ice read {GOOD}", "has a colon"),
        ("alice read secret", "the hash is not of the form"),
        ("alice read scrypt$14$8$1$AA==$!!", "the hash is not of the form"),
        (f"alice read {GOOD.replace('$14$', '$30$')}", "costs more"),
        (f"alice read {GOOD}\nalice read {GOOD}", "line 2: there is a user 'alice' above"),
        ("# nobody\n", "has no users"),
    ],
)
def test_a_line_that_means_nothing_is_named(written: Callable[[str], Path], text: str, said: str) -> None:
    with pytest.raises(InvalidSettingError, match=said.replace("$", r"\$")):
        read_users(written(text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingError, match="nowhere"):
        read_users(tmp_path / "nowhere")


def test_a_password_is_hashed_once_and_a_wrong_one_each_time() -> None:
    users = Users({"alice": User("alice", "read", hashed("right"))})
    assert users.known("alice", "right") is None
    assert users.checked("alice", "wrong") is None
    assert users.known("alice", "wrong") is None
    assert users.checked("alice", "right") == users.known("alice", "right") != None  # noqa: E711
    assert users.known("alice", "wrong") is None
    assert users.checked("nobody", "right") is None
    assert users.known("nobody", "right") is None


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("GET /subjects", True),
        ("HEAD /", True),
        ("OPTIONS /subjects", True),
        ("POST /", True),
        ("POST /subjects/a", True),
        ("POST /subjects/a%2Fb", True),
        ("POST /contexts/.c/subjects/a", True),
        ("POST /compatibility/subjects/a/versions/latest", True),
        ("POST /contexts/.c/compatibility/subjects/a/versions", True),
        ("POST /associations:batchGet", True),
        ("POST /associations:batchMutate", False),
        ("POST /associations", False),
        ("POST /subjects/a/versions", False),
        ("POST /contexts/.c/subjects/a/versions", False),
        ("DELETE /subjects/a", False),
        ("DELETE /contexts/.c", False),
        ("PUT /config", False),
        ("PUT /compatibility/subjects/a", False),
        ("PUT /mode/a", False),
        ("POST /dek-registry/v1/keks", False),
        ("POST /subjects/a/versions/1/tags", False),
        ("PATCH /subjects/a", False),
    ],
)
def test_what_only_reads(line: str, reads: bool) -> None:
    method, path = line.split(" ")
    assert only_reads(method, path.encode()) is reads


async def answer_ok(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


def basic(text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("headers", "method", "status"),
    [
        ({}, "GET", 401),
        (basic("alice:wrong"), "GET", 401),
        (basic("nobody:w:o"), "GET", 401),
        (basic("alice"), "GET", 401),
        ({"Authorization": "Basic ?"}, "GET", 401),
        ({"Authorization": "Bearer abc"}, "GET", 401),
        ({"Authorization": "Basic /w=="}, "GET", 401),
        (basic("alice:w:o"), "GET", 200),
        (basic("alice:w:o"), "DELETE", 200),
        (basic("bob:r"), "GET", 200),
        (basic("bob:r"), "DELETE", 403),
    ],
)
def test_who_may_not_gets_the_original_s_body(headers: dict[str, str], method: str, status: int) -> None:
    import asyncio

    users = Users({"alice": User("alice", "write", hashed("w:o")), "bob": User("bob", "read", hashed("r"))})

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=Guard(answer_ok, users))
        async with httpx.AsyncClient(transport=transport, base_url="http://sr") as client:
            return await client.request(method, "/subjects/a", headers=headers)

    answer = asyncio.run(ask())
    assert answer.status_code == status
    if status == 401:
        assert answer.json() == {"error_code": 401, "message": "Unauthorized"}
        assert answer.headers["www-authenticate"] == 'Basic realm="SchemaRegistry"'
    if status == 403:
        assert answer.json() == {"error_code": 403, "message": "Forbidden"}
