"""The pictures of the documentation: the main pages, each with what it is there to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from selenium.webdriver import Chrome
from tests.ui.parts import Parts, batch, parts_in, plan
from tests.ui.seeing import take_picture, text_of, until_text

from barnabas import Consumer, Producer

BATCH_SECONDS = (1.4, 1.6, 1.5, 1.9, 1.5, 1.4, 2.1, 1.5, 1.7, 1.5)
CLOCK = (
    "document.querySelectorAll('time.clock').forEach((each, place) =>"
    " each.textContent = ['12:00:00', '12:01:00', '12:02:00'][place % 3]);"
)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    with parts_in(tmp_path_factory.mktemp("checkpoints"), sample_seconds=0.1) as parts:
        plan(parts.checkpoint, 7, (10, 9, 11), is_committed=True)
        plan(parts.checkpoint, 8, (14, 13, 13), is_committed=False)
        parts.queries.started("6b1c", "run-1", "delays to the lake")
        for number, seconds in enumerate(BATCH_SECONDS):
            parts.queries.progressed("6b1c", "run-1", batch(number, seconds), {})
        parts.queries.started("77aa", "run-1", "gates to screens")
        parts.queries.terminated("77aa", "run-1", "the disk of the screens is full")
        yield parts


def opened(browser: Chrome, parts: Parts, path: str, theme: str, height: int) -> None:
    browser.set_window_size(1100, height)
    browser.get(f"{parts.url}/topics")
    browser.add_cookie({"name": "theme", "value": theme})
    browser.get(parts.url + path)


def test_a_search_of_records_is_seen(browser: Chrome, parts: Parts) -> None:
    opened(browser, parts, "/topics/delays/records?q=LH", "light", 800)
    until_text(browser, "LH 400", "#records")
    take_picture(browser, "records")
    opened(browser, parts, "/topics/delays/records/0/1", "dark", 1_000)
    until_text(browser, "IB 6251")
    take_picture(browser, "record")


def test_a_topic_is_seen(browser: Chrome, parts: Parts) -> None:
    opened(browser, parts, "/topics/delays", "light", 680)
    until_text(browser, "delays-to-lake")
    take_picture(browser, "topic")


def test_a_group_that_falls_behind_is_seen_with_its_lag_over_time(
    browser: Chrome, parts: Parts, eventually: Callable[..., Any]
) -> None:
    with Consumer(parts.broker.bootstrap, group_id="gates-to-screens") as consumer:
        consumer.commit({("gates", number): 0 for number in range(3)})
    opened(browser, parts, "/groups", "light", 600)
    with Producer(parts.broker.bootstrap) as producer:

        def is_behind() -> bool:
            for number in range(30):
                producer.send("gates", b"B7", partition=number % 3)
            producer.flush()
            browser.get(f"{parts.url}/groups")
            return "falls behind" in text_of(browser)

        eventually(is_behind)
        browser.set_window_size(1100, 600)
        take_picture(browser, "groups")
        for _ in range(20):
            is_behind()
    opened(browser, parts, "/group?id=gates-to-screens", "light", 1_200)
    until_text(browser, "Lag in time")
    browser.execute_script(CLOCK)
    take_picture(browser, "group")
    opened(browser, parts, "/group?id=gates-to-screens", "dark", 1_200)
    until_text(browser, "Lag in time")
    browser.execute_script(CLOCK)
    take_picture(browser, "group-dark")


def test_a_preview_of_a_reset_is_seen(browser: Chrome, parts: Parts) -> None:
    opened(browser, parts, "/group/reset?id=delays-to-lake&way=earliest", "light", 620)
    until_text(browser, "would be read again")
    take_picture(browser, "reset")


def test_queries_and_one_of_them_are_seen(browser: Chrome, parts: Parts) -> None:
    opened(browser, parts, "/queries", "light", 640)
    until_text(browser, "the disk of the screens is full")
    browser.execute_script(
        "document.querySelectorAll('.folder').forEach(each => each.textContent = 's3://lake/delays-to-the-lake');"
        "document.querySelectorAll('.stands-out .reason').forEach(each => each.textContent ="
        " each.textContent.replace(/planned .* ago/, 'planned 2 h ago'));"
    )
    take_picture(browser, "queries")
    opened(browser, parts, "/query?id=6b1c", "dark", 1_500)
    until_text(browser, "Where the time went")
    browser.execute_script(CLOCK)
    browser.execute_script(
        "document.querySelectorAll('.figures .long a[href*=checkpoint]')[0].textContent ="
        " 's3://lake/delays-to-the-lake'"
    )
    take_picture(browser, "query-dark")


def test_the_cluster_is_seen(browser: Chrome, parts: Parts) -> None:
    opened(browser, parts, "/cluster", "light", 700)
    until_text(browser, "127.0.0.1")
    take_picture(browser, "cluster")
