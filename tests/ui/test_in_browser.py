"""Each page as Chromium shows it, of both brokers. No test waits for a fixed time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait
from tests.ui.seeing import SECONDS, press_button, text_of, until_text

from barnabas import Consumer, Producer
from barnabas.testing import ApacheKafka, EmbeddedBroker

Written = Callable[..., str]
AnyBroker = ApacheKafka | EmbeddedBroker


@pytest.fixture
def shown_broker(broker: AnyBroker) -> AnyBroker:
    return broker


def press(browser: Chrome, keys: str) -> None:
    browser.switch_to.active_element.send_keys(keys)


def background(browser: Chrome) -> str:
    return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))


def test_typing_into_the_search_narrows_the_list(browser: Chrome, page_url: str, written: Written) -> None:
    one, other = written(), written()
    browser.get(f"{page_url}/topics?q=test-")
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    press(browser, one)
    WebDriverWait(browser, SECONDS, 0.05).until(lambda _: one in browser.current_url)
    until_text(browser, one, "#rows tbody")
    assert other not in text_of(browser, "#rows tbody")


def test_keys_lead_through_the_pages(browser: Chrome, page_url: str, written: Written) -> None:
    topic = written("a")
    browser.get(f"{page_url}/topics")
    browser.find_element(By.TAG_NAME, "body").send_keys("gg")
    until_text(browser, "Groups", "h1")
    browser.get(f"{page_url}/topics?q={topic}")
    until_text(browser, topic, "#rows tbody")
    browser.find_element(By.TAG_NAME, "body").send_keys("j")
    press(browser, "\n")
    until_text(browser, topic, "h1")


def test_a_list_that_is_shown_anew_keeps_its_place(browser: Chrome, page_url: str, written: Written) -> None:
    topic = written("a")
    browser.get(f"{page_url}/topics?q={topic}")
    until_text(browser, topic, "#rows tbody")
    browser.find_element(By.TAG_NAME, "body").send_keys("j")
    row = browser.find_element(By.LINK_TEXT, topic)
    assert browser.switch_to.active_element == row
    browser.execute_script(
        "htmx.ajax('GET', location.href, {target: '#rows', select: '#rows', swap: 'outerHTML'})"
    )
    WebDriverWait(browser, SECONDS, 0.05).until(staleness_of(row))
    press(browser, "\n")
    until_text(browser, topic, "h1")


def test_the_theme_changes_and_is_kept(browser: Chrome, page_url: str) -> None:
    browser.get(f"{page_url}/topics")
    before = background(browser)
    browser.find_element(By.ID, "theme").click()
    changed = background(browser)
    assert changed != before
    browser.get(f"{page_url}/groups")
    assert background(browser) == changed
    browser.find_element(By.ID, "theme").click()
    assert background(browser) == before


def test_a_search_of_records_shows_those_that_match(browser: Chrome, page_url: str, written: Written) -> None:
    topic = written("LH 400", "BA 117", "LH 402")
    browser.get(f"{page_url}/topics/{topic}/records")
    until_text(browser, "BA 117", "#records")
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    press(browser, "lh 40\n")
    until_text(browser, "2 shown; searched 3 records", "#summary")
    assert "BA 117" not in text_of(browser, "#records")


def test_the_live_tail_shows_records_as_they_come(
    browser: Chrome, page_url: str, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("from before")
    browser.get(f"{page_url}/topics/{topic}/records")
    until_text(browser, "from before", "#records")
    browser.find_element(By.ID, "tail").click()
    until_text(browser, "Waiting", "#summary")
    with Producer(shown_broker.bootstrap) as producer:
        producer.send(topic, b"<b>live</b>").result()
    until_text(browser, "<b>live</b>", "#records")
    assert "from before" not in text_of(browser, "#records")
    browser.find_element(By.ID, "tail").click()
    assert browser.find_element(By.ID, "tail").get_attribute("aria-pressed") == "false"


def test_a_group_is_moved_after_a_preview(
    browser: Chrome, page_url: str, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a", "b", "c")
    group = f"{topic}/group"
    with Consumer(shown_broker.bootstrap, group_id=group) as consumer:
        consumer.commit({(topic, 0): 2})
        browser.get(f"{page_url}/groups?q={topic}")
        until_text(browser, group, "#rows tbody")
        browser.find_element(By.LINK_TEXT, group).click()
        until_text(browser, f"{topic}-0")
        browser.find_element(By.CSS_SELECTOR, "details.change summary").click()
        press_button(browser, "Preview")
        until_text(browser, "-2", "#preview")
        assert consumer.committed([(topic, 0)])[(topic, 0)].offset == 2
        browser.find_element(By.ID, "execute").click()
        until_text(browser, "goes on at the new offsets")
        assert consumer.committed([(topic, 0)])[(topic, 0)].offset == 0


def test_nothing_is_wider_than_a_phone(browser: Chrome, page_url: str, written: Written) -> None:
    topic = written('{"flight": "BA 117", "delay": 12}', partitions=3)
    browser.set_window_size(500, 800)
    # Chromium's window is no narrower than 500; the page in it may be.
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        for path in (
            "/topics",
            f"/topics/{topic}",
            f"/topics/{topic}/records",
            "/groups",
            "/cluster",
            "/cluster/acls",
        ):
            browser.get(page_url + path)
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= 360, path
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_every_page_opens_without_a_complaint_in_both_themes(
    browser: Chrome, page_url: str, written: Written
) -> None:
    topic = written("a")
    paths = ("/topics", f"/topics/{topic}", f"/topics/{topic}/settings", f"/topics/{topic}/records/0/0")
    for theme in ("dark", "light"):
        browser.get(page_url)
        browser.add_cookie({"name": "theme", "value": theme})
        for path in (*paths, "/groups", "/cluster", "/cluster/brokers/1", "/cluster/acls"):
            browser.get(page_url + path)
            assert browser.find_element(By.TAG_NAME, "html").get_attribute("data-theme") == theme
            assert text_of(browser, "h1"), path
