"""Groups as Chromium shows them: what is renewed while somebody looks, and what is done by keys alone."""

from __future__ import annotations

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import Select, WebDriverWait
from tests.ui.parts import Parts
from tests.ui.seeing import SECONDS, text_of, until_text

from barnabas import Consumer

GROUP = "/group?id=delays-to-lake"


def test_the_table_of_a_chart_stays_unfolded_while_the_page_is_renewed(browser: Chrome, parts: Parts) -> None:
    def is_drawn(_: Chrome) -> bool:
        browser.get(parts.url + GROUP)
        return bool(browser.find_elements(By.ID, "records-table"))

    WebDriverWait(browser, SECONDS, 0.2).until(is_drawn)
    browser.find_element(By.CSS_SELECTOR, "#records-table summary").send_keys(Keys.ENTER)
    until_text(browser, "Time", "#records-table")
    before = browser.find_element(By.ID, "now")
    browser.execute_script(
        "htmx.ajax('GET', location.href, {target: '#now', select: '#now', swap: 'outerHTML'})"
    )
    WebDriverWait(browser, SECONDS, 0.05).until(staleness_of(before))
    until_text(browser, "Time", "#records-table")


def test_a_group_goes_back_by_keys_alone(browser: Chrome, parts: Parts) -> None:
    with Consumer(parts.broker.bootstrap, group_id="by-keys") as consumer:
        consumer.commit({("delays", 0): 3})
    browser.get(f"{parts.url}/groups?q=by-keys")
    until_text(browser, "by-keys", "#rows tbody")
    browser.find_element(By.TAG_NAME, "body").send_keys("j")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until_text(browser, "by-keys", "h1")
    browser.find_element(By.CSS_SELECTOR, "#move summary").send_keys(Keys.ENTER)
    Select(browser.find_element(By.NAME, "way")).select_by_visible_text("so many records on, or back with -")
    browser.find_element(By.NAME, "at").send_keys("-2" + Keys.ENTER)
    until_text(browser, "2 records would be read again", "main")
    browser.find_element(By.ID, "execute").send_keys(Keys.ENTER)
    until_text(browser, "goes on at the new offsets of 1 partition")
    assert "delays-0" in text_of(browser, "#partitions")
    with Consumer(parts.broker.bootstrap, group_id="by-keys") as consumer:
        assert consumer.committed([("delays", 0)])[("delays", 0)].offset == 1
