"""Who leads a group of registries, and how they say so."""

from __future__ import annotations

import json

import pytest

from barnabas.errors import BrokenProtocolError
from barnabas.registry_server.journal.election import (
    DUPLICATE_URLS,
    Instance,
    Result,
    decode_instance,
    decode_result,
    elect,
    encode_instance,
)


def test_a_member_says_what_confluents_registry_says() -> None:
    said = b'{"version":1,"host":"sr1","port":8081,"master_eligibility":true,"scheme":"https","leader":false}'
    instance = Instance("sr1", 8081, "https")
    assert encode_instance(instance) == said
    assert decode_instance(said) == instance
    assert instance.url == "https://sr1:8081"
    assert Instance("::1", 8081).url == "http://[::1]:8081"


def test_a_result_is_written_as_confluents_registry_writes_it_and_read_back() -> None:
    result = Result("member-1", Instance("sr1", 8081))
    assert json.loads(result.encode()) == {
        "version": 1,
        "error": 0,
        "master": "member-1",
        "master_identity": {
            "version": 1,
            "host": "sr1",
            "port": 8081,
            "master_eligibility": True,
            "scheme": "http",
            "leader": False,
        },
    }
    assert decode_result(result.encode()) == result
    nobody = Result(None, None)
    assert json.loads(nobody.encode()) == {"version": 1, "error": 0}
    assert decode_result(nobody.encode()) == nobody


def test_members_of_older_and_newer_releases_are_understood() -> None:
    assert decode_instance(b'{"version":1,"host":"a","port":1,"master_eligibility":false}') == Instance(
        "a", 1, is_eligible=False
    )
    assert decode_instance(b'{"version":2,"host":"a","port":1,"something":{"new":1}}') == Instance("a", 1)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff\xfe", b'{"host":5,"port":1}', b'{"host":"a"}', b"null"])
def test_what_is_no_member_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenProtocolError):
        decode_instance(data)


@pytest.mark.parametrize("data", [b"", b"[1]", b'{"master_identity":{"host":1}}'])
def test_what_is_no_result_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenProtocolError):
        decode_result(data)


def test_the_first_url_in_order_leads_of_those_that_may() -> None:
    members = {
        "m1": Instance("c", 1),
        "m2": Instance("b", 1),
        "m3": Instance("a", 1, is_eligible=False),
    }
    assert elect(members) == Result("m2", Instance("b", 1))


def test_whoever_leads_goes_on_leading() -> None:
    members = {"m1": Instance("a", 1), "m2": Instance("b", 1, is_leader=True)}
    assert elect(members).leader_id == "m2"


def test_of_two_that_say_they_lead_neither_has_a_claim() -> None:
    members = {
        "m1": Instance("c", 1, is_leader=True),
        "m2": Instance("b", 1, is_leader=True),
        "m3": Instance("a", 1),
    }
    assert elect(members).leader_id == "m3"


def test_nobody_leads_where_nobody_may() -> None:
    assert elect({"m1": Instance("a", 1, is_eligible=False)}) == Result(None, None)


def test_two_members_with_one_url_are_an_error_that_all_get() -> None:
    assert elect({"m1": Instance("a", 1), "m2": Instance("a", 1)}).error == DUPLICATE_URLS
