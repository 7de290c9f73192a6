"""A service over HTTP on this machine, in the place of one that a client asks for tokens."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.compat.differential.stage import Stage


class Asked(NamedTuple):
    method: str
    path: str
    headers: Mapping[str, str]
    body: str


class Answer(NamedTuple):
    status: int
    content_type: str
    body: bytes


def serve(stage: Stage, answer: Callable[[Asked], Answer]) -> str:
    """Its URL, without a path. It answers until the script is over."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
            given = answer(Asked(self.command, self.path, dict(self.headers), body))
            self.send_response(given.status)
            self.send_header("Content-Type", given.content_type)
            self.send_header("Content-Length", str(len(given.body)))
            self.end_headers()
            self.wfile.write(given.body)

        do_POST = do_PUT = do_DELETE = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    stage.closing(server.server_close)
    stage.closing(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}"
