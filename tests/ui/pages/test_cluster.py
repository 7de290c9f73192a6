"""The pages of the cluster itself, on both brokers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient
from tests.ui.pages.test_topic_changes import rows_of
from tests.ui.pages.test_topics import token_of

from barnabas import Admin, Producer
from barnabas.broker_errors import ProducerFencedError
from barnabas.client.admin.types import ClientQuotaEntity
from barnabas.testing import ApacheKafka, EmbeddedBroker

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]
AnyBroker = ApacheKafka | EmbeddedBroker


@pytest.fixture
def page(open_page: OpenPage) -> TestClient:
    return open_page(allows_writes=True)


@pytest.fixture
def csrf(page: TestClient) -> str:
    return token_of(page.get("/topics").text)


def test_the_leader_of_the_quorum_is_shown(page: TestClient) -> None:
    rows = rows_of(page.get("/cluster/quorum").text)
    assert ["1", "leader"] in [row[:2] for row in rows]


def test_features_are_shown_with_their_levels(page: TestClient) -> None:
    rows = {row[0]: row[1:] for row in rows_of(page.get("/cluster/features").text)}
    level, lowest, highest = (int(rows["metadata.version"][place]) for place in (0, -2, -1))
    assert lowest <= level <= highest


def test_folders_are_shown_by_broker_and_replicas_by_topic(
    page: TestClient, written: Written, eventually: Callable[[Callable[[], bool]], bool]
) -> None:
    topic = written("a", partitions=2)
    eventually(lambda: "being asked" not in page.get("/cluster/log-dirs").text)
    [row] = rows_of(page.get("/cluster/log-dirs").text)
    assert row[0] == "1"
    rows = rows_of(page.get("/cluster/log-dirs", params={"topic": topic}).text)
    assert [each[:2] for each in rows] == [["0", "1"], ["1", "1"]]
    assert page.get("/cluster/log-dirs", params={"topic": "no-such-topic"}).status_code == 404


def test_a_user_is_made_and_deleted_and_the_password_is_shown_nowhere(
    page: TestClient, csrf: str, topic: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "barnabas")
    user = topic()
    form = {"csrf": csrf, "user": user, "mechanism": "SCRAM-SHA-256", "password": "so-secret-it-is"}
    made = page.post("/cluster/users", data={**form, "iterations": "5000"})
    assert f"{user} has the new password for SCRAM-SHA-256" in made.text
    listed = page.get("/cluster/users", params={"q": user}).text
    assert rows_of(listed)[0][:3] == [user, "SCRAM-SHA-256", "5,000"]
    assert "so-secret-it-is" not in made.text + listed + caplog.text
    gone = page.post("/cluster/users/delete", data=form).text
    assert f"{user} has no password for SCRAM-SHA-256 any more" in gone
    assert user not in page.get("/cluster/users", params={"q": user[:-1]}).text
    assert '<p class="told error"' in page.post("/cluster/users/delete", data=form).text


@pytest.mark.parametrize(
    ("name", "value"), [("iterations", "17000"), ("password", ""), ("mechanism", "PLAIN"), ("user", " ")]
)
def test_a_user_that_cannot_be_is_refused(page: TestClient, csrf: str, name: str, value: str) -> None:
    form = {"csrf": csrf, "user": "alice", "mechanism": "SCRAM-SHA-256", "password": "so-secret-it-is"}
    answer = page.post("/cluster/users", data={**form, name: value})
    assert answer.status_code == 400
    assert "so-secret" not in answer.text


def test_a_quota_is_checked_set_and_removed(
    page: TestClient, csrf: str, topic: Callable[[], str], shown_broker: AnyBroker
) -> None:
    user = topic()
    form = {"csrf": csrf, "user": user, "client-id": "<default>", "quota": "producer_byte_rate"}
    entity = ClientQuotaEntity({"user": user, "client-id": None})
    checked = page.post("/cluster/quotas", data={**form, "value": "1048576", "do": "check"})
    assert "could be 1048576. Nothing was changed." in checked.text
    with Admin(shown_broker.bootstrap) as admin:
        assert entity not in admin.describe_client_quotas()
        page.post("/cluster/quotas", data={**form, "value": "1048576"})
        assert admin.describe_client_quotas()[entity] == {"producer_byte_rate": 1048576.0}
        [row] = rows_of(page.get("/cluster/quotas", params={"q": user}).text)
        assert row[:5] == [user, "&lt;default&gt;", "–", "producer_byte_rate", "1,048,576"]
        removed = page.post("/cluster/quotas", data={**form, "do": "remove"})
        assert "is no more" in removed.text
        assert entity not in admin.describe_client_quotas()


@pytest.mark.parametrize("changes", [{"value": "much"}, {"value": "nan"}, {"user": ""}, {"quota": ""}])
def test_a_quota_that_cannot_be_is_refused(page: TestClient, csrf: str, changes: dict[str, str]) -> None:
    form = {"csrf": csrf, "user": "alice", "quota": "producer_byte_rate", "value": "1"}
    assert page.post("/cluster/quotas", data={**form, **changes}).status_code == 400


def test_an_open_transaction_is_listed_and_described_and_its_producer_shut_out(
    page: TestClient, csrf: str, written: Written, shown_broker: AnyBroker
) -> None:
    name = written()
    transactional_id = f"{name}/<i>id</i>"
    with Producer(shown_broker.bootstrap, transactional_id=transactional_id) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(name, b"a").result(30)
        query = {"q": name, "state": "Ongoing"}
        [row] = rows_of(page.get("/cluster/transactions", params=query).text)
        assert row[0] == f"{name}/&lt;i&gt;id&lt;/i&gt;"
        assert row[2] == "Ongoing"
        text = page.get("/cluster/transaction", params={"id": transactional_id}).text
        assert f"{name}-0" in text
        assert "<i>id" not in text
        hanging = page.get("/cluster/transactions/hanging", params={"topic": name, "minutes": "-1"}).text
        assert "No transaction hangs." in hanging
        assert "1 partition was looked at" in hanging
        fenced = page.post("/cluster/transaction/fence", data={"csrf": csrf, "id": transactional_id})
        assert "is shut out" in fenced.text
        with pytest.raises(ProducerFencedError):
            producer.abort_transaction()


def test_a_transactional_id_that_nobody_uses_is_no_page_and_is_not_made(page: TestClient, csrf: str) -> None:
    assert page.get("/cluster/transaction", params={"id": "nobody"}).status_code == 404
    page.post("/cluster/transaction/fence", data={"csrf": csrf, "id": "nobody"})
    assert "nobody" not in page.get("/cluster/transactions").text


def test_a_transaction_in_a_partition_is_aborted_by_where_it_begins(
    page: TestClient, csrf: str, written: Written, shown_broker: AnyBroker
) -> None:
    name = written()
    with Producer(shown_broker.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(name, b"a").result(30)
        form = {"csrf": csrf, "topic": name, "partition": "0"}
        wrong = page.post("/cluster/transactions/abort", data={**form, "start_offset": "7"})
        assert f"no transaction begins at offset 7 of {name}-0" in wrong.text
        done = page.post("/cluster/transactions/abort", data={**form, "start_offset": "0"})
        assert "is aborted" in done.text
        assert rows_of(page.get(f"/topics/{name}/producers").text)[0][-1] == "–"
        producer.abort_transaction()


def test_what_is_not_there_is_told_in_a_sentence(page: TestClient) -> None:
    assert "No replicas move." in page.get("/cluster/reassignments").text
    tokens = page.get("/cluster/tokens")
    assert tokens.status_code == 200
    assert 'class="empty"' in tokens.text
    assert page.get("/cluster/transactions", params={"state": "Lost"}).status_code == 400
