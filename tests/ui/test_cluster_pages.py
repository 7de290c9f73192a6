"""Pages of the cluster where the embedded broker has what they show: rules, moves, and an old release."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient
from tests.ui.pages.test_topic_changes import rows_of
from tests.ui.pages.test_topics import token_of

from barnabas import Admin, NewTopic, Producer, TopicPartition
from barnabas.client.admin.types import AclBinding, AclOperation, AclPermissionType, AclResourceType
from barnabas.testing import EmbeddedBroker

OpenPage = Callable[..., TestClient]


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedBroker]:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture
def rules(guarded: EmbeddedBroker) -> Iterator[Callable[[], set[AclBinding]]]:
    with Admin(guarded.bootstrap) as admin:
        yield lambda: set(admin.describe_acls())


@pytest.fixture
def page(open_page: OpenPage, guarded: EmbeddedBroker) -> TestClient:
    return open_page(guarded, allows_writes=True)


@pytest.fixture
def csrf(page: TestClient) -> str:
    return token_of(page.get("/topics").text)


def hidden_in(text: str) -> dict[str, str]:
    """The hidden fields of the first form that deletes."""
    form = text.split("/acls/delete")[1].split("</form>")[0]
    parts = [part.split('"') for part in form.split('<input type="hidden" name="')[1:]]
    return {part[0]: part[2].replace("&lt;", "<").replace("&gt;", ">") for part in parts}


def test_a_rule_is_added_found_by_what_it_applies_to_and_deleted_alone(
    page: TestClient, csrf: str, rules: Callable[[], set[AclBinding]]
) -> None:
    form = {"csrf": csrf, "principal": "User:<b>alice</b>", "operation": "read", "kind": "topic"}
    page.post("/cluster/acls", data={**form, "permission": "allow", "name": "fl", "prefixed": "1"})
    page.post("/cluster/acls", data={**form, "permission": "deny", "name": "fl", "host": "10.0.0.1"})
    assert len(rules()) == 2
    text = page.get("/cluster/acls", params={"kind": "topic", "name": "flights"}).text
    assert len(rows_of(text)) == 1
    assert "<b>alice" not in text
    assert "and all that begin so" in text
    deleted = page.post("/cluster/acls/delete", data={"csrf": csrf, **hidden_in(text)})
    assert "deleted: the rule to allow" in deleted.text
    [left] = rules()
    assert (left.permission_type, left.host) == (AclPermissionType.DENY, "10.0.0.1")
    page.post("/cluster/acls/delete", data={"csrf": csrf, **hidden_in(page.get("/cluster/acls").text)})
    assert rules() == set()


def test_what_a_consumer_needs_is_added_together(
    page: TestClient, csrf: str, rules: Callable[[], set[AclBinding]]
) -> None:
    form = {"csrf": csrf, "principal": "User:bob", "role": "consumer", "topic": "flights", "group": "lake"}
    assert "made: 3 rules for User:bob" in page.post("/cluster/acls", data=form).text
    topic = [
        AclBinding(AclResourceType.TOPIC, "flights", "User:bob", each)
        for each in (AclOperation.READ, AclOperation.DESCRIBE)
    ]
    assert rules() == {*topic, AclBinding(AclResourceType.GROUP, "lake", "User:bob", AclOperation.READ)}


@pytest.mark.parametrize(
    "changes",
    [
        {"principal": "alice"},
        {"operation": "peek"},
        {"kind": "any thing"},
        {"permission": "perhaps"},
        {"name": ""},
        {"role": "consumer", "topic": "flights"},
        {"role": "producer"},
    ],
)
def test_a_rule_that_cannot_be_is_refused(page: TestClient, csrf: str, changes: dict[str, str]) -> None:
    form = {
        "csrf": csrf,
        "principal": "User:alice",
        "operation": "read",
        "kind": "topic",
        "name": "t",
        "permission": "allow",
    }
    assert page.post("/cluster/acls", data={**form, **changes}).status_code == 400


def test_a_move_of_replicas_is_shown_and_cancelled(
    open_page: OpenPage, eventually: Callable[[Callable[[], bool]], bool]
) -> None:
    place = TopicPartition("moved", 0)
    with EmbeddedBroker(nodes=3) as cluster, Admin(cluster.bootstrap) as admin:
        admin.create_topics([NewTopic("moved", replica_assignments={0: [1, 2]})])
        with Producer(cluster.bootstrap) as producer:
            producer.send("moved", bytes(10_000), partition=0).result(30)
        cluster.node(3).lag()
        admin.alter_partition_reassignments({place: [2, 3]})
        page = open_page(cluster, allows_writes=True)
        [row] = rows_of(page.get("/cluster/reassignments").text)
        assert row[0] == "moved-0"
        csrf = token_of(page.get("/topics").text)
        done = page.post(
            "/cluster/reassignments/cancel", data={"csrf": csrf, "topic": "moved", "partition": "0"}
        )
        assert "its replicas stay where they were" in done.text
        assert admin.list_partition_reassignments() == {}
        assert "No replicas move." in page.get("/cluster/reassignments").text


def test_pages_of_an_old_release_say_what_it_cannot_tell(open_page: OpenPage) -> None:
    with EmbeddedBroker(as_version="1.1") as broker:
        page = open_page(broker, allows_writes=True)
        for path in ("quorum", "features", "users", "quotas", "transactions", "reassignments", "tokens"):
            answer = page.get(f"/cluster/{path}")
            assert answer.status_code == 200, path
            assert 'class="empty"' in answer.text, path
        assert page.get("/cluster").status_code == 200
