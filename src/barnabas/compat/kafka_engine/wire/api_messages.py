"""Requests and responses as kafka-python 3 has them: one class for all versions, whose objects know theirs.

The bytes are the core's.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from barnabas.compat.kafka_engine.generations.api_messages import API_MESSAGES
from barnabas.compat.kafka_engine.wire.data_containers import DataContainer
from barnabas.compat.kafka_engine.wire.translation import fitting
from barnabas.errors import BrokenProtocolError
from barnabas.protocol.codec import decode_prefix, encode
from barnabas.protocol.messages.request_header import RequestHeader as CoreRequestHeader
from barnabas.protocol.messages.response_header import ResponseHeader as CoreResponseHeader
from barnabas.protocol.registry import REQUESTS

__all__ = ["ApiMessage", "ApiRequestHeader", "ApiResponseHeader", "MessageHeader", "api_message"]

_API_VERSIONS = 18
_LENGTH_BYTES = 4


class MessageHeader(DataContainer):
    """What is before a request or a response. `flexible`: in the versions of KIP-482."""

    __module__ = "barnabas.compat.kafka.protocol.api_header"
    _versions: ClassVar[tuple[int, int]] = (0, 1)

    def encode(self, flexible: bool = False) -> bytes:
        version = self._versions[1 if flexible else 0]
        return encode(self.to_core(version), version)

    @classmethod
    def decode(cls, data: Any, flexible: bool = False) -> Any:
        start = data.tell() if hasattr(data, "tell") else 0
        found, end = _read(cls, data, cls._versions[1 if flexible else 0])
        if hasattr(data, "seek"):
            data.seek(start + end)
        return found


class ApiRequestHeader(MessageHeader):
    __module__ = MessageHeader.__module__
    _core = _top = CoreRequestHeader
    _versions = (1, 2)

    def get_response_class(self) -> Any:
        """Of the answer to such a request, in its version."""
        return api_message(REQUESTS[self.request_api_key].RESPONSE.__name__)[self.request_api_version]


class ApiResponseHeader(MessageHeader):
    __module__ = MessageHeader.__module__
    _core = _top = CoreResponseHeader


def _bytes_of(data: Any) -> memoryview:
    return memoryview(data.read() if hasattr(data, "read") else data)


def _read(cls: type[DataContainer], data: Any, version: int) -> tuple[Any, int]:
    core: Any = cls._core  # pyright: ignore[reportPrivateUsage]
    try:
        message, end = decode_prefix(core, version, _bytes_of(data))
    except BrokenProtocolError as error:
        raise ValueError(str(error)) from None
    return cls.of_core(message, version), end


class _ByVersion(type):
    """`Request[3]` is the class whose objects are of version 3, `Request[3][None]` the one for all again."""

    class_version: int | None
    max_version: int

    def __getitem__(cls, version: int | None) -> Any:
        if cls.class_version is not None:
            primary: Any = cls.__mro__[1]
            return primary if version is None else primary[version]
        if version is None:
            return cls
        wanted = version + 1 + cls.max_version if version < 0 else version
        if not 0 <= wanted <= cls.max_version:
            raise ValueError(f"Invalid version! min=0, max={cls.max_version}")
        return _versioned(cls, wanted)

    def __len__(cls) -> int:
        if cls.class_version is not None:
            raise TypeError("len() only supported on primary message class (not versioned)")
        return cls.max_version + 1


@cache
def _versioned(cls: Any, version: int) -> Any:
    return _ByVersion(
        f"{cls.__name__}_v{version}", (cls,), {"class_version": version, "__module__": cls.__module__}
    )


class ApiMessage(DataContainer, metaclass=_ByVersion):
    """A request or a response. `version`: of this object; without one, `encode` has to be told."""

    __module__ = "barnabas.compat.kafka.protocol.api_message"
    class_version: ClassVar[int | None] = None
    API_KEY: ClassVar[int] = -1
    _version: Any
    name: ClassVar[str] = ""
    type: ClassVar[str] = ""
    min_version: ClassVar[int] = 0
    max_version: ClassVar[int] = 0
    valid_versions: ClassVar[tuple[int, int]] = (0, 0)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.class_version is None:
            return super().__new__(cls)
        if kwargs.get("version", cls.class_version) != cls.class_version:
            raise ValueError("Version has already been set by class")
        return cls[None](*args, **{**kwargs, "version": cls.class_version})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._header: Any = None
        self._min_version = kwargs.pop("min_version", None)
        self._max_version = kwargs.pop("max_version", None)
        super().__init__(*args, **kwargs)

    @classmethod
    def flexible_version_q(cls, version: int) -> bool:
        """Whether that version is one of KIP-482's."""
        return version >= cls._core.FLEXIBLE_VERSIONS

    @classmethod
    def is_request(cls) -> bool:
        return cls.type == "request"

    def answer_of_core(self, response: Any, version: int) -> Any:
        """The answer to this request."""
        return api_message(type(response).__name__).of_core(response, version)

    def expect_response(self) -> bool:
        """Whether brokers answer it."""
        return self.name != "ProduceRequest" or self.acks != 0

    @property
    def API_VERSION(self) -> Any:
        return self._version

    @API_VERSION.setter
    def API_VERSION(self, version: int) -> None:
        if not 0 <= version <= self.max_version:
            raise ValueError(f"Invalid version {version} (max version is {self.max_version}).")
        self._version = version
        if self._header is not None:
            self._header.request_api_version = version

    @property
    def header(self) -> Any:
        return self._header

    def with_header(self, correlation_id: int = 0, client_id: str = "kafka-python") -> None:
        """Gives it a header, for `encode(header=True)`."""
        if self.is_request():
            self._header = ApiRequestHeader(
                request_api_key=self.API_KEY,
                request_api_version=self.API_VERSION,
                correlation_id=correlation_id,
                client_id=client_id,
            )
        else:
            self._header = ApiResponseHeader(correlation_id=correlation_id)

    def encode_header(self, flexible: bool = False) -> bytes:
        # KIP-511: clients read the answer to ApiVersions before they know what the broker speaks.
        return self._header.encode(flexible=flexible and self.name != "ApiVersionsResponse")

    @classmethod
    def parse_header(cls, data: Any, version: int | None = None) -> Any:
        flexible = cls.flexible_version_q(cls._checked(version))
        header = ApiRequestHeader if cls.is_request() else ApiResponseHeader
        return header.decode(data, flexible=flexible and cls.name != "ApiVersionsResponse")

    @classmethod
    def _checked(cls, version: int | None) -> int:
        version = cls.class_version if version is None else version
        if version is None:
            raise ValueError("Version required to decode data")
        if not 0 <= version <= cls.max_version:
            raise ValueError(f"Invalid version {version} (max version is {cls.max_version}).")
        return version

    def encode(self, version: int | None = None, header: bool = False, framed: bool = False) -> bytes:
        """The bytes in `version`, or its own: with its header, and with their length before them."""
        if version is not None:
            self.API_VERSION = version
        if self._version is None:
            raise ValueError("Version required to encode data")
        if header and self._header is None:
            raise ValueError("No header found")
        own: int = self._version
        try:
            parts = [encode(self.to_core(own), own)]
        except BrokenProtocolError as error:
            raise ValueError(str(error)) from None
        if header:
            parts.insert(0, self.encode_header(flexible=self.flexible_version_q(own)))
        if framed:
            parts.insert(0, sum(map(len, parts)).to_bytes(_LENGTH_BYTES, "big"))
        return b"".join(parts)

    def to_core(self: Any, version: int) -> Any:
        """Also with what an old version has in place of something."""
        if self.name == "MetadataRequest" and version == 0 and self.topics is None:
            self.topics = list[Any]()
        if self.name == "DeleteTopicsRequest" and version <= 5 and self.topics and not self.topic_names:
            topics: list[Any] = self.topics
            self.topic_names = [topic.name for topic in topics]
        return fitting(super().to_core(version), version)

    @classmethod
    def decode(cls, data: Any, version: int | None = None, header: bool = False, framed: bool = False) -> Any:
        """Out of such bytes. Raises: ValueError."""
        rest: Any = _bytes_of(data)
        if framed:
            rest = rest[_LENGTH_BYTES:]
        read_header = None
        if header:
            of_header: Any = ApiRequestHeader if cls.is_request() else ApiResponseHeader
            flexible = cls.flexible_version_q(cls._checked(version)) and cls.name != "ApiVersionsResponse"
            read_header, end = _read(of_header, rest, of_header._versions[1 if flexible else 0])
            rest = rest[end:]
        if cls.name == "ApiVersionsResponse" and rest[:2] != b"\0\0":
            version = 0
        found, _ = _read(cls[None], rest, cls._checked(version))
        found._header = read_header
        return found

    @classmethod
    def of_core(cls, core: Any, version: int | None) -> Any:
        made = super().of_core(core, version)
        made._header = made._min_version = made._max_version = None
        return made

    def __eq__(self, other: Any) -> bool:
        return self.version == getattr(other, "version", None) and super().__eq__(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


@cache
def api_message(name: str) -> Any:
    """The class of a request or response, by its name."""
    base = name.removesuffix("Request").removesuffix("Response")
    request = next(REQUESTS[key] for key in REQUESTS if base == REQUESTS[key].NAME)
    core: Any = request if name.endswith("Request") else request.RESPONSE
    module = next((module for module, names in API_MESSAGES.items() if base in names), "api_message")
    attributes: dict[str, Any] = {
        "__module__": f"barnabas.compat.kafka.protocol.{module}",
        "_core": core,
        "_top": core,
        "_max_version_of_fields": core.VERSIONS[1],
        "API_KEY": core.API_KEY,
        "name": name,
        "type": "request" if core is request else "response",
        "max_version": core.VERSIONS[1],
        "valid_versions": core.VERSIONS,
    }
    if name == "MetadataRequest":
        attributes |= {"ALL_TOPICS": None, "NO_TOPICS": []}
    return _ByVersion(name, (ApiMessage,), attributes)
