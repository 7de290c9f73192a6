"""Kafka's own Java classes read what Barnabas writes, and write the same bytes. `make oracle` does more."""

from __future__ import annotations

import pytest

import jars
from barnabas.protocol.messages.metadata import MetadataRequest
from oracle.checks import RELEASES, run_checks
from oracle.comparison import DisagreementError, compare_defaults
from oracle.instances import message_classes
from oracle.java_oracle import JavaOracle, OracleError


def test_kafkas_classes_agree_on_every_message_in_the_lowest_and_highest_version_of_each_release() -> None:
    checks = list(run_checks(message_classes(), seed=0, instances=2, edges_only=True))
    assert [check.failure for check in checks if check.failure] == []
    assert {check.release for check in checks} == set(RELEASES)
    assert {check.message for check in checks} == {cls.__name__ for cls in message_classes()}


def test_a_difference_from_kafkas_classes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with JavaOracle(*RELEASES[jars.NEWEST_KAFKA]) as oracle:
        with pytest.raises(OracleError, match="1 bytes are left over"):
            oracle.round_trip("MetadataRequest", 0, bytes(5))
        monkeypatch.setattr(MetadataRequest, "__init__", _without_topic_creation)
        with pytest.raises(DisagreementError, match="allowautotopiccreation: False here, True in Java"):
            compare_defaults(oracle, MetadataRequest, 12)


def _without_topic_creation(request: MetadataRequest) -> None:
    request.topics = []
    request.allow_auto_topic_creation = False
    request.include_cluster_authorized_operations = False
    request.include_topic_authorized_operations = False
    request.unknown_tagged_fields = {}
