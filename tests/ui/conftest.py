"""The page: asked over HTTP, and seen in a real browser; on the embedded broker if tests say nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest
from selenium import webdriver
from starlette.testclient import TestClient
from tests.browser import start_chromium
from tests.ui.page_in_thread import PageInThread
from tests.ui.parts import Parts, parts_in

from barnabas import Producer
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.ui.app import make_app
from barnabas.ui.settings import UiSettings

OpenPage = Callable[..., TestClient]
AnyBroker = ApacheKafka | EmbeddedBroker


@pytest.fixture
def shown_broker(embedded_broker: EmbeddedBroker) -> AnyBroker:
    """What the page shows; tests of pages that any Kafka has have it be Apache Kafka too."""
    return embedded_broker


@pytest.fixture
def open_page(shown_broker: AnyBroker) -> Iterator[OpenPage]:
    """`open_page(allows_writes=True)` is a client of a page on the broker."""
    with ExitStack() as ends:

        def make(broker: AnyBroker = shown_broker, **settings: Any) -> TestClient:
            app = make_app(UiSettings(client={"bootstrap_servers": broker.bootstrap}, **settings))
            return ends.enter_context(TestClient(app, base_url="http://127.0.0.1"))

        yield make


@pytest.fixture
def written(shown_broker: AnyBroker, make_topic: Callable[..., str]) -> Callable[..., str]:
    """`written("a", "b")` is the name of a new topic with these values, of keys k0, k1, ..."""

    def write(*values: str | bytes, partitions: int = 1, **settings: Any) -> str:
        topic = make_topic(shown_broker, partitions)
        with Producer(shown_broker.bootstrap) as producer:
            for number, value in enumerate(values):
                data = value.encode() if isinstance(value, str) else value
                producer.send(topic, data, key=f"k{number}".encode(), **settings)
            producer.flush()
        return topic

    return write


@pytest.fixture(scope="session")
def page_of() -> Iterator[Callable[[str], str]]:
    """`page_of(bootstrap)` is the address of a page that may change things, the same one each time."""
    with ExitStack() as ends:

        @cache
        def opened(bootstrap: str) -> str:
            settings = UiSettings(
                client={"bootstrap_servers": bootstrap}, allows_writes=True, refresh_seconds=0.5
            )
            return ends.enter_context(PageInThread(settings)).url

        yield opened


@pytest.fixture
def page_url(shown_broker: AnyBroker, page_of: Callable[[str], str]) -> str:
    """A page that may change things, for the browser."""
    return page_of(shown_broker.bootstrap)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    with parts_in(tmp_path_factory.mktemp("checkpoints"), sample_seconds=0.5) as parts:
        yield parts


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    driver = start_chromium(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """The browser, 1280 wide, without cookies. Fails a test whose pages made it complain, as of what the
    content policy forbids."""
    chromium.set_window_size(1280, 900)
    yield chromium
    complaints = [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"]
    chromium.delete_all_cookies()
    chromium.get("about:blank")
    assert complaints == []
