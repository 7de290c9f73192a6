"""What pykafka's modules share: values that know their size, versions of requests, (de)serializers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "VERSIONS_CACHE",
    "ApiVersionAware",
    "Serializable",
    "deserialize_utf8",
    "msg_protocol_version",
    "parse_version",
    "serialize_utf8",
]


class Serializable:
    """What can be written into a buffer, and knows how long it will be there."""

    __slots__: Any = []

    def __len__(self) -> int:
        raise NotImplementedError()

    def pack_into(self, buff: Any, offset: int) -> None:
        raise NotImplementedError()


def serialize_utf8(value: Any, partition_key: Any) -> tuple[Any, Any]:
    """A producer's `serializer` for texts."""
    return _encoded(value), _encoded(partition_key)


def _encoded(value: Any) -> Any:
    return value if value is None or type(value) is bytes else value.encode("utf-8")


def deserialize_utf8(value: Any, partition_key: Any) -> tuple[Any, Any]:
    """A consumer's `deserializer` for texts."""
    return (
        None if value is None else value.decode("utf-8"),
        None if partition_key is None else partition_key.decode("utf-8"),
    )


VERSIONS_CACHE: dict[tuple[type, int], Any] = {}
"""Which class stands for which, for brokers that speak versions up to a number."""


class ApiVersionAware:
    """A request or an answer that is there in several versions, a class for each."""

    @classmethod
    def get_version_impl(cls, api_versions: Mapping[int, Any] | None) -> Any:
        """The class for the highest version that brokers speak as well."""
        if not hasattr(cls, "get_versions") or not hasattr(cls, "API_KEY"):
            raise AttributeError(
                f"get_version_impl requires that {cls} implement both get_versions() and API_KEY."
            )
        described: Any = cls
        highest = api_versions[described.API_KEY].max if api_versions else 0
        if (cls, highest) not in VERSIONS_CACHE:
            versions: Mapping[int, Any] = described.get_versions()
            spoken = [version for version in versions if version <= highest]
            VERSIONS_CACHE[cls, highest] = versions[max(spoken)] if spoken else None
        return VERSIONS_CACHE[cls, highest]


def parse_version(version: str) -> tuple[int, ...]:
    """A release of Kafka's brokers, such as "0.10.2", as something that can be compared."""
    numbers: list[int] = []
    for part in version.split("."):
        digits = "".join(each for each in part if each.isdigit())
        if not digits:
            break
        numbers.append(int(digits))
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def msg_protocol_version(broker_version: str) -> int:
    """The version of the messages that brokers of a release keep, of the two that there were then."""
    return int(parse_version(broker_version) >= parse_version("0.10.0"))
