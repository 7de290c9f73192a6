"""Registries: one of other people's, and what answers in one's place as a test wants it."""

from __future__ import annotations

import http.server
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.registry.apicurio import Apicurio

from barnabas.testing import EmbeddedRegistry


@pytest.fixture(scope="session")
def apicurio() -> Iterator[str]:
    """The URL of a registry."""
    server = Apicurio()
    yield server.url
    server.close()


@pytest.fixture(scope="session")
def embedded() -> Iterator[str]:
    """The URL of Barnabas's own."""
    with EmbeddedRegistry() as registry:
        yield registry.url


@pytest.fixture(params=["apicurio", "embedded"])
def any_registry(request: pytest.FixtureRequest) -> str:
    """The URL of each of them."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
def subject() -> str:
    return f"subject-{uuid.uuid4().hex[:12]}"


@dataclass
class Stranger:
    """Something that speaks HTTP. `answers` are given one after the other, the last one for ever: a status
    and a body, or None, which hangs up."""

    answers: list[tuple[int, bytes] | None]
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list[Any])
    """Method, path with query, headers, body."""
    url: str = ""

    @property
    def paths(self) -> list[str]:
        return [f"{method} {path}" for method, path, _, _ in self.asked]


@pytest.fixture
def stranger() -> Iterator[Callable[..., Stranger]]:
    """`stranger(*answers)`."""
    servers: list[http.server.ThreadingHTTPServer] = []

    def begin(*answers: tuple[int, bytes] | None, tls: Any = None) -> Stranger:
        made = Stranger(list(answers))

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                made.asked.append((self.command, self.path, dict(self.headers), body))
                answer = made.answers.pop(0) if len(made.answers) > 1 else made.answers[0]
                self.close_connection = True
                if answer is None:
                    return
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(answer[1])))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(answer[1])

            do_POST = do_PUT = do_DELETE = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        made.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return made

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()
