from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.compat.pykafka.exceptions import SocketDisconnectedError
from barnabas.compat.pykafka.utils import (
    ApiVersionAware,
    deserialize_utf8,
    msg_protocol_version,
    parse_version,
    serialize_utf8,
)
from barnabas.compat.pykafka.utils.compat import get_bytes, get_string
from barnabas.compat.pykafka.utils.error_handlers import (
    handle_partition_responses,
    raise_error,
    valid_int,
)
from barnabas.compat.pykafka.utils.socket import recvall_into


def test_texts_become_bytes_and_bytes_texts() -> None:
    assert serialize_utf8("ü", b"k") == ("ü".encode(), b"k")
    assert serialize_utf8(None, None) == (None, None)
    assert deserialize_utf8("ü".encode(), None) == ("ü", None)
    assert (get_bytes("a"), get_bytes(b"a"), get_bytes(3)) == (b"a", b"a", 3)
    assert (get_string(b"a"), get_string("a"), get_string(3), get_string(b"\xff")) == ("a", "a", "3", b"\xff")


def test_releases_are_compared_by_their_numbers() -> None:
    assert parse_version("0.10.2") > parse_version("0.9.0")
    assert parse_version("0.10") == parse_version("0.10.0.0")
    assert [msg_protocol_version(each) for each in ("0.9.0", "0.10.0", "4.3.0")] == [0, 1, 1]


class FirstVersion(ApiVersionAware):
    API_KEY = 5

    @classmethod
    def get_versions(cls) -> dict[int, Any]:
        return {0: "first", 1: "second", 3: "fourth"}


@pytest.mark.parametrize(("highest", "name"), [(0, "first"), (1, "second"), (2, "second"), (9, "fourth")])
def test_the_highest_version_that_both_know_is_taken(highest: int, name: str) -> None:
    assert FirstVersion.get_version_impl({5: SimpleNamespace(max=highest)}) == name


def test_of_brokers_that_nobody_asked_the_first_version_is_taken() -> None:
    assert FirstVersion.get_version_impl(None) == "first"


def test_partitions_are_handled_by_their_error_codes() -> None:
    answer = SimpleNamespace(topics={b"t": {0: SimpleNamespace(err=0), 1: SimpleNamespace(err=6)}})
    told: list[Any] = []
    parts = handle_partition_responses(
        {6: lambda parts: told.append(("moved", [own for own, _ in parts]))},
        success_handler=lambda parts: told.append(("done", [own for own, _ in parts])),
        response=answer,
        partitions_by_id={0: "zero", 1: "one"},
    )
    assert told == [("done", ["zero"]), ("moved", ["one"])]
    assert sorted(parts) == [0, 6]
    with pytest.raises(KeyError):
        handle_partition_responses({}, parts_by_error={6: ["part"]})


def test_an_error_is_raised_with_its_text() -> None:
    with pytest.raises(KeyError, match="why"):
        raise_error(KeyError, "why")


def test_a_number_may_be_checked() -> None:
    assert valid_int(3) == 3
    assert valid_int(0, allow_zero=True) == 0
    assert valid_int(-1, allow_negative=True) == -1
    with pytest.raises(ValueError, match="nonzero number but got '0'"):
        valid_int(0)
    with pytest.raises(ValueError, match="nonnegative number but got '-1'"):
        valid_int(-1)
    with pytest.raises(TypeError, match="Expected integer but found argument of type '<class 'str'>'"):
        valid_int("3")


class Socket:
    def __init__(self, *chunks: bytes | OSError) -> None:
        self.chunks = [*chunks]

    def recv(self, size: int) -> bytes:
        chunk = self.chunks.pop(0)
        if isinstance(chunk, OSError):
            raise chunk
        assert len(chunk) <= size
        return chunk


def test_a_socket_is_read_until_there_is_enough() -> None:
    assert recvall_into(Socket(b"ab", b"c"), bytearray(b"......"), 3) == b"abc..."


@pytest.mark.parametrize("end", [b"", OSError()])
def test_a_socket_that_ends_early_is_disconnected(end: Any) -> None:
    with pytest.raises(SocketDisconnectedError):
        recvall_into(Socket(b"ab", end), bytearray(3), 3)
