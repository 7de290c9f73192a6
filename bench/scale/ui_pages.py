"""How long the pages of `barnabas ui` take on a large cluster: 10,000 topics, and one of 1,000 partitions.

    python -m bench.scale.ui_pages [--topics 10000] [--looks 12] [--json]

The broker is an embedded one in a process of its own; the page runs here, and is asked without a browser.
Between two looks the page's own figures grow old, as they do for a person who goes from page to page.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from starlette.testclient import TestClient

from barnabas import Admin, Consumer, NewTopic
from barnabas.testing import EmbeddedBroker
from barnabas.ui.app import make_app
from barnabas.ui.settings import UiSettings

TOPICS_AT_ONCE = 1000
GROUPS = 20
TOPICS_OF_A_GROUP = 50
PARTITIONS_OF_WIDE = 1000
PAUSE_SECONDS = 0.3
GOAL_MS = 300
PAGES = (
    "/topics",
    "/topics?page=50",
    "/topics?q=99",
    "/topics?sort=partitions",
    "/topics?sort=lag",
    "/topics?sort=size",
    "/topics?problems=1",
    "/topics/topic-00001",
    "/topics/wide",
    "/topics/wide?page=7",
    "/topics/wide/producers",
    "/topics/wide/settings",
    "/topics/wide/records",
    "/topics/wide/delete-records",
    "/groups",
    "/group?id=wide-group",
    "/cluster",
    "/cluster/log-dirs",
    "/cluster/log-dirs?topic=wide",
    "/cluster/quorum",
    "/cluster/acls",
)


@dataclass
class PageTimes:
    """Milliseconds of a page's looks; `first_ms` is that of the first."""

    path: str
    first_ms: float
    median_ms: float
    worst_ms: float
    kibibytes: float


@contextmanager
def large_cluster(topics: int) -> Generator[str]:
    with EmbeddedBroker() as broker:
        with Admin(broker.bootstrap, request_timeout_ms=120_000, default_api_timeout_ms=240_000) as admin:
            for begin in range(0, topics, TOPICS_AT_ONCE):
                some = range(begin, min(begin + TOPICS_AT_ONCE, topics))
                admin.create_topics([NewTopic(f"topic-{number:05}", 1, 1) for number in some])
            admin.create_topics([NewTopic("wide", PARTITIONS_OF_WIDE, 1)])
        for number in range(GROUPS):
            first = number * TOPICS_OF_A_GROUP
            read = range(first, min(first + TOPICS_OF_A_GROUP, topics))
            with Consumer(broker.bootstrap, group_id=f"group-{number}") as consumer:
                consumer.commit({(f"topic-{each:05}", 0): 0 for each in read})
        with Consumer(broker.bootstrap, group_id="wide-group") as consumer:
            consumer.commit({("wide", partition): 0 for partition in range(PARTITIONS_OF_WIDE)})
        yield broker.bootstrap


def looked_at(page: TestClient, path: str, looks: int) -> PageTimes:
    taken: list[float] = []
    size = 0
    for _ in range(looks):
        began = time.perf_counter()
        answer = page.get(path)
        taken.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, (path, answer.status_code)
        size = len(answer.content)
        time.sleep(PAUSE_SECONDS)
    return PageTimes(path, taken[0], statistics.median(taken), max(taken), size / 1024)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scale.ui_pages", description=__doc__)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--looks", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found: list[PageTimes] = []
    with large_cluster(arguments.topics) as bootstrap:
        app = make_app(UiSettings(client={"bootstrap_servers": bootstrap}))
        with TestClient(app, base_url="http://127.0.0.1") as page:
            for path in PAGES:
                found.append(looked_at(page, path, arguments.looks))
                print(f"bench: {found[-1]}", file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps([asdict(each) for each in found]))
        return 0
    print(
        f"{arguments.topics:,} topics, {arguments.looks} looks; load of the machine {os.getloadavg()[0]:.1f}"
    )
    print("| page | first, ms | median, ms | worst, ms | KiB |")
    print("|---|---:|---:|---:|---:|")
    for each in found:
        print(
            f"| `{each.path}` | {each.first_ms:.0f} | {each.median_ms:.0f} | {each.worst_ms:.0f} "
            f"| {each.kibibytes:.0f} |"
        )
    late = [each.path for each in found if each.worst_ms > GOAL_MS]
    print(f"over {GOAL_MS} ms at worst: {', '.join(late) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
