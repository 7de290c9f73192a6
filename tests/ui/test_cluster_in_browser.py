"""Forms of topics, the cluster and a registry, as they are pressed in Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from tests.ui.page_in_thread import PageInThread
from tests.ui.seeing import press_button, text_of, until_text

from barnabas import Admin, NewTopic, Registry
from barnabas.registry import Schema
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry
from barnabas.ui.settings import UiSettings

FIRST = '{"type": "record", "name": "F", "fields": [{"name": "delay", "type": "int"}]}'


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedBroker]:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture(scope="module")
def registry() -> Iterator[EmbeddedRegistry]:
    with EmbeddedRegistry() as registry:
        yield registry


@pytest.fixture(scope="module")
def url(guarded: EmbeddedBroker, registry: EmbeddedRegistry) -> Iterator[str]:
    settings = UiSettings(
        client={"bootstrap_servers": guarded.bootstrap},
        registry=registry.url,
        allows_writes=True,
        refresh_seconds=0.5,
    )
    with PageInThread(settings) as page:
        yield page.url


def unfold(browser: Chrome, summary: str) -> None:
    browser.find_element(By.XPATH, f"//summary[text()='{summary}']").click()


def fill(browser: Chrome, within: str, **fields: str) -> None:
    for name, text in fields.items():
        field = browser.find_element(By.CSS_SELECTOR, f"{within} [name='{name}']")
        field.clear()
        field.send_keys(text)


def test_a_topic_is_checked_created_and_emptied(
    browser: Chrome, url: str, topic: Callable[[], str], guarded: EmbeddedBroker
) -> None:
    name = topic()
    browser.get(f"{url}/topics")
    unfold(browser, "Create a topic")
    fill(browser, "form", name=name, partitions="2", settings="retention.ms=1000")
    press_button(browser, "Check only")
    until_text(browser, f"{name} could be created like this")
    press_button(browser, "Create")
    until_text(browser, f"{name} was created")
    with Admin(guarded.bootstrap) as admin:
        assert len(admin.describe_topics([name])[name].partitions) == 2
    unfold(browser, "Delete records")
    press_button(browser, "Preview")
    until_text(browser, "There is nothing to delete.")


def test_a_setting_is_changed_in_its_row(
    browser: Chrome, url: str, topic: Callable[[], str], guarded: EmbeddedBroker
) -> None:
    name = topic()
    with Admin(guarded.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1)])
    browser.get(f"{url}/topics/{name}/settings?q=retention.ms")
    unfold(browser, "Change")
    fill(browser, "table", value="60000")
    press_button(browser, "Set")
    until_text(browser, "retention.ms is 60000", "p.told")
    unfold(browser, "Change")
    press_button(browser, "Default")
    until_text(browser, "retention.ms has its default again", "p.told")


def test_a_rule_is_added_and_deleted(browser: Chrome, url: str, guarded: EmbeddedBroker) -> None:
    browser.get(f"{url}/cluster/acls")
    unfold(browser, "Add a rule")
    fill(browser, "details[open]", principal="User:<b>alice</b>", name="flights")
    Select(browser.find_element(By.NAME, "operation")).select_by_visible_text("write")
    press_button(browser, "Add")
    until_text(browser, "User:<b>alice</b>", "tbody")
    unfold(browser, "Delete")
    press_button(browser, "Delete the rule")
    until_text(browser, "There are no rules")
    with Admin(guarded.bootstrap) as admin:
        assert admin.describe_acls() == []


def test_a_password_is_set_and_seen_nowhere(browser: Chrome, url: str) -> None:
    browser.get(f"{url}/cluster/users")
    unfold(browser, "Make a user, or change a password")
    fill(browser, "details[open]", user="alice", password="so-secret-it-is")
    press_button(browser, "Set the password")
    until_text(browser, "SCRAM-SHA-512", "tbody")
    assert "so-secret" not in browser.page_source


def test_a_schema_is_registered_and_its_subject_deleted(
    browser: Chrome, url: str, registry: EmbeddedRegistry
) -> None:
    with Registry(registry.url) as client:
        client.register("flights-value", Schema(FIRST))
        browser.get(f"{url}/schema?subject=flights-value")
        unfold(browser, "Register another version")
        fill(browser, "details[open]", schema=FIRST.replace('"int"', '"string"'))
        press_button(browser, "Register")
        until_text(browser, "It is not compatible.", "#verdict")
        fill(browser, "main", schema=FIRST.replace('"int"', '"long"'))
        press_button(browser, "Register")
        until_text(browser, "Version 2", "nav.tabs")
        unfold(browser, "Delete the subject")
        fill(browser, "details[open]", confirmed="flights-value")
        press_button(browser, "Delete all versions")
        until_text(browser, "flights-value was deleted")
        assert client.subjects() == []


def test_tabs_of_the_cluster_lead_to_each_page(browser: Chrome, url: str) -> None:
    browser.get(f"{url}/topics")
    browser.find_element(By.TAG_NAME, "body").send_keys("gc")
    until_text(browser, "Brokers", "h1")
    for name in ("Log dirs", "Quorum", "Features", "Quotas", "Transactions", "Reassignments"):
        browser.find_element(By.LINK_TEXT, name).click()
        until_text(browser, name, "h1")
        assert text_of(browser, "nav.tabs [aria-current]") == name
