"""A DEK registry in a test's process, by Confluent's documentation of `/dek-registry/v1`."""

from __future__ import annotations

import http.server
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

ROOT = "/dek-registry/v1/keks"
NOT_FOUND = (404, {"error_code": 40470, "message": "Key not found"})
EXISTS = (409, {"error_code": 40971, "message": "Key already exists"})


@dataclass
class DekServer:
    """`has_subject_in_path`: older ones answer 405 to that. `shared_key`: what it gives for shared KEKs, a
    key encrypted and in the clear."""

    has_subject_in_path: bool = True
    shared_key: tuple[str, str] | None = None
    keks: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict[Any, Any])
    deks: dict[tuple[str, str, str, int], dict[str, Any]] = field(default_factory=dict[Any, Any])
    asked: list[str] = field(default_factory=list[str])
    refuses: tuple[int, dict[str, Any]] | None = None
    """What every request is answered with."""
    url: str = ""
    makes_keys_after: threading.Barrier | None = None
    """Until so many want to make a key, none is made."""

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = [unquote(part) for part in parts.path.removeprefix(ROOT).split("/") if part]
        self.asked.append(f"{method} {target.removeprefix(ROOT)}")
        if self.refuses is not None:
            return self.refuses
        if len(path) < 2 or path[1] == "undelete":
            return self._kek(method, path, query, body)
        return self._dek(method, path, query, body)

    def _kek(self, method: str, path: list[str], query: dict[str, str], body: Any) -> tuple[int, Any]:
        context = query.get("context", ".")
        if not path:
            if method == "GET":
                return 200, [name for _, name in self.keks]
            key = (context, body["name"])
            if key in self.keks:
                return EXISTS
            self.keks[key] = {**body, "ts": int(time.time() * 1000)}
            return 200, self.keks[key]
        kek = self.keks.get((context, path[0]))
        if kek is None or (kek.get("deleted") and query.get("deleted") != "true" and len(path) == 1):
            return NOT_FOUND
        if method == "GET":
            return 200, kek
        if query.get("permanent") == "true":
            del self.keks[context, path[0]]
        else:
            kek["deleted"] = method == "DELETE"
        return 204, None

    def _dek(self, method: str, path: list[str], query: dict[str, str], body: Any) -> tuple[int, Any]:
        kek_name, subject = path[0], path[2] if len(path) > 2 else None
        if method == "POST" and path[-1] != "undelete":
            if subject is not None and not self.has_subject_in_path:
                return 405, {"error_code": 405, "message": "HTTP 405 Method Not Allowed"}
            key = (kek_name, body["subject"], body["algorithm"], body["version"])
            if self.makes_keys_after is not None:
                self.makes_keys_after.wait(20)
            if key in self.deks:
                return EXISTS
            made = {"kekName": kek_name, **body, "ts": int(time.time() * 1000)}
            if self.shared_key is not None:
                made["encryptedKeyMaterial"], made["keyMaterial"] = self.shared_key
            self.deks[key] = made
            return 200, made
        if subject is None:
            return 200, sorted({key[1] for key in self.deks if key[0] == kek_name})
        algorithm = query.get("algorithm", "AES256_GCM")
        found = {key[3]: dek for key, dek in self.deks.items() if key[:3] == (kek_name, subject, algorithm)}
        numbers = [
            number
            for number, dek in found.items()
            if query.get("deleted") == "true" or not dek.get("deleted")
        ]
        if path[-1] == "versions":
            return 200, numbers
        if method == "GET":
            version = int(path[4])
            version = max(numbers, default=0) if version == -1 else version
            return (200, found[version]) if version in numbers else NOT_FOUND
        chosen = [int(path[4])] if len(path) > 4 else list(found)
        for number in chosen:
            if query.get("permanent") == "true":
                del self.deks[kek_name, subject, algorithm, number]
            else:
                found[number]["deleted"] = method == "DELETE"
        return 204, None


def serve(dek_server: DekServer) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            status, found = dek_server.answer(self.command, self.path, json.loads(body) if body else None)
            data = b"" if found is None else json.dumps(found).encode()
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PUT = do_DELETE = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    dek_server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server
