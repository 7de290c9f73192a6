"""Every page is judged by axe, in both themes, wide and on a phone. A new page needs a row here."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from selenium.webdriver import Chrome
from starlette.routing import BaseRoute, Mount, Route
from tests.ui.axe import COLOURS, faults_of, faults_of_colours
from tests.ui.parts import FIRST, Parts, batch, parts_in, plan
from tests.ui.seeing import phone

from barnabas import Consumer, Producer, Registry
from barnabas.registry import Schema, SchemaReference
from barnabas.ui.app import make_app
from barnabas.ui.settings import UiSettings

RESET = "&way=earliest"
# By the path of a route: addresses that show what there is to see.
PAGES = {
    "/": [],  # leads to /topics
    "/topics": ["/topics", "/topics?q=no-such"],
    "/topics/{topic}": ["/topics/delays"],
    "/topics/{topic}/producers": ["/topics/delays/producers"],
    "/topics/{topic}/schemas": ["/topics/delays/schemas"],
    "/topics/{topic}/settings": ["/topics/delays/settings"],
    "/topics/{topic}/delete-records": ["/topics/delays/delete-records"],
    "/topics/{topic}/records": ["/topics/delays/records", "/topics/delays/records?q=BA&place=beginning"],
    "/topics/{topic}/letters": ["/topics/delays/letters"],
    "/topics/{topic}/records/{partition:int}/{offset:int}": ["/topics/delays/records/0/1"],
    "/topics/{topic}/records/{partition:int}/{offset:int}/resend": ["/topics/delays/records/0/1/resend"],
    "/groups": ["/groups", "/groups?only=behind"],
    "/group": ["/group?id=delays-to-lake", "/group?id=gates-to-screens"],
    "/group/reset": ["/group/reset?id=delays-to-lake" + RESET, "/group/reset?id=gates-to-screens" + RESET],
    "/queries": ["/queries"],
    "/query": ["/query?id=6b1c"],
    "/query/checkpoint": ["/query/checkpoint?at=CHECKPOINT"],
    "/cluster": ["/cluster"],
    "/cluster/log-dirs": ["/cluster/log-dirs"],
    "/cluster/brokers/{node:int}": ["/cluster/brokers/1"],
    "/cluster/quorum": ["/cluster/quorum"],
    "/cluster/features": ["/cluster/features"],
    "/cluster/users": ["/cluster/users"],
    "/cluster/tokens": ["/cluster/tokens"],
    "/cluster/quotas": ["/cluster/quotas"],
    "/cluster/acls": ["/cluster/acls"],
    "/cluster/transactions": ["/cluster/transactions"],
    "/cluster/transactions/hanging": ["/cluster/transactions/hanging"],
    "/cluster/transaction": ["/cluster/transaction?id=lake-1"],
    "/cluster/reassignments": ["/cluster/reassignments"],
    "/schemas": ["/schemas"],
    "/schemas/schema": ["/schemas/schema?id=1"],
    "/schema": ["/schema?subject=delays-value", "/schema?subject=flights-value"],
    "/faults": ["/faults"],
}
NO_PAGES = {
    "/topics/{topic}/tail": "events",
    "/topics/{topic}/export": "a file",
    "/topics/{topic}/records/{partition:int}/{offset:int}/{side}": "a file",
    "/cluster/requests": "events",
}
MISSING = ["/no-such-page", "/topics/no-such", "/group?id=no-such"]


def gets(routes: list[BaseRoute], prefix: str = "") -> Iterator[str]:
    for route in routes:
        if isinstance(route, Mount):
            yield from gets(list(route.routes), prefix + route.path)
        elif isinstance(route, Route) and "GET" in (route.methods or ()):
            yield prefix + route.path


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """With all that a page may have to show."""
    with parts_in(tmp_path_factory.mktemp("checkpoints"), sample_seconds=0.1) as parts:
        plan(parts.checkpoint, 7, (10, 9, 11), is_committed=True)
        plan(parts.checkpoint, 8, (14, 13, 13), is_committed=False)
        parts.queries.started("6b1c", "run-1", "delays to the lake")
        for number in range(8):
            parts.queries.progressed("6b1c", "run-1", batch(number), {})
        parts.queries.started("77aa", "run-1", "gates to screens")
        parts.queries.terminated("77aa", "run-1", "the disk of the screens is full")
        with Registry(parts.registry.url) as registry:
            registry.register("flights-value", Schema(FIRST))
            with_reference = Schema(
                '{"type": "record", "name": "Day", "fields": [{"name": "first", "type": "Flight"}]}',
                references=(SchemaReference("Flight", "flights-value", 1),),
            )
            registry.register("days-value", with_reference)
        with Producer(parts.broker.bootstrap, transactional_id="lake-1") as producer:
            producer.init_transactions()
            with producer.transaction():
                producer.send("departures", b"BA 117")
        group = "gates-to-screens"
        with Consumer(parts.broker.bootstrap, group_id=group) as consumer:
            consumer.commit({("gates", 0): 0, ("weather", 0): 0})
        with Consumer(
            parts.broker.bootstrap,
            topics=["gates", "delays"],
            group_id=group,
            client_id="screens",
            group_protocol="consumer",
            auto_offset_reset="earliest",
        ) as consumer:
            assert consumer.poll(30)
            yield parts


def addresses(parts: Parts) -> list[str]:
    checkpoint = quote(str(parts.checkpoint), safe="")
    found = [path.replace("CHECKPOINT", checkpoint) for paths in PAGES.values() for path in paths]
    return [*found, *MISSING]


def test_every_page_is_judged() -> None:
    app = make_app(UiSettings(client={"bootstrap_servers": "localhost:9092"}))
    there = {path for path in gets(app.routes) if not path.startswith("/login")}
    assert there - PAGES.keys() - NO_PAGES.keys() == set()
    assert PAGES.keys() - there == set()


def test_axe_finds_nothing_on_a_wide_screen_in_either_theme(browser: Chrome, parts: Parts) -> None:
    browser.get(parts.url)
    browser.add_cookie({"name": "theme", "value": "light"})
    found: dict[str, list[str]] = {}
    for path in addresses(parts):
        faults = faults_of(browser, parts.url + path) + faults_of_colours(browser, "dark")
        if faults:
            found[path] = faults
    # Of the pages that are not there.
    browser.get_log("browser")
    assert found == {}


def test_axe_finds_nothing_on_a_phone_and_no_page_is_wider(browser: Chrome, parts: Parts) -> None:
    found: dict[str, list[str]] = {}
    with phone(browser):
        for path in addresses(parts):
            faults = faults_of(browser, parts.url + path, without=COLOURS)
            width = browser.execute_script("return document.documentElement.scrollWidth")
            if width > 360:
                faults.append(f"it is {width} wide")
            if faults:
                found[path] = faults
    browser.get_log("browser")
    assert found == {}
