"""What requests and answers have in common, the versions of brokers of old, and what members of groups tell
each other."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn, Self

from barnabas.compat.pykafka.exceptions import ERROR_CODES, ProtocolClientError
from barnabas.compat.pykafka.protocol._writing import array, numbers, sized, string
from barnabas.compat.pykafka.utils import ApiVersionAware, Serializable, struct_helpers

__all__ = [
    "API_VERSIONS_080",
    "API_VERSIONS_090",
    "ApiVersionsSpec",
    "ConsumerGroupProtocolMetadata",
    "MemberAssignment",
    "Request",
    "Response",
]


class Request(Serializable, ApiVersionAware):
    """A request of one version. Its bytes are those of a whole frame, with the size before it."""

    HEADER_LEN = 21
    CLIENT_ID = b"pykafka"
    API_KEY = -1
    API_VERSION = 0

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        """The class for each version that there is."""
        return {}

    def _write_header(self, buff: bytearray, api_version: int = 0, correlation_id: int = 0) -> None:
        fmt = f"!ihhih{len(self.CLIENT_ID)}s"
        client = (len(self.CLIENT_ID), self.CLIENT_ID)
        struct.pack_into(fmt, buff, 0, len(buff) - 4, self.API_KEY, api_version, correlation_id, *client)

    def get_bytes(self) -> bytearray:
        body = self._body()
        output = bytearray(self.HEADER_LEN) + body
        self._write_header(output, api_version=self._version())
        return output

    def __len__(self) -> int:
        """Of the whole frame."""
        return self.HEADER_LEN + len(self._body())

    def _version(self) -> int:
        return self.API_VERSION

    def _body(self) -> bytes:
        raise NotImplementedError()


class Response(ApiVersionAware):
    """An answer in one version: made of its bytes behind the correlation id."""

    API_KEY = -1

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        """The class for each version that there is."""
        return {}

    def raise_error(self, err_code: int, response: Any) -> NoReturn:
        error = ERROR_CODES.get(err_code) or _unlisted(err_code)
        raise error(f'Response Type: "{type(self).__name__}"\tResponse: {response}')


class UnlistedErrorCode(ProtocolClientError, KeyError):
    """An error code that came after pykafka, for which the original raises a KeyError of the code."""

    __str__ = Exception.__str__


def _unlisted(code: int) -> type[ProtocolClientError]:
    return type(UnlistedErrorCode.__name__, (UnlistedErrorCode,), {"ERROR_CODE": code})


class MemberAssignment:
    """The partitions of a member of a group: pairs of a topic and its partitions."""

    def __init__(self, partition_assignment: Any, version: int = 1) -> None:
        self.version = version
        self.partition_assignment = partition_assignment

    @classmethod
    def from_bytestring(cls, buff: Any) -> Self:
        if not buff:
            return cls(())
        version, partition_assignment = struct_helpers.unpack_from("h [S [i ] ]", buff, 0)
        return cls(partition_assignment, version=version)

    def __len__(self) -> int:
        return len(self.get_bytes())

    def get_bytes(self) -> bytearray:
        return bytearray(numbers("h", self.version) + array(self.partition_assignment, _topic_of_assignment))


def _topic_of_assignment(topic: tuple[Any, Iterable[int]]) -> bytes:
    name, partitions = topic
    return string(name) + array([*partitions], lambda each: numbers("i", each))


class ConsumerGroupProtocolMetadata:
    """What a member of a group tells the leader of: the topics that it is for."""

    def __init__(
        self, version: int = 0, topic_names: Any = None, user_data: bytes | None = b"testuserdata"
    ) -> None:
        self.version = version
        self.topic_names: Any = topic_names or [b"dummytopic"]
        self.user_data = user_data

    def __len__(self) -> int:
        return len(self.get_bytes())

    def get_bytes(self) -> bytearray:
        user_data = sized(self.user_data) if self.user_data is not None else numbers("i", -1)
        return bytearray(numbers("h", self.version) + array(self.topic_names, string) + user_data)

    @classmethod
    def from_bytestring(cls, buff: Any) -> Self:
        if not buff:
            return cls()
        return cls(*struct_helpers.unpack_from("h [S] Y", buff, 0))


class ApiVersionsSpec(NamedTuple):
    """Of an API, the lowest and the highest version that a broker speaks."""

    key: int
    min: int
    max: int


def _speaking(highest: Mapping[int, int]) -> dict[int, ApiVersionsSpec]:
    return {key: ApiVersionsSpec(key, 0, highest.get(key, 0)) for key in range(17)}


_OFFSETS_IN_KAFKA = {8: 1, 9: 1}
API_VERSIONS_080 = _speaking(_OFFSETS_IN_KAFKA)
API_VERSIONS_090 = _speaking({1: 1, **_OFFSETS_IN_KAFKA})
