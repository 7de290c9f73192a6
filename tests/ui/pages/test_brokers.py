from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from barnabas import Admin
from barnabas.client.admin.types import AclBinding, AclOperation, AclResourceType
from barnabas.testing import ApacheKafka, EmbeddedBroker

OpenPage = Callable[..., TestClient]


def test_brokers_are_listed_with_their_settings(
    open_page: OpenPage, shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    page = open_page()
    assert shown_broker.bootstrap in page.get("/cluster").text
    text = page.get("/cluster/brokers/1", params={"q": "log.retention"}).text
    assert "log.retention.ms" in text
    assert "num.partitions" not in text
    assert page.get("/cluster/brokers/99").status_code == 404


def test_a_cluster_without_access_control_says_so(open_page: OpenPage) -> None:
    answer = open_page().get("/cluster/acls")
    assert answer.status_code == 200
    assert "authorizer" in answer.text.lower()


@pytest.fixture
def guarded() -> Iterator[EmbeddedBroker]:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }
    with EmbeddedBroker(config=config) as broker:
        yield broker


def test_rules_are_listed(open_page: OpenPage, guarded: EmbeddedBroker) -> None:
    with Admin(guarded.bootstrap) as admin:
        admin.create_acls([AclBinding(AclResourceType.TOPIC, "flights", "User:alice", AclOperation.READ)])
    text = open_page(guarded).get("/cluster/acls").text
    assert "User:alice" in text
    assert "flights" in text
