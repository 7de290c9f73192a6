"""What stands in for a schema registry: it keeps what it was asked, and answers as a script wants it."""

from __future__ import annotations

import json
import threading
from typing import Any

from tests.compat.differential.http_service import Answer, Asked, serve
from tests.compat.differential.stage import Stage

# Others are of the HTTP library, or say where.
TOLD_HEADERS = (
    "Accept",
    "Authorization",
    "Confluent-Accept-Unknown-Properties",
    "Confluent-Client-Version",
    "Confluent-Identity-Pool-Id",
    "Content-Length",
    "Content-Type",
    "Metadata",
    "target-sr-cluster",
)


class RecordingRegistry:
    """`answers`: each a status and JSON, or bytes in its place, given one after the other; the last one for
    ever."""

    def __init__(self, stage: Stage, *answers: tuple[int, Any]) -> None:
        self._stage = stage
        self._answers = list(answers)
        self._asked: list[Asked] = []
        self._lock = threading.Lock()
        self.url = serve(stage, self._answer)
        stage.call(self.url.rpartition(":")[2], "<registry's port>")

    def answer_with(self, *answers: tuple[int, Any]) -> None:
        with self._lock:
            self._answers = list(answers)

    def _answer(self, asked: Asked) -> Answer:
        with self._lock:
            self._asked.append(asked)
            status, body = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Answer(status, "application/vnd.schemaregistry.v1+json", data)

    def record(self, label: str) -> None:
        """What it was asked since it was asked for that last."""
        with self._lock:
            asked, self._asked = self._asked, []
        for request in asked:
            headers = {name.lower(): value for name, value in request.headers.items()}
            told = {name: headers[name.lower()] for name in TOLD_HEADERS if name.lower() in headers}
            # What an HTTP library says of its own accord: any type, and that there is no body.
            told = {name: value for name, value in told.items() if value not in ("*/*", "0")}
            self._stage.record(f"{label} asked", [request.method, request.path, request.body, told])
