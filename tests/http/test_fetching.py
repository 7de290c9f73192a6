import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from barnabas.http.fetching import fetch
from barnabas.http.messages import HttpRequest, NoAnswerError, TlsFailedError


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "/here")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            body = f"{self.command} {self.path} {self.headers['Accept']}".encode()
            self._answer(200 if self.path == "/here" else 503, body)

    def do_POST(self) -> None:
        self._answer(200, b"posted " + self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_request_without_a_body_is_a_get(url: str) -> None:
    answer = fetch(HttpRequest(f"{url}/here", {"Accept": "text/plain"}), timeout_seconds=5)
    assert (answer.status, answer.is_success, answer.body) == (200, True, b"GET /here text/plain")


def test_a_request_with_a_body_is_a_post(url: str) -> None:
    assert fetch(HttpRequest(url, {}, b"a=b"), timeout_seconds=5).body == b"posted a=b"


def test_an_error_of_the_server_is_an_answer_with_its_body(url: str) -> None:
    answer = fetch(HttpRequest(f"{url}/broken", {"Accept": "x"}), timeout_seconds=5)
    assert (answer.status, answer.is_success, answer.body) == (503, False, b"GET /broken x")


def test_a_redirect_is_followed_only_where_that_is_wanted(url: str) -> None:
    request = HttpRequest(f"{url}/elsewhere", {"Accept": "x"})
    assert fetch(request, timeout_seconds=5).status == 302
    assert fetch(request, timeout_seconds=5, follows_redirects=True).body == b"GET /here x"


def test_a_long_answer_is_cut_off(url: str) -> None:
    assert fetch(HttpRequest(f"{url}/here", {}), timeout_seconds=5, longest_answer_bytes=3).body == b"GET"


def test_an_address_where_nobody_listens_gives_no_answer() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        free = server.server_port
    with pytest.raises(NoAnswerError, match="refused"):
        fetch(HttpRequest(f"http://127.0.0.1:{free}", {}), timeout_seconds=5)


def test_a_server_without_tls_is_told_from_one_that_is_away(url: str) -> None:
    with pytest.raises(TlsFailedError):
        fetch(
            HttpRequest(url.replace("http", "https"), {}),
            timeout_seconds=5,
            tls=ssl.create_default_context(),
        )


def test_the_text_of_a_request_shows_neither_headers_nor_body() -> None:
    request = HttpRequest("http://one/token", {"Authorization": "Basic c2VjcmV0"}, b"client_secret=c2VjcmV0")
    assert "c2VjcmV0" not in repr(request)
    assert "http://one/token" in repr(request)
