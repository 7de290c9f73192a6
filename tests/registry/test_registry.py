"""Both fronts against a registry of other people's, and against what only answers in one's place."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.registry.conftest import Stranger

from barnabas import Registry, aio
from barnabas.errors import ClosedError, InvalidSettingError, MisuseError
from barnabas.registry import (
    IncompatibleSchemaError,
    InvalidSchemaError,
    RegistryAuthError,
    RegistryError,
    RegistrySettings,
    RegistryUnreachableError,
    Schema,
    SchemaNotFoundError,
    SchemaReference,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from barnabas.registry.calls import RegistryCalls
from barnabas.testing import EmbeddedBroker
from barnabas.testing.certificates import Certificates

# Without spaces, as some registries keep them.
FIRST = Schema('{"type":"record","name":"U","fields":[{"name":"id","type":"long"}]}')
SECOND = Schema(
    '{"type":"record","name":"U","fields":[{"name":"id","type":"long"},'
    '{"name":"e","type":["null","string"],"default":null}]}'
)
OTHER = Schema('{"type": "record", "name": "U", "fields": [{"name": "z", "type": "int"}]}')

Stand = Callable[..., Stranger]


class OnALoop:
    """The asyncio front, waited for."""

    def __init__(self, url: str, **settings: Any) -> None:
        self._runner = asyncio.Runner()

        async def make() -> aio.Registry:
            return aio.Registry(url, **settings)

        try:
            self._registry = self._runner.run(make())
        except BaseException:
            self._runner.close()
            raise

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._registry, name)
        if not inspect.iscoroutinefunction(getattr(type(self._registry), name)):
            return call
        return lambda *arguments, **settings: self._runner.run(call(*arguments, **settings))

    def close_registry(self) -> None:
        self._runner.run(self._registry.close())

    def close(self) -> None:
        self.close_registry()
        self._runner.close()


class PlainRegistry(Registry):
    close_registry = Registry.close


Front = Callable[..., Any]


@pytest.fixture(params=[PlainRegistry, OnALoop], ids=["plain", "asyncio"])
def front(request: pytest.FixtureRequest) -> Iterator[Front]:
    """`front(url, **settings)`."""
    made: list[Any] = []

    def make(url: str, **settings: Any) -> Any:
        made.append(request.param(url, **settings))
        return made[-1]

    yield make
    for registry in made:
        registry.close()


@pytest.mark.integration
def test_schemas_are_registered_found_and_deleted(front: Front, any_registry: str, subject: str) -> None:
    registry = front(any_registry)
    first = registry.register(subject, FIRST)
    assert (first.subject, first.version) == (subject, 1)
    second = registry.register(subject, SECOND)
    assert (second.version, second.id != first.id) == (2, True)
    assert registry.register(subject, FIRST) == first
    assert registry.look_up(subject, FIRST).version == 1
    assert registry.schema(first.id) == FIRST
    assert registry.version(subject, 2).schema == SECOND
    assert registry.version(subject, "latest").version == registry.latest(subject).version == 2
    assert registry.versions(subject) == [1, 2]
    assert subject in registry.subjects()
    assert (subject, 1) in {(each.subject, each.version) for each in registry.versions_of(first.id)}
    assert {"AVRO", "JSON", "PROTOBUF"} <= set(registry.schema_types())
    assert registry.delete_version(subject, 1) == 1
    assert registry.versions(subject) == [2]
    assert registry.delete_subject(subject) == [2]
    with pytest.raises(SubjectNotFoundError, match=subject):
        registry.versions(subject)
    assert registry.delete_subject(subject, permanent=True)


@pytest.mark.integration
def test_what_is_not_there_has_an_error_of_its_own(front: Front, any_registry: str, subject: str) -> None:
    registry = front(any_registry)
    with pytest.raises(SubjectNotFoundError):
        registry.latest(subject)
    with pytest.raises(SchemaNotFoundError):
        registry.schema(987_654_321)
    registry.register(subject, FIRST)
    with pytest.raises(VersionNotFoundError):
        registry.version(subject, 99)
    with pytest.raises(SchemaNotFoundError):
        registry.look_up(subject, OTHER)
    with pytest.raises(InvalidSchemaError):
        registry.register(subject, Schema('{"type": "nothing"}'))


@pytest.mark.integration
def test_compatibility_is_set_and_checked(front: Front, any_registry: str, subject: str) -> None:
    registry = front(any_registry)
    registry.register(subject, FIRST)
    assert registry.set_settings(RegistrySettings("BACKWARD"), subject).compatibility == "BACKWARD"
    assert registry.settings(subject).compatibility == "BACKWARD"
    assert registry.check(subject, SECOND).is_compatible
    assert not registry.check(subject, OTHER).is_compatible
    assert not registry.check(subject, OTHER, version="all").is_compatible
    with pytest.raises(IncompatibleSchemaError):
        registry.register(subject, OTHER)
    registry.delete_settings(subject)
    assert registry.settings().compatibility


@pytest.mark.integration
def test_a_refusal_comes_with_its_reasons(front: Front, stranger: Stand) -> None:
    server = stranger((200, b'{"is_compatible": false, "messages": ["reader type: INT", "at /z"]}'))
    refused = front(server.url).check("s", OTHER)
    assert (refused.is_compatible, refused.messages) == (False, ("reader type: INT", "at /z"))


@pytest.mark.integration
def test_a_schema_refers_to_another_one(front: Front, any_registry: str, subject: str) -> None:
    registry = front(any_registry)
    inner = registry.register(f"{subject}-inner", FIRST)
    outer = Schema(
        '{"type": "record", "name": "Outer", "fields": [{"name": "u", "type": "U"}]}',
        references=(SchemaReference("U", f"{subject}-inner", inner.version),),
    )
    registered = registry.register(subject, outer)
    assert registry.schema(registered.id).references == outer.references
    assert registry.referenced_by(f"{subject}-inner", 1) == [registered.id]


@pytest.mark.integration
def test_what_cannot_change_is_asked_for_once(front: Front, stranger: Stand) -> None:
    version = b'{"subject": "s", "version": 1, "id": 5, "guid": "g", "schema": "\\"int\\""}'
    server = stranger((200, version))
    registry = front(server.url)
    for _ in range(3):
        registry.schema(5)
        registry.schema_by_guid("g")
        registry.version("s", 1)
        registry.latest("s")
        registry.latest("s", metadata={"a": "1"})
        registry.look_up("s", Schema('"int"'))
        registry.register("s", Schema('"int"'))
    assert server.paths == [
        "GET /schemas/ids/5",
        "GET /schemas/guids/g",
        "GET /subjects/s/versions/1",
        "GET /subjects/s/versions/latest",
        "GET /subjects/s/metadata?key=a&value=1",
        "POST /subjects/s",
    ]
    registry.clear_caches()
    registry.register("s", Schema('"int"'))
    registry.schema(5)
    assert server.paths[-2:] == ["POST /subjects/s/versions", "GET /schemas/ids/5"]


@pytest.mark.integration
def test_what_was_registered_or_deleted_is_not_taken_for_the_latest(front: Front, stranger: Stand) -> None:
    version = b'{"subject": "s", "version": 1, "id": 5, "schema": "\\"int\\""}'
    server = stranger((200, version), (200, version), (200, version), (200, b"[1]"), (200, version))
    registry = front(server.url)
    registry.latest("s")
    registry.register("s", Schema('"long"'))
    registry.latest("s")
    registry.delete_subject("s")
    registry.latest("s")
    assert [path for path in server.paths if "latest" in path] == ["GET /subjects/s/versions/latest"] * 3


@pytest.mark.integration
def test_an_id_alone_is_looked_up(front: Front, stranger: Stand) -> None:
    version = b'{"subject": "s", "version": 4, "id": 5, "schema": "\\"int\\""}'
    server = stranger((200, b'{"id": 5}'), (200, version))
    assert front(server.url).register("s", Schema('"int"')).version == 4
    assert server.paths == ["POST /subjects/s/versions", "POST /subjects/s"]


@pytest.mark.integration
def test_a_connection_that_is_lost_is_made_again(front: Front, stranger: Stand) -> None:
    server = stranger(None, (503, b""), (200, b'["AVRO"]'))
    assert front(server.url, retry_backoff_ms=1).schema_types() == ["AVRO"]
    assert len(server.paths) == 3


@pytest.mark.integration
def test_nobody_there_is_an_error_that_names_the_address(front: Front) -> None:
    with pytest.raises(RegistryUnreachableError, match=r"http://127\.0\.0\.1:9: .*(refused|attempts failed)"):
        front("http://127.0.0.1:9", retries=1, retry_backoff_ms=1).schema_types()


@pytest.mark.integration
def test_a_server_that_says_nothing_is_waited_for_as_long_as_is_set(front: Front) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RegistryUnreachableError, match="within 1 tries"):
            front(url, request_timeout_ms=200, retries=0).schema_types()


@pytest.mark.integration
def test_an_answer_without_end_is_not_kept(
    front: Front, stranger: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.registry.transport.LONGEST_ANSWER_BYTES", 1000)
    server = stranger((200, b"[" + b" " * 2000 + b"]"))
    with pytest.raises(RegistryUnreachableError, match="longer than"):
        front(server.url, retries=0).schema_types()


@pytest.mark.integration
def test_a_redirect_is_not_followed_with_credentials(front: Front, stranger: Stand) -> None:
    server = stranger((302, b""))
    with pytest.raises(RegistryError, match="HTTP 302"):
        front(server.url, basic_auth_user_info="a:b").schema_types()
    assert len(server.paths) == 1


@pytest.mark.integration
def test_a_closed_one_says_so(front: Front, stranger: Stand) -> None:
    registry = front(stranger((200, b"[]")).url)
    registry.close_registry()
    with pytest.raises(ClosedError, match="closed"):
        registry.subjects()


# TLS and proxies


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.in_folder(tmp_path_factory.mktemp("registry-certificates"))


@pytest.fixture
def guarded(stranger: Stand, certificates: Certificates) -> Stranger:
    """Wants a certificate of its clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.broker)
    context.load_verify_locations(certificates.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return stranger((200, b'["AVRO"]'), tls=context)


@pytest.mark.integration
def test_both_sides_show_certificates(front: Front, guarded: Stranger, certificates: Certificates) -> None:
    registry = front(
        guarded.url,
        ssl_ca_location=str(certificates.ca),
        ssl_certificate_location=str(certificates.client),
        ssl_key_location=str(certificates.client_key_encrypted),
        ssl_key_password=certificates.key_password,
    )
    assert registry.schema_types() == ["AVRO"]


@pytest.mark.integration
def test_a_stranger_is_not_trusted(front: Front, guarded: Stranger) -> None:
    with pytest.raises(RegistryUnreachableError, match="its certificate is not trusted"):
        front(guarded.url).schema_types()
    assert not guarded.asked


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ssl_ca_location": "/nowhere.pem"}, "ssl_ca_location '/nowhere.pem' cannot be read"),
        (
            {"ssl_certificate_location": "/nowhere.pem"},
            "ssl_certificate_location '/nowhere.pem', with its key",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named(front: Front, settings: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidSettingError, match=words):
        front("https://127.0.0.1:9", **settings)


@pytest.mark.integration
def test_a_proxy_is_asked_for_the_whole_address(front: Front, stranger: Stand) -> None:
    proxy = stranger((200, b'["AVRO"]'))
    assert front("http://registry.example:8081", proxy=proxy.url).schema_types() == ["AVRO"]
    assert proxy.paths == ["GET http://registry.example:8081/schemas/types"]


# Who asks


@pytest.mark.integration
def test_a_callback_gives_the_token(front: Front, stranger: Stand) -> None:
    server = stranger((200, b"[]"))
    front(server.url, bearer_auth_callback=lambda: "t-1").subjects()
    assert server.asked[0][2]["Authorization"] == "Bearer t-1"


@pytest.mark.integration
def test_only_asyncio_awaits_a_callback(stranger: Stand) -> None:
    server = stranger((200, b"[]"))

    async def callback() -> str:
        return "t-2"

    with Registry(server.url, bearer_auth_callback=callback) as registry, pytest.raises(MisuseError):
        registry.subjects()
    registry = OnALoop(server.url, bearer_auth_callback=callback)
    registry.subjects()
    registry.close()
    assert server.asked[0][2]["Authorization"] == "Bearer t-2"


@pytest.mark.integration
def test_a_token_is_issued(front: Front, stranger: Stand) -> None:
    issuer = stranger((200, b'{"access_token": "t-3", "expires_in": 60}'))
    server = stranger((200, b"[]"))
    registry = front(
        server.url,
        bearer_auth_issuer_endpoint_url=f"{issuer.url}/token",
        bearer_auth_client_id="me",
        bearer_auth_client_secret="secret",
    )
    registry.subjects()
    registry.subjects()
    assert issuer.paths == ["POST /token"]
    assert [headers["Authorization"] for _, _, headers, _ in server.asked] == ["Bearer t-3"] * 2


@pytest.mark.integration
def test_a_wrong_password_says_what_to_check(front: Front, stranger: Stand) -> None:
    server = stranger((401, b'{"error_code": 401, "message": "Unauthorized"}'))
    with pytest.raises(RegistryAuthError, match="check basic_auth_user_info"):
        front(server.url, basic_auth_user_info="a:b").subjects()


# What the page shows


def test_the_examples_of_the_page_run(
    any_registry: str, subject: str, embedded_broker: EmbeddedBroker
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "registry.md").read_text()
    examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    program = "".join(examples)
    for shown, real in (
        ("http://localhost:8081", any_registry),
        ("localhost:9092", embedded_broker.bootstrap),
        ("orders-value", subject),
        ('"orders"', f'"{subject}-topic"'),
    ):
        program = program.replace(shown, real)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 ")
    assert "\nFalse " in done.stdout
    assert "\nOrder(id=5, note=None)\n" in done.stdout
    assert "\n{'id': 5}\n[{'id': 5}]\n" in done.stdout


# Threads, processes, and what both have


@pytest.mark.integration
def test_threads_share_one(any_registry: str, subject: str) -> None:
    with Registry(any_registry) as registry, ThreadPoolExecutor(8) as pool:
        registered = registry.register(subject, FIRST)
        registry.clear_caches()
        found = list(pool.map(lambda _: registry.look_up(subject, FIRST), range(32)))
    assert set(found) == {registered}


@pytest.mark.parametrize("kind", [Registry, aio.Registry])
@pytest.mark.integration
def test_one_that_is_pickled_begins_anew(kind: Any, stranger: Stand) -> None:
    server = stranger((200, b'["AVRO"]'))
    again = pickle.loads(pickle.dumps(kind(server.url, retries=7)))
    assert again.config.retries == 7
    if kind is Registry:
        assert again.schema_types() == ["AVRO"]
        again.close()


@pytest.mark.integration
def test_the_child_of_a_fork_has_connections_of_its_own(any_registry: str) -> None:
    code = """
import os, sys
from barnabas import Registry
registry = Registry(sys.argv[1])
registry.subjects()
child = os.fork()
for _ in range(50):
    registry.subjects()
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
registry.close()
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code, any_registry], check=True, timeout=60)


@pytest.mark.integration
def test_one_that_nobody_closes_leaves_no_descriptor(stranger: Stand, eventually: Any) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    url = stranger((200, b"[]")).url
    Registry(url).subjects()
    before = descriptors()
    for _ in range(20):
        Registry(url).subjects()
    # The server, which is of this process, closes its side of a connection when it sees that ours is closed.
    eventually(lambda: descriptors() <= before)


@pytest.mark.integration
def test_without_the_extra_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "from barnabas import Registry\n"
        "try: Registry('http://one')\n"
        "except ImportError as error: assert \"pip install 'barnabas[registry]'\" in str(error)\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_each_call_has_its_words_and_arguments_and_gives_what_its_steps_give() -> None:
    calls = {
        name for name, call in vars(RegistryCalls).items() if callable(call) and not name.startswith("_")
    }
    assert calls <= vars(aio.Registry).keys()
    for name in calls - {"clear_caches"}:
        ours, theirs = getattr(aio.Registry, name), getattr(RegistryCalls, name)
        assert ours.__doc__ == theirs.__doc__
        assert inspect.signature(ours).parameters == inspect.signature(theirs).parameters
        returned = inspect.signature(theirs).return_annotation
        assert f"Steps[{inspect.signature(ours).return_annotation}]" == returned
