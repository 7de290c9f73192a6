"""Pages of a cluster whose users mean harm, as Chromium shows them: nothing of theirs runs. The fixture of
the browser fails what the content policy had to stop."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from tests.ui.conftest import PageInThread
from tests.ui.hostile import MARK, NAMES, TOPIC, crawled, harmful, hostile_cluster
from tests.ui.seeing import text_of, until_text

from barnabas import Producer
from barnabas.ui.settings import UiSettings

AS_MANY_AS_A_CLUSTER_HAS = 20


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UiSettings]:
    with hostile_cluster(tmp_path_factory.mktemp("hostile")) as settings:
        yield settings


@pytest.fixture(scope="module")
def url(settings: UiSettings) -> Iterator[str]:
    with PageInThread(settings) as page:
        yield page.url


def assert_no_harm(browser: Chrome, path: str) -> None:
    assert browser.execute_script("return window.harm") is None, path
    found = browser.execute_script("return document.querySelectorAll(arguments[0]).length", f"[{MARK}]")
    assert found == 0, path


def test_nothing_of_a_cluster_runs_on_any_page(browser: Chrome, url: str) -> None:
    with httpx.Client(base_url=url) as client:
        # The browser complains of a page that there is not, as behind the last record.
        paths = [path for path, shown in crawled(client) if shown.is_found]
    assert len(paths) >= AS_MANY_AS_A_CLUSTER_HAS
    for path in paths:
        browser.get(url + path)
        assert_no_harm(browser, path)


def test_what_means_harm_is_shown_as_the_text_that_it_is(browser: Chrome, url: str) -> None:
    for path, name in (
        ("/groups", "group"),
        (f"/topics/{TOPIC}/records", "key"),
        ("/schemas", "subject"),
        ("/queries", "query"),
        ("/faults", "fault-topic"),
    ):
        browser.get(url + path)
        # Long ones are cut.
        until_text(browser, NAMES[name][: len(name) + 20])
        assert_no_harm(browser, path)


def test_nothing_runs_as_it_comes_in_a_live_tail(browser: Chrome, url: str, settings: UiSettings) -> None:
    browser.get(f"{url}/topics/{TOPIC}/records")
    browser.find_element(By.ID, "tail").click()
    until_text(browser, "Waiting", "#summary")
    live = harmful("live")
    with Producer(settings.client["bootstrap_servers"]) as producer:
        producer.send(TOPIC, live.encode(), key=live.encode(), headers=[(live, live.encode())]).result()
    until_text(browser, live[:40], "#records")
    assert_no_harm(browser, "the live tail")
    browser.find_element(By.ID, "tail").click()


def test_a_page_in_another_site_s_frame_shows_nothing(browser: Chrome, url: str) -> None:
    browser.get("data:text/html,<title>another</title>")
    browser.execute_script(
        "const frame = document.createElement('iframe'); frame.src = arguments[0];"
        "document.body.append(frame); window.loaded = new Promise(done => frame.onload = done);",
        f"{url}/topics",
    )
    browser.execute_async_script("const done = arguments[0]; window.loaded.then(() => done());")
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    assert TOPIC not in text_of(browser, "body")
    browser.switch_to.default_content()
    # The browser may say that it has stopped it.
    browser.get_log("browser")
