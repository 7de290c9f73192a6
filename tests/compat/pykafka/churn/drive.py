"""The churn: six balanced consumers in one group, half of them of the genuine pykafka, under load.

Members are killed, paused, stopped and started, and ZooKeeper is started again once. Owns what is done when,
and the figures of what came of it; what they must be is for the test and the script to say.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from tests.compat.pykafka.churn.crew import Group, Member
from tests.compat.pykafka.churn.owners import OwnerTimeline

from barnabas import Producer
from barnabas.testing import ApacheKafka

PARTITIONS = 12
MEMBERS = 6
SESSION_TIMEOUT_MS = 4000
BACKOFF_MS = 1000
TOTAL_BACKOFF_SECONDS = (0 + 1 + 2 + 3) * BACKOFF_MS / 1000
"""What a member of pykafka waits at most, over its retries, for a partition that another has not given up."""

GRACE_SECONDS = 1.0
RECORDS_EACH_SECOND = 300
DRAIN_SECONDS = 90.0


@dataclass
class Figures:
    """What came of a churn."""

    seconds: float = 0.0
    events: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    produced: int = 0
    given: int = 0
    given_more_than_once: int = 0
    lost: list[tuple[int, int]] = field(default_factory=list)
    owned_twice: int = 0
    longest_without_node_seconds: float = 0.0
    longest_without_living_owner_seconds: float = 0.0
    ours_given_of_others: list[tuple[float, int, int]] = field(default_factory=list)
    genuine_given_of_others: int = 0


class OwnerWatcher:
    """Feeds a timeline with what ZooKeeper has, until `close`."""

    def __init__(self, hosts: str, group: Group, timeline: OwnerTimeline, crew: list[Member]) -> None:
        self._client = KazooClient(hosts, timeout=10)
        self._client.start()
        self._folder = f"/consumers/{group.name}/owners/{group.topic.encode()!r}"
        self._timeline = timeline
        self._crew = crew
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> OwnerWatcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._client.stop()
        self._client.close()

    def _watch(self) -> None:
        while not self._is_over.wait(0.05):
            began = time.time()
            try:
                owners = self._owners()
            except (KazooException, KazooTimeoutError):
                self._timeline.see_nothing(began)
                continue
            living = {
                member.consumer_id
                for member in list(self._crew)
                if member.is_alive and not member.is_paused and member.consumer_id is not None
            }
            self._timeline.see(time.time(), owners, living)

    def _owners(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        try:
            names = self._client.get_children_async(self._folder).get(timeout=1)
        except NoNodeError:
            return found
        for name, pending in [(name, self._client.get_async(f"{self._folder}/{name}")) for name in names]:
            try:
                owner = pending.get(timeout=1)[0].decode()
            except NoNodeError:
                continue
            found.setdefault(int(name.rpartition("-")[2]), []).append(owner)
        return found


class Load:
    """Writes records to all partitions in turn, until `close`."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer(bootstrap)
        self._topic = topic
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.ends = [0] * PARTITIONS

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._producer.close()

    def _write(self) -> None:
        while not self._is_over.wait(PARTITIONS / RECORDS_EACH_SECOND):
            deliveries = [
                self._producer.send(self._topic, b"x" * 100, partition=partition)
                for partition in range(PARTITIONS)
            ]
            for partition, delivery in enumerate(deliveries):
                self.ends[partition] = delivery.result(60).offset + 1


class Churn:
    def __init__(self, kafka: ApacheKafka, folder: Path, genuine_site: Path, seed: int) -> None:
        self._kafka = kafka
        self._folder = folder
        self._site = genuine_site
        self._random = random.Random(seed)
        self._group = Group(
            hosts=kafka.bootstrap,
            zookeeper=kafka.zookeeper,
            topic="churned",
            name="churn",
            session_timeout_ms=SESSION_TIMEOUT_MS,
            backoff_ms=BACKOFF_MS,
        )
        self._crew: list[Member] = []
        self._all: list[Member] = []
        self._resumes: dict[int, float] = {}
        self._starts: dict[int, float] = {}
        self.figures = Figures()

    def run(self, seconds: float, *, every_seconds: float = 5.0) -> Figures:
        timeline = OwnerTimeline(PARTITIONS)
        with Load(self._kafka.bootstrap, self._group.topic) as load:
            self._crew[:] = [self._started(place) for place in range(MEMBERS)]
            self._settle()
            with OwnerWatcher(self._kafka.zookeeper, self._group, timeline, self._all):
                begun = time.monotonic()
                self._churn(begun + seconds, every_seconds)
                self.figures.seconds = time.monotonic() - begun
                self._calm()
        self._drain(load.ends)
        for member in self._crew:
            member.stop()
        self._count(load.ends, timeline)
        return self.figures

    def _started(self, place: int) -> Member:
        """Places that are even are genuine, the others ours."""
        site = self._site if place % 2 == 0 else None
        member = Member(self._group, self._folder, len(self._all), site)
        self._all.append(member)
        return member

    def _settle(self) -> None:
        deadline = time.monotonic() + 60
        while any(member.consumer_id is None for member in self._crew):
            if time.monotonic() > deadline:
                raise TimeoutError(
                    "members did not start: " + str([m.errors.read_text() for m in self._crew])
                )
            self._replace_ended()
            time.sleep(0.1)

    def _churn(self, until: float, every_seconds: float) -> None:
        restart_at = time.monotonic() + (until - time.monotonic()) / 2
        next_event = time.monotonic() + every_seconds
        while (now := time.monotonic()) < until:
            if restart_at is not None and now >= restart_at:
                restart_at = None
                self.figures.events["ZooKeeper restarted"] += 1
                self._kafka.restart_zookeeper(away_seconds=1)
            if now >= next_event:
                next_event = now + every_seconds * self._random.uniform(0.5, 1.5)
                self._do(now)
            self._continue(now)
            time.sleep(0.05)

    def _do(self, now: float) -> None:
        place = self._random.randrange(MEMBERS)
        if place in self._resumes or place in self._starts:
            return
        what = self._random.choice(["killed", "killed", "paused", "stopped"])
        self.figures.events[what] += 1
        member = self._crew[place]
        if what == "paused":
            member.pause()
            self._resumes[place] = now + self._random.uniform(0.5, 2 * SESSION_TIMEOUT_MS / 1000)
            return
        if what == "killed":
            member.kill()
        else:
            member.stop()
        self._starts[place] = now + self._random.uniform(0, 3)

    def _continue(self, now: float) -> None:
        for place in [place for place, at in self._resumes.items() if at <= now]:
            del self._resumes[place]
            self._crew[place].resume()
        for place in [place for place, at in self._starts.items() if at <= now]:
            del self._starts[place]
            self._crew[place] = self._started(place)
        self._replace_ended()

    def _replace_ended(self) -> None:
        """What raised to its program is started anew, as whoever runs workers does."""
        for place, member in enumerate(self._crew):
            if place not in self._starts and not member.is_alive:
                self.figures.ends[f"{member.out.stem.partition('-')[0]}: {member.end}"] += 1
                self._crew[place] = self._started(place)

    def _calm(self) -> None:
        self._continue(float("inf"))
        deadline = time.monotonic() + SESSION_TIMEOUT_MS / 1000 + TOTAL_BACKOFF_SECONDS
        while time.monotonic() < deadline:
            self._continue(time.monotonic())
            time.sleep(0.1)

    def _drain(self, ends: list[int]) -> None:
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._lost(ends) and time.monotonic() < deadline:
            self._continue(time.monotonic())
            time.sleep(1)

    def _lost(self, ends: list[int]) -> list[tuple[int, int]]:
        given = {(partition, offset) for member in self._all for _, partition, offset in member.messages()}
        wanted = ((partition, offset) for partition in range(PARTITIONS) for offset in range(ends[partition]))
        return [place for place in wanted if place not in given]

    def _count(self, ends: list[int], timeline: OwnerTimeline) -> None:
        figures = self.figures
        figures.produced = sum(ends)
        given = Counter(
            (partition, offset) for member in self._all for _, partition, offset in member.messages()
        )
        figures.given = sum(given.values())
        figures.given_more_than_once = sum(count - 1 for count in given.values())
        figures.lost = self._lost(ends)
        figures.owned_twice = len(timeline.owned_twice)
        figures.longest_without_node_seconds = timeline.longest_without_node
        figures.longest_without_living_owner_seconds = timeline.longest_without_living_owner
        for member in self._all:
            others = timeline.given_to_others(
                member.messages_taken_while_awake(), member.consumer_id or "", GRACE_SECONDS
            )
            if member.is_ours:
                figures.ours_given_of_others += others
            else:
                figures.genuine_given_of_others += len(others)
