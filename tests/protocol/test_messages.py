"""Message classes behave as dataclasses with slots do, though little of them is made before they are used."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest

from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.schema import NO_TAGGED_FIELDS


def test_fields_may_be_given_by_place_and_by_name() -> None:
    request = FetchRequest("cluster", 3, max_wait_ms=7)
    assert (request.cluster_id, request.replica_id, request.max_wait_ms) == ("cluster", 3, 7)
    assert request.session_epoch == -1


def test_lists_and_structs_of_a_new_message_are_its_own_and_the_empty_tags_are_shared() -> None:
    first, second = FetchRequest(), FetchRequest()
    assert first.topics == []
    assert first.topics is not second.topics
    assert first.replica_state == second.replica_state
    assert first.replica_state is not second.replica_state
    assert first.unknown_tagged_fields is second.unknown_tagged_fields is NO_TAGGED_FIELDS


def test_messages_are_equal_when_all_fields_and_unknown_tags_are() -> None:
    assert FetchRequest(rack_id="a") == FetchRequest(rack_id="a")
    assert FetchRequest(rack_id="a") != FetchRequest(rack_id="b")
    assert FetchRequest() != FetchRequest(unknown_tagged_fields={9: b"x"})
    assert FetchRequest.ReplicaState() != FetchResponse.EpochEndOffset(-1, -1)


def test_messages_cannot_be_hashed_as_they_can_change() -> None:
    with pytest.raises(TypeError, match="unhashable type: 'FetchRequest'"):
        hash(FetchRequest())


def test_what_a_message_shows_are_its_fields_without_unknown_tags() -> None:
    shown = repr(FetchRequest.ReplicaState(replica_id=4, unknown_tagged_fields={9: b"x"}))
    assert shown == "FetchRequest.ReplicaState(replica_id=4, replica_epoch=-1)"


def test_a_copy_is_equal_and_changes_by_itself() -> None:
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic="t")])
    shallow, deep = copy.copy(request), copy.deepcopy(request)
    assert shallow == deep == request
    assert shallow.topics is request.topics
    assert deep.topics is not request.topics
    shallow.rack_id = "a"
    assert request.rack_id == ""


def test_messages_match_patterns_by_place_and_by_name() -> None:
    match FetchRequest.ReplicaState(4, 5):
        case FetchRequest.ReplicaState(4, replica_epoch=epoch):
            assert epoch == 5
        case _:
            pytest.fail("the pattern did not match")


@pytest.mark.integration
def test_a_name_that_is_no_field_is_refused_by_the_first_message_and_by_later_ones() -> None:
    script = (
        "from barnabas.protocol.messages.fetch import FetchRequest\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        FetchRequest(fetch_all=1)\n"
        "    except TypeError as error:\n"
        "        print(error)\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    complaint = "FetchRequest.__init__() got an unexpected keyword argument 'fetch_all'"
    assert printed.splitlines() == [complaint, complaint]


def test_a_message_takes_no_attribute_that_is_no_field() -> None:
    with pytest.raises(AttributeError, match="fetch_all"):
        FetchRequest().fetch_all = 1  # type: ignore[attr-defined]
