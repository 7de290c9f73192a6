"""Records as Chromium shows them: searches, those that are kept, the live tail, and sending one again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from tests.ui.seeing import SECONDS, press_button, text_of, until_text

from barnabas import Consumer, Producer
from barnabas.testing import ApacheKafka, EmbeddedBroker

Written = Callable[..., str]
AnyBroker = ApacheKafka | EmbeddedBroker
BURST = 20_000


@pytest.fixture
def shown_broker(broker: AnyBroker) -> AnyBroker:
    return broker


@pytest.fixture
def flights(written: Written) -> str:
    return written(*(f'{{"delay": {number}}}' for number in range(10)))


def search_for(browser: Chrome, condition: str) -> None:
    field = browser.find_element(By.NAME, "cel")
    field.clear()
    field.send_keys(condition)
    press_button(browser, "Search")


def test_a_search_by_a_condition_is_in_the_address(browser: Chrome, page_url: str, flights: str) -> None:
    browser.get(f"{page_url}/topics/{flights}/records")
    search_for(browser, "value.delay > 7")
    until_text(browser, "2 shown; searched 10 records", "#summary")
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)
    until_text(browser, "2 shown; searched 10 records", "#summary")
    assert browser.find_element(By.NAME, "cel").get_attribute("value") == "value.delay > 7"


def test_a_search_is_kept_by_a_name_until_it_is_deleted(browser: Chrome, page_url: str, flights: str) -> None:
    browser.get(f"{page_url}/topics/{flights}/records")
    search_for(browser, "value.delay == 3")
    until_text(browser, "1 shown", "#summary")
    browser.find_element(By.CSS_SELECTOR, "#saved summary").click()
    browser.find_element(By.ID, "save-name").send_keys("<b>late</b>")
    press_button(browser, "Save this search")
    until_text(browser, "(1)", "#saved-count")
    browser.get(f"{page_url}/topics/{flights}/records")
    until_text(browser, "10 shown", "#summary")
    browser.find_element(By.CSS_SELECTOR, "#saved summary").click()
    browser.find_element(By.LINK_TEXT, "<b>late</b>").click()
    until_text(browser, "1 shown; searched 10 records", "#summary")
    browser.find_element(By.CSS_SELECTOR, "#saved summary").click()
    press_button(browser, "Delete")
    assert text_of(browser, "#saved-list") == ""
    assert browser.execute_script("return localStorage.length") == 0


def test_a_record_is_edited_and_sent_again(
    browser: Chrome, page_url: str, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("two\nlines")
    browser.get(f"{page_url}/topics/{topic}/records/0/0")
    browser.find_element(By.PARTIAL_LINK_TEXT, "Send again").click()
    until_text(browser, "Send this record again", "h1")
    press_button(browser, "Send")
    until_text(browser, "was sent to")
    browser.get(f"{page_url}/topics/{topic}/records/0/0/resend")
    value = browser.find_element(By.NAME, "value")
    value.clear()
    value.send_keys("one line")
    press_button(browser, "Send")
    until_text(browser, "3 shown", "#summary")
    with Consumer(shown_broker.bootstrap, topics=[topic], auto_offset_reset="earliest") as consumer:
        found: list[bytes | None] = []
        while len(found) < 3:
            record = consumer.poll_one(30)
            assert record is not None
            found.append(record.value)
    assert found == [b"two\nlines", b"two\nlines", b"one line"]


def test_a_burst_is_counted_as_a_whole_and_leaves_the_page_usable(
    browser: Chrome, page_url: str, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written(partitions=3)
    browser.get(f"{page_url}/topics/{topic}/records")
    browser.find_element(By.ID, "tail").click()
    until_text(browser, "Waiting", "#summary")
    with Producer(shown_broker.bootstrap) as producer:
        for number in range(BURST):
            producer.send(topic, b"%d" % number)
        producer.flush()

    def counted() -> int:
        return int(
            browser.execute_script(
                "const d = document.getElementById('summary').dataset;"
                "return Number(d.shown ?? 0) + Number(d.passed ?? 0) + Number(d.skipped ?? 0)"
            )
        )

    WebDriverWait(browser, SECONDS, 0.05).until(lambda _: counted() == BURST)
    until_text(browser, "20,000 came", "#summary")
    assert browser.execute_script("return document.querySelectorAll('#records tr').length") <= 500
    browser.find_element(By.ID, "tail").click()
    until_text(browser, "Live tail", "#tail")


def test_the_live_tail_shows_what_holds_in_the_form_that_is_chosen(
    browser: Chrome, page_url: str, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written()
    browser.get(f"{page_url}/topics/{topic}/records?value_as=long&cel=value+%25+2+%3D%3D+0")
    browser.find_element(By.ID, "tail").click()
    until_text(browser, "Waiting", "#summary")
    with Producer(shown_broker.bootstrap) as producer:
        for number in range(41, 45):
            producer.send(topic, number.to_bytes(8))
        producer.flush()
    until_text(browser, "4 came, 2 match", "#summary")
    assert "44" in text_of(browser, "#records")
    assert "43" not in text_of(browser, "#records")
    browser.find_element(By.ID, "tail").click()


def test_the_live_tail_says_what_is_wrong_with_a_condition(
    browser: Chrome, page_url: str, written: Written
) -> None:
    browser.get(f"{page_url}/topics/{written()}/records")
    browser.find_element(By.NAME, "cel").send_keys("value >")
    browser.find_element(By.ID, "tail").click()
    until_text(browser, "is no condition in CEL", "#summary")
    assert browser.find_element(By.ID, "tail").get_attribute("aria-pressed") == "false"


def test_a_record_and_its_form_are_no_wider_than_a_phone(
    browser: Chrome, page_url: str, flights: str
) -> None:
    browser.set_window_size(500, 800)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        for path in ("records", "records/0/0", "records/0/0/resend", "letters"):
            browser.get(f"{page_url}/topics/{flights}/{path}")
            for summary in browser.find_elements(By.CSS_SELECTOR, "main details > summary"):
                summary.click()
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= 360, path
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
