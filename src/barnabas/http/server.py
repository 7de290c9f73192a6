"""Pages over HTTP, for whoever scrapes: made anew for every request, in threads of their own.

Must not know what the pages tell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from barnabas.errors import InvalidSettingError


class Page(NamedTuple):
    content_type: str
    render: Callable[[], bytes]


class PageServer:
    """Serves until it is closed. Port 0 takes any free one. Raises: InvalidSettingError."""

    def __init__(self, host: str, port: int, pages: Mapping[str, Page]) -> None:
        try:
            self._server = ThreadingHTTPServer((host, port), partial(_Handler, pages))
        except OSError as error:
            raise InvalidSettingError(
                f"figures cannot be served on {host}:{port}: {error.strerror or error}; choose another port"
            ) from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="barnabas-pages", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{f'[{host}]' if ':' in str(host) else host}:{port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, pages: Mapping[str, Page], *arguments: Any) -> None:
        self._pages = pages
        super().__init__(*arguments)

    def do_GET(self) -> None:
        page = self._pages.get(self.path.partition("?")[0])
        if page is None:
            self.send_error(404, explain=f"there are {', '.join(self._pages)}")
            return
        body = page.render()
        self.send_response(200)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """A scrape every few seconds is nothing to tell."""
