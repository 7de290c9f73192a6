"""A page of several clusters, below a path, as Chromium shows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from tests.ui.axe import faults_of, faults_of_colours
from tests.ui.conftest import PageInThread
from tests.ui.seeing import phone, text_of, until_text

from barnabas.testing import EmbeddedBroker
from barnabas.ui.settings import ClusterSettings, UiSettings

PATHS = ("", "/clusters/production/topics")


@pytest.fixture
def url(embedded_broker: EmbeddedBroker) -> Iterator[str]:
    client = {"bootstrap_servers": embedded_broker.bootstrap}
    clusters = {name: ClusterSettings(client) for name in ("production", "test")}
    with PageInThread(UiSettings(clusters=clusters, base_path="/kafka", allows_writes=True)) as page:
        yield page.url


def test_another_cluster_is_chosen_from_the_header_by_keys_in_the_same_section(
    browser: Chrome, url: str
) -> None:
    browser.get(url)
    until_text(browser, "production", "#rows tbody")
    browser.find_element(By.LINK_TEXT, "production").click()
    until_text(browser, "Topics", "h1")
    browser.find_element(By.TAG_NAME, "body").send_keys("gg")
    until_text(browser, "Groups", "h1")
    assert text_of(browser, ".switch summary") == "production"
    browser.find_element(By.CSS_SELECTOR, ".switch summary").send_keys("\n")
    browser.find_element(By.LINK_TEXT, "test").send_keys("\n")
    until_text(browser, "test", ".switch summary")
    assert browser.current_url == f"{url}/clusters/test/groups"


def test_the_theme_is_kept_below_the_path(browser: Chrome, url: str) -> None:
    browser.get(url)
    browser.find_element(By.ID, "theme").click()
    (theme,) = [each for each in browser.get_cookies() if each["name"] == "theme"]
    assert theme["path"] == "/kafka"
    browser.get(f"{url}/clusters/test/topics")
    assert browser.find_element(By.TAG_NAME, "html").get_attribute("data-theme") == theme["value"]


def test_nothing_is_wider_than_a_phone(browser: Chrome, url: str) -> None:
    with phone(browser):
        for path in PATHS:
            browser.get(url + path)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, path
            browser.find_element(By.CSS_SELECTOR, ".switch summary").click()
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, path


def test_axe_finds_nothing_on_any_screen_in_either_theme(browser: Chrome, url: str) -> None:
    browser.get(url)
    browser.add_cookie({"name": "theme", "value": "light", "path": "/kafka"})
    for path in PATHS:
        assert faults_of(browser, url + path) + faults_of_colours(browser, "dark") == [], path
        with phone(browser):
            # The menu of clusters covers links while it is open.
            assert faults_of(browser, url + path, unfolded="details:not(.switch)") == [], path
            assert faults_of_colours(browser, "dark") == [], path
