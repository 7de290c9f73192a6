"""The churn: six balanced consumers in one group, half of them of the genuine pykafka, under load.

Members are killed, paused, stopped and started, and ZooKeeper is started again once. Owns what is done when,
and the figures of what came of it, which are from what members wrote down and from ZooKeeper's own log: no
watcher is cut off together with the members.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.compat.pykafka.churn.crew import Group, Member
from tests.compat.pykafka.churn.owners import OwnerTimeline, Span
from tests.compat.pykafka.churn.transactions import node_changes

from barnabas import Producer
from barnabas.testing import ApacheKafka

PARTITIONS = 12
MEMBERS = 6
SESSION_TIMEOUT_MS = 4000
BACKOFF_MS = 1000
TOTAL_BACKOFF_SECONDS = (0 + 1 + 2 + 3) * BACKOFF_MS / 1000
"""What a member of pykafka waits at most, over its retries, for a partition that another has not given up."""

LOOK_SECONDS = 2.0
"""What machines under load take between an event and that a member has heard of it."""

RECORDS_EACH_SECOND = 300
DRAIN_SECONDS = 90.0


@dataclass
class Figures:
    """What came of a churn."""

    seconds: float = 0.0
    events: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    """What members raised to their program, by whose they were."""
    produced: int = 0
    given: int = 0
    given_more_than_once: int = 0
    lost: list[tuple[int, int]] = field(default_factory=list)
    owned_twice: list[tuple[float, int, str, str]] = field(default_factory=list)
    longest_unnoticed_seconds: float = 0.0
    """A partition was claimed by one that was dead or paused."""
    longest_gap_seconds: float = 0.0
    """Nobody that lived owned a partition, whatever happened meanwhile."""
    longest_undisturbed_gap_seconds: float = 0.0
    """The same, since members came or went last."""
    gaps_over_limit: list[str] = field(default_factory=list)
    ours_given_of_others: list[tuple[float, int, int]] = field(default_factory=list)
    """Messages of partitions that were not the member's at any moment of the call for them."""
    ours_in_hand: int = 0
    """Messages of partitions that were, but were not any more when the call returned."""
    genuine_given_of_others: int = 0
    genuine_in_hand: int = 0

    def complaints(self) -> list[str]:
        """What must not be."""
        rules = {
            "messages were lost": self.lost,
            "partitions were owned twice": self.owned_twice,
            "ours were given what was others'": self.ours_given_of_others,
            "a member that was away was not missed in time": (
                self.longest_unnoticed_seconds > SESSION_TIMEOUT_MS / 1000 + LOOK_SECONDS
            ),
            "a partition was without an owner for too long": self.gaps_over_limit,
        }
        return [f"{rule}: {found}" for rule, found in rules.items() if found]


def kafka_to_churn(folder: Path) -> ApacheKafka:
    """A broker whose ZooKeeper keeps its log in `folder`."""
    return ApacheKafka("2.8.2", data_dir=folder / "kafka", config={"num.partitions": str(PARTITIONS)})


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
    """`kafka`: of `kafka_to_churn(folder)`. `is_genuine`: of which places members are genuine."""

    def __init__(
        self,
        kafka: ApacheKafka,
        folder: Path,
        genuine_site: Path,
        seed: int,
        is_genuine: Callable[[int], bool] = lambda place: place % 2 == 0,
    ) -> None:
        self._kafka = kafka
        self._folder = folder
        self._site = genuine_site
        self._random = random.Random(seed)
        self._is_genuine = is_genuine
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
        self._zookeeper_away: list[Span] = []
        self.figures = Figures()

    def run(self, seconds: float, *, every_seconds: float = 5.0) -> Figures:
        with Load(self._kafka.bootstrap, self._group.topic) as load:
            self._crew[:] = [self._started(place) for place in range(MEMBERS)]
            self._settle()
            begun_at = time.time()
            self._churn(time.monotonic() + seconds, every_seconds)
            self.figures.seconds = time.time() - begun_at
            self._calm()
        ended_at = time.time()
        self._drain(load.ends)
        for member in self._crew:
            member.stop()
        self._count(load.ends, begun_at, ended_at)
        return self.figures

    def _started(self, place: int) -> Member:
        site = self._site if self._is_genuine(place) else None
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
                away_since = time.time()
                self._kafka.restart_zookeeper(away_seconds=1)
                self._zookeeper_away.append((away_since, time.time()))
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
                member.is_over(time.time())
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
        given = {(partition, offset) for member in self._all for _, _, partition, offset in member.messages()}
        wanted = ((partition, offset) for partition in range(PARTITIONS) for offset in range(ends[partition]))
        return [place for place in wanted if place not in given]

    def _count(self, ends: list[int], begun_at: float, ended_at: float) -> None:
        figures = self.figures
        figures.produced = sum(ends)
        given = Counter((each.partition, each.offset) for member in self._all for each in member.messages())
        figures.given = sum(given.values())
        figures.given_more_than_once = sum(count - 1 for count in given.values())
        figures.lost = self._lost(ends)
        log = self._folder / "kafka" / "zookeeper" / "data"
        timeline = OwnerTimeline.of(node_changes(log), self._group.name, PARTITIONS)
        asleep = {member.consumer_id or "": member.asleep for member in self._all}
        figures.owned_twice = timeline.owned_twice()
        figures.longest_unnoticed_seconds = max(
            each[0] for each in timeline.unnoticed(asleep, self._zookeeper_away)
        )
        gaps = list(timeline.gaps(begun_at, ended_at, asleep, self._zookeeper_away))
        figures.longest_gap_seconds = max(gap.seconds for gap in gaps)
        figures.longest_undisturbed_gap_seconds = max(gap.seconds_undisturbed for gap in gaps)
        kinds = {member.consumer_id: member.out.stem for member in self._all}
        figures.gaps_over_limit = [
            f"partition {gap.partition} from {gap.begin:.3f}, {gap.seconds:.1f} s, undisturbed for "
            f"{gap.seconds_undisturbed:.1f} s, owed to {kinds.get(gap.owed_to)}"
            for gap in gaps
            if gap.seconds_undisturbed > TOTAL_BACKOFF_SECONDS + LOOK_SECONDS
        ]
        for member in self._all:
            self._judge(member, timeline)

    def _judge(self, member: Member, timeline: OwnerTimeline) -> None:
        figures, name = self.figures, member.consumer_id or ""
        for each in member.messages():
            if timeline.owned_within(each.partition, name, each.at, each.at):
                continue
            was_its_own = timeline.owned_within(each.partition, name, each.asked_at, each.at)
            if member.is_ours and was_its_own:
                figures.ours_in_hand += 1
            elif member.is_ours:
                figures.ours_given_of_others.append((each.at, each.partition, each.offset))
            elif was_its_own:
                figures.genuine_in_hand += 1
            else:
                figures.genuine_given_of_others += 1
