"""A cluster whose users mean harm: whatever they can name is text that would run in a careless page."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from barnabas import Admin, Consumer, NewTopic, Producer, Registry
from barnabas.client.admin.types import (
    AclBinding,
    AclOperation,
    AclResourceType,
    ClientQuotaEntity,
    ScramMechanism,
    ScramUpsertion,
)
from barnabas.http.server import Page, PageServer
from barnabas.registry import Schema
from barnabas.spark.queries.progress import BatchProgress, PartitionProgress, SourceProgress
from barnabas.spark.queries.query_figures import Queries
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry
from barnabas.types import TopicPartition
from barnabas.ui.settings import UiSettings

TOPIC = "hostile.topic_1-2"
MARK = "data-harm"
MOST_PAGES = 200


def harmful(name: str) -> str:
    """Ends whatever it stands in, and would then run. `name` is found in it again."""
    return (
        f"{name}'\"--></script></title></textarea></style>"
        f"<img {MARK} src=/x onerror=window.harm=1><script {MARK}>window.harm=1</script>"
        f"<a {MARK} href=javascript:window.harm=1>{{{{7*7}}}}${{7*7}}"
    )


NAMES = {
    name: harmful(name)
    for name in (
        "key",
        "value",
        "header",
        "header-value",
        "group",
        "client",
        "transactional",
        "subject",
        "doc",
        "query",
        "query-error",
        "principal",
        "acl-resource",
        "user",
        "quota-client",
        "fault-topic",
        "commit-metadata",
    )
}


@contextmanager
def hostile_cluster(folder: Path) -> Generator[UiSettings]:
    """What a page of it is told."""
    queries = Queries()
    status = Page("application/json", lambda: json.dumps({"queries": queries.status()}).encode())
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }
    with ExitStack() as ends:
        server = PageServer("127.0.0.1", 0, {"/status": status})
        ends.callback(server.close)
        broker = ends.enter_context(EmbeddedBroker(config=config))
        registry = ends.enter_context(EmbeddedRegistry())
        _fill(broker)
        _fill_queries(queries)
        _fill_registry(registry)
        member = ends.enter_context(
            Consumer(broker.bootstrap, topics=[TOPIC], group_id=NAMES["group"], client_id=NAMES["client"])
        )
        member.poll(1)
        member.commit({(TOPIC, 0): 1})
        yield UiSettings(
            client={"bootstrap_servers": broker.bootstrap},
            registry=registry.url,
            listener=server.url,
            checkpoints=(str(_checkpoint(folder)),),
            faults=broker.faults.url,
            allows_writes=True,
        )


def _fill(broker: EmbeddedBroker) -> None:
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(TOPIC, 1, 1)])
        whom = f"User:{NAMES['principal']}"
        resource = NAMES["acl-resource"]
        admin.create_acls([AclBinding(AclResourceType.GROUP, resource, whom, AclOperation.READ)])
        admin.alter_user_scram_credentials(
            [ScramUpsertion(NAMES["user"], ScramMechanism.SCRAM_SHA_256, "secret")]
        )
        admin.alter_client_quotas(
            {ClientQuotaEntity({"client-id": NAMES["quota-client"]}): {"producer_byte_rate": 1e9}}
        )
    with Producer(broker.bootstrap) as producer:
        headers = [(NAMES["header"], NAMES["header-value"].encode())]
        for value in (NAMES["value"], json.dumps({NAMES["value"]: NAMES["value"]})):
            producer.send(TOPIC, value.encode(), key=NAMES["key"].encode(), headers=headers)
        producer.flush()
    transactional_id = NAMES["transactional"]
    with Producer(broker.bootstrap, transactional_id=transactional_id) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(TOPIC, b"a")
    broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=NAMES["fault-topic"])


def _fill_queries(queries: Queries) -> None:
    at = {TopicPartition(TOPIC, 0): PartitionProgress(1, 1, 1)}
    batch = BatchProgress(7, NAMES["query"], 1.5, (SourceProgress(0, 1, at),))
    queries.started(NAMES["query"], "run", NAMES["query"])
    queries.progressed(NAMES["query"], "run", batch, {})
    queries.terminated(NAMES["query"], "run", NAMES["query-error"])


def _fill_registry(registry: EmbeddedRegistry) -> None:
    with Registry(registry.url) as client:
        for number in range(2):
            fields: list[dict[str, Any]] = [
                {"name": f"f{n}", "type": "string", "doc": NAMES["doc"], "default": NAMES["doc"]}
                for n in range(number + 1)
            ]
            schema = {"type": "record", "name": "R", "doc": NAMES["doc"], "fields": fields}
            client.register(NAMES["subject"], Schema(json.dumps(schema)))


def _checkpoint(folder: Path) -> Path:
    """In a folder that is named so, as well as a file system has it."""
    checkpoint = folder / NAMES["query"].replace("/", "|")
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True)
    (checkpoint / "metadata").write_text(json.dumps({"id": NAMES["query"]}))
    planned = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}})
    (checkpoint / "offsets" / "0").write_text(f"v1\n{planned}\n{json.dumps({TOPIC: {'0': 1}})}")
    return checkpoint


class SeenPage(HTMLParser):
    """What of a page leads elsewhere, and what would run in it."""

    def __init__(self, text: str, *, is_found: bool = True) -> None:
        super().__init__(convert_charrefs=True)
        self.is_found = is_found
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.harm: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        is_inline = tag == "script" and "src" not in said
        if MARK in said or is_inline or any(name.startswith("on") or name == "style" for name in said):
            self.harm.append(self.get_starttag_text() or tag)
        for name in ("href", "src", "action", "formaction", "hx-get", "hx-post", "data-url"):
            if name in said:
                self.addresses.append(said[name])
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        self.texts += said.values()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def crawled(page: Any, first: str = "/topics") -> Iterator[tuple[str, SeenPage]]:
    """All pages that links lead to, by a client of httpx, each kind of address with few of its variants."""
    waiting, seen = [first], {first}
    kinds: dict[str, int] = {}
    while waiting and len(seen) <= MOST_PAGES:
        path = waiting.pop(0)
        answer = page.get(path, follow_redirects=True)
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        shown = SeenPage(answer.text, is_found=answer.is_success)
        yield path, shown
        for link in shown.links:
            there = urljoin(str(answer.url), link.partition("#")[0])
            parts = urlsplit(there)
            kind = (
                re.sub(r"\d+", "0", parts.path) + "?" + ",".join(sorted(re.findall(r"(\w+)=", parts.query)))
            )
            kinds[kind] = kinds.get(kind, 0) + 1
            there = parts._replace(scheme="", netloc="").geturl()
            if parts.netloc == answer.url.netloc.decode() and there not in seen and kinds[kind] <= 3:
                seen.add(there)
                waiting.append(there)
