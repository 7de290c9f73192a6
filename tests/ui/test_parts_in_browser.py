"""Pages of what stands beside a cluster, as Chromium shows them: schemas, faults and Spark's queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from tests.ui.conftest import PageInThread
from tests.ui.seeing import press_button, text_of, until_text

from barnabas import Admin, Consumer, NewTopic, Producer, Registry
from barnabas.broker_errors import NotLeaderOrFollowerError
from barnabas.http.server import Page, PageServer
from barnabas.registry import Schema
from barnabas.spark.queries.progress import BatchProgress, PartitionProgress, SourceProgress
from barnabas.spark.queries.query_figures import Queries
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry
from barnabas.types import TopicPartition
from barnabas.ui.settings import UiSettings

PICTURES = Path(__file__).parents[2] / "build" / "screenshots"
FIRST = '{"type": "record", "name": "Flight", "fields": [{"name": "delay", "type": "int"}]}'
SECOND = FIRST.replace("}]}", '}, {"name": "gate", "type": "string", "default": ""}]}')
TIMESTAMP = 1_767_225_600_000
FLIGHTS = ("BA 117", "LH 400", "AF 006", "IB 6251", "KL 641")


class Parts:
    """A cluster of fixed contents, with all that a page can stand beside."""

    def __init__(
        self, broker: EmbeddedBroker, registry: EmbeddedRegistry, queries: Queries, checkpoint: Path
    ) -> None:
        self.broker = broker
        self.registry = registry
        self.queries = queries
        self.checkpoint = checkpoint
        self.url = ""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    queries = Queries()
    checkpoint = tmp_path_factory.mktemp("checkpoints") / "delays-to-the-lake"
    status = Page("application/json", lambda: json.dumps({"queries": queries.status()}).encode())
    server = PageServer("127.0.0.1", 0, {"/status": status})
    try:
        with EmbeddedBroker() as broker, EmbeddedRegistry() as registry:
            parts = Parts(broker, registry, queries, checkpoint)
            fill(parts)
            settings = UiSettings(
                client={"bootstrap_servers": broker.bootstrap},
                registry=registry.url,
                listener=server.url,
                checkpoints=(str(checkpoint),),
                faults=broker.faults.url,
                allows_writes=True,
                refresh_seconds=0.5,
            )
            with PageInThread(settings) as page:
                parts.url = page.url
                yield parts
    finally:
        server.close()


def fill(parts: Parts) -> None:
    with Admin(parts.broker.bootstrap) as admin:
        admin.create_topics([NewTopic(n, 3, 1) for n in ("departures", "delays", "gates", "weather")])
    with Producer(parts.broker.bootstrap) as producer:
        for number in range(40):
            flight = FLIGHTS[number % len(FLIGHTS)]
            value = json.dumps({"flight": flight, "delay": number * 7 % 45, "gate": f"B{number % 9}"})
            producer.send(
                "delays",
                value.encode(),
                key=flight.encode(),
                partition=number % 3,
                timestamp=TIMESTAMP + number * 1_000,
            )
        producer.flush()
    with Consumer(parts.broker.bootstrap, group_id="delays-to-lake") as consumer:
        consumer.commit({("delays", 0): 14, ("delays", 1): 9, ("delays", 2): 13})
    with Registry(parts.registry.url) as registry:
        registry.register("delays-value", Schema(FIRST))
        registry.register("delays-value", Schema(SECOND))


def plan(checkpoint: Path, batch: int, ends: tuple[int, int, int], *, is_committed: bool) -> None:
    """As Spark writes it of a query that reads `delays`."""
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True, exist_ok=True)
    (checkpoint / "metadata").write_text('{"id":"6b1c"}')
    offsets = json.dumps({"delays": {str(number): end for number, end in enumerate(ends)}})
    planned = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": TIMESTAMP + batch * 1_000, "conf": {}})
    (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{planned}\n{offsets}")
    if is_committed:
        (checkpoint / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def take_picture(browser: Chrome, name: str) -> None:
    """For the documentation, by scripts/screenshots.py; without what differs each time."""
    browser.execute_script(
        "document.querySelectorAll('.where').forEach(each => each.textContent = 'localhost:9092');"
        "document.querySelectorAll('.age').forEach(each => each.textContent = 'as of now');"
    )
    PICTURES.mkdir(parents=True, exist_ok=True)
    assert browser.save_screenshot(str(PICTURES / f"{name}.png"))


def test_topics_and_records_are_seen(browser: Chrome, parts: Parts) -> None:
    browser.set_window_size(1100, 560)
    browser.get(f"{parts.url}/topics")
    until_text(browser, "departures", "#rows tbody")
    take_picture(browser, "topics")
    browser.get(f"{parts.url}/topics/delays/records")
    until_text(browser, "BA 117", "#records")
    assert "LH 400" in text_of(browser, "#records")


def test_a_subject_shows_what_changed_and_checks_another_schema(browser: Chrome, parts: Parts) -> None:
    browser.set_window_size(1100, 900)
    browser.get(f"{parts.url}/schemas")
    browser.find_element(By.LINK_TEXT, "delays-value").click()
    until_text(browser, '+      "name": "gate",', "pre.diff")
    assert "BACKWARD" in text_of(browser)
    take_picture(browser, "schema")
    browser.find_element(By.LINK_TEXT, "Version 1").click()
    until_text(browser, "delay", "section.part pre")
    assert "gate" not in text_of(browser, "section.part pre")
    browser.find_element(By.LINK_TEXT, "Version 2").click()
    browser.find_element(By.CSS_SELECTOR, "details.change summary").click()
    area = browser.find_element(By.NAME, "schema")
    area.clear()
    area.send_keys(FIRST.replace('"int"', '"string"'))
    press_button(browser, "Check")
    until_text(browser, "It is not compatible", "#verdict")
    area = browser.find_element(By.NAME, "schema")
    area.clear()
    area.send_keys(SECOND)
    press_button(browser, "Check")
    until_text(browser, "It is compatible with version 2", "#verdict")
    with Registry(parts.registry.url) as registry:
        assert registry.versions("delays-value") == [1, 2]


def test_faults_are_switched_on_and_off(browser: Chrome, parts: Parts) -> None:
    browser.set_window_size(1100, 700)
    browser.get(f"{parts.url}/faults")
    until_text(browser, "No faults are in force")
    Select(browser.find_element(By.NAME, "effect")).select_by_visible_text("error")
    Select(browser.find_element(By.NAME, "api")).select_by_visible_text("Produce")
    browser.find_element(By.NAME, "error").send_keys("NOT_LEADER_OR_FOLLOWER")
    browser.find_element(By.NAME, "topic").send_keys("weather")
    press_button(browser, "Add")
    until_text(browser, "the fault is in force")
    until_text(browser, "in force", "tbody")
    with Producer(parts.broker.bootstrap, retries=0, enable_idempotence=False) as producer:
        assert isinstance(producer.send("weather", b"a").exception(30), NotLeaderOrFollowerError)
        browser.get(f"{parts.url}/faults")
        assert browser.find_element(By.CSS_SELECTOR, "tbody td.n").text == "1"
        take_picture(browser, "faults")
        press_button(browser, "End")
        until_text(browser, "No faults are in force")
        producer.send("weather", b"a").result(30)
    press_button(browser, "Disk full")
    until_text(browser, "nothing has room")
    press_button(browser, "Disk has room")
    until_text(browser, "there is room")


def test_a_query_is_seen_to_fail_and_to_start_again_from_its_checkpoint(
    browser: Chrome, parts: Parts
) -> None:
    browser.set_window_size(1100, 620)
    queries = parts.queries
    positions = {0: (14, 12), 1: (9, 8), 2: (13, 11)}
    progress = {
        TopicPartition("delays", number): PartitionProgress(at, at, passed)
        for number, (at, passed) in positions.items()
    }
    batch = BatchProgress(7, "2026-01-01T12:00:00.000Z", 1.5, (SourceProgress(0, 31, progress),))
    queries.started("6b1c", "run-1", "delays to the lake")
    queries.progressed("6b1c", "run-1", batch, {})
    browser.get(f"{parts.url}/queries")
    until_text(browser, "delays to the lake", "#rows tbody")
    queries.terminated("6b1c", "run-1", "the disk of the lake is full")
    until_text(browser, "failed", "#rows tbody")
    browser.find_element(By.LINK_TEXT, "delays to the lake").click()
    until_text(browser, "the disk of the lake is full")
    queries.started("6b1c", "run-2", "delays to the lake")
    queries.progressed("6b1c", "run-2", batch, {})
    browser.refresh()
    until_text(browser, "running", ".figures")
    assert "the disk of the lake is full" not in text_of(browser)
    shown = text_of(browser, ".figures").split("\n")
    assert shown[shown.index("Restarts".upper() if "RESTARTS" in shown else "Restarts") + 1] == "1"
    assert text_of(browser, "tbody").split("\n")[1].split()[-1] == "4"
    take_picture(browser, "query")


def test_a_checkpoint_is_seen_with_the_batch_that_is_not_committed(browser: Chrome, parts: Parts) -> None:
    browser.set_window_size(1100, 620)
    plan(parts.checkpoint, 7, (10, 9, 11), is_committed=True)
    plan(parts.checkpoint, 8, (14, 13, 13), is_committed=False)
    browser.get(f"{parts.url}/queries")
    until_text(browser, "8", "#checkpoints tbody")
    browser.find_element(By.CSS_SELECTOR, "#checkpoints tbody a").click()
    until_text(browser, "batch 8, 10 records")
    lines = text_of(browser, "tbody").split("\n")
    assert [line.split() for line in lines] == [
        ["delays-0", "10", "14", "14", "4"],
        ["delays-1", "9", "13", "13", "4"],
        ["delays-2", "11", "13", "13", "2"],
    ]
    browser.execute_script(
        "[...document.querySelectorAll('.figures .long code')].at(-1).textContent = 's3://lake/delays-to-the-lake';"
        "document.querySelectorAll('.moment').forEach(each => each.textContent = '2026-01-01 00:00:08.000');"
    )
    take_picture(browser, "checkpoint")


def test_checkpoints_are_no_wider_than_a_phone_in_both_themes(browser: Chrome, parts: Parts) -> None:
    plan(parts.checkpoint, 7, (10, 9, 11), is_committed=True)
    plan(parts.checkpoint, 8, (14, 13, 13), is_committed=False)
    browser.set_window_size(500, 800)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        for theme in ("dark", "light"):
            browser.get(parts.url)
            browser.add_cookie({"name": "theme", "value": theme})
            for path in ("/queries", f"/query/checkpoint?at={quote(str(parts.checkpoint))}"):
                browser.get(parts.url + path)
                assert browser.find_element(By.TAG_NAME, "html").get_attribute("data-theme") == theme
                assert "delays" in text_of(browser)
                assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, path
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
