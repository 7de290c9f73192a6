"""A request that a program made, as the core's, and the core's answer in the shape that the program expects.

The version is the program's where the broker speaks it, and otherwise the nearest that it does, with what
that changes in the meaning. Knows no connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from barnabas.compat.kafka_engine.wire.older_requests import (
    answer_in_old_version,
    needs_newer,
    request_in_newer_version,
)
from barnabas.errors import BrokenProtocolError
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.registry import REQUESTS
from barnabas.protocol.schema import Request, Response, Struct, fields_of

__all__ = ["TranslatedRequest", "answer_to", "core_of", "fitting"]


class TranslatedRequest:
    """`request`: an object with API_KEY, API_VERSION, `encode()` and RESPONSE_TYPE or a class of answers.

    Raises: ValueError for a request that cannot be written.
    """

    def __init__(self, request: Any) -> None:
        self.asked = request
        self.version: Any = request.API_VERSION
        self.expects_answer: bool = request.expect_response()
        self._sent_version: Any = self.version
        self._is_struct = not hasattr(request, "to_core")
        self._core: Any = core_of(request) if self._is_struct else None

    def request_for(self, spoken: Mapping[int, tuple[int, int]]) -> tuple[Request[Any], int]:
        """The core's request for a broker that speaks so, and its version."""
        if self.version is None:
            self.version = min(self.asked.max_version, spoken[self.asked.API_KEY][1])
        low, high = spoken.get(self.asked.API_KEY, (self.version, self.version))
        version = min(needs_newer(self.asked.API_KEY, self.version, low), high)
        self._sent_version = version
        if not self._is_struct:
            return self.asked.to_core(version), version
        if version == self.version:
            return self._core, version
        request = fitting(self._core, version)
        request_in_newer_version(request, self.version, version)
        return request, version

    def answer_of(self, response: Response) -> Any:
        """The answer in the version that was asked for."""
        version: Any = self.version
        if not self._is_struct:
            return self.asked.answer_of_core(response, version)
        answer_in_old_version(self._core, response, version, self._sent_version)
        return answer_to(self.asked, response)


def core_of(request: Any) -> Request[Any]:
    """A struct of a request as the core's. Raises: ValueError for what cannot be written."""
    try:
        return decode(REQUESTS[request.API_KEY], request.API_VERSION, request.encode())
    except BrokenProtocolError as error:
        raise ValueError(str(error)) from None


def answer_to(request: Any, response: Response) -> Any:
    """The core's answer as the struct that goes with one of a request."""
    version = request.API_VERSION
    return request.RESPONSE_TYPE.decode(encode(fitting(response, version), version))


def fitting(message: Any, version: int) -> Any:
    """Without the fields that a version does not have."""
    changed = copy(message)
    for field in fields_of(type(message)):  # pyright: ignore[reportUnknownArgumentType]
        value = getattr(message, field.name)
        if not field.wire.present(version):
            value = field.default if field.default_factory is None else field.default_factory()
        elif field.wire.is_array and value and isinstance(value[0], Struct):
            value = [fitting(each, version) for each in value]
        setattr(changed, field.name, value)
    return changed
