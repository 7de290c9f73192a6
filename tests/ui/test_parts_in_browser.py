"""Pages of what stands beside a cluster, as Chromium shows them: schemas, faults and Spark's queries."""

from __future__ import annotations

from urllib.parse import quote

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from tests.ui.parts import FIRST, SECOND, Parts, batch, plan
from tests.ui.seeing import phone, press_button, take_picture, text_of, until_text

from barnabas import Producer, Registry
from barnabas.broker_errors import NotLeaderOrFollowerError


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
    queries.started("6b1c", "run-1", "delays to the lake")
    queries.progressed("6b1c", "run-1", batch(), {})
    browser.get(f"{parts.url}/queries")
    until_text(browser, "delays to the lake", "#rows tbody")
    queries.terminated("6b1c", "run-1", "the disk of the lake is full")
    until_text(browser, "failed", "#rows tbody")
    browser.find_element(By.LINK_TEXT, "delays to the lake").click()
    until_text(browser, "the disk of the lake is full")
    queries.started("6b1c", "run-2", "delays to the lake")
    queries.progressed("6b1c", "run-2", batch(), {})
    browser.refresh()
    until_text(browser, "running", ".figures")
    assert "the disk of the lake is full" not in text_of(browser)
    shown = text_of(browser, ".figures").split("\n")
    assert shown[shown.index("Restarts".upper() if "RESTARTS" in shown else "Restarts") + 1] == "1"
    assert text_of(browser, "#partitions tbody").split("\n")[1].split()[-1] == "4"
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
    with phone(browser):
        for theme in ("dark", "light"):
            browser.get(parts.url)
            browser.add_cookie({"name": "theme", "value": theme})
            for path in ("/queries", f"/query/checkpoint?at={quote(str(parts.checkpoint))}"):
                browser.get(parts.url + path)
                assert browser.find_element(By.TAG_NAME, "html").get_attribute("data-theme") == theme
                assert "delays" in text_of(browser)
                assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, path
