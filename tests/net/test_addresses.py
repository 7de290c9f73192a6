from __future__ import annotations

import asyncio
import socket

import pytest

from barnabas.net.addresses import AddressFamily, resolve


def families(host: str, family: AddressFamily) -> set[int]:
    return {address.family for address in asyncio.run(resolve(host, 9092, 5.0, family))}


def test_a_host_may_be_looked_up_in_one_family_of_addresses_alone() -> None:
    assert families("localhost", "v4") == {socket.AF_INET}
    assert families("127.0.0.1", "any") == {socket.AF_INET}
    assert families("::1", "v6") == {socket.AF_INET6}


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", "v6"), ("::1", "v4")])
def test_an_address_of_another_family_does_not_resolve(host: str, family: AddressFamily) -> None:
    with pytest.raises(socket.gaierror):
        families(host, family)


@pytest.mark.parametrize("host", ["a" * 64, "a..b", ".", "é" * 64, "\ud800"])
def test_what_no_name_can_be_is_not_found(host: str) -> None:
    with pytest.raises(socket.gaierror, match="cannot be the name of a host"):
        families(host, "any")
