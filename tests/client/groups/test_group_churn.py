"""Members of a group that are processes, which come, leave, freeze and are killed: invariants 8 to 10."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas import Consumer, TopicPartition
from barnabas.testing import ApacheKafka

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Eventually = Callable[..., Any]

MEMBER = Path(__file__).with_name("group_member.py")
PARALLEL_MEMBER = Path(__file__).with_name("parallel_member.py")
PARTITIONS = 4
SESSION_MS = 1500
# Counted from when all members are there. A killed member is missed after its session, and the others divide
# its partitions in one round or two: 2 s on an idle machine. What waits for another time-out (of a request,
# 30 s, or of a rebalance, five minutes) takes longer than a machine ten times as slow.
OWNED_AGAIN_SECONDS = 20.0
START_SECONDS = 60.0

CLASSIC = {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 200}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "eager": {**CLASSIC, "partition_assignment_strategy": "range"},
    "cooperative": {**CLASSIC, "partition_assignment_strategy": "cooperative-sticky"},
    "consumer": {"group_protocol": "consumer"},
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    """With sessions of the consumer protocol, which are the broker's to set, as short as those of CLASSIC."""
    config = {
        "group.consumer.min.session.timeout.ms": str(SESSION_MS),
        "group.consumer.session.timeout.ms": str(SESSION_MS),
        "group.consumer.heartbeat.interval.ms": "200",
    }
    with ApacheKafka(config=config) as kafka:
        yield kafka


@dataclass(frozen=True, slots=True)
class Tenure:
    """That a member had a partition, as it saw that itself, up to when it was stopped."""

    member: Member
    partition: int
    start: float
    end: float
    generation: int
    """In which it got the partition."""


class Member:
    """A process, and the diary that it keeps."""

    def __init__(self, command: list[str], diary: Path) -> None:
        self.diary = diary
        self.process = subprocess.Popen([sys.executable, *command])
        self.gone_at: float | None = None
        """Since when it does nothing any more, by our doing."""
        self.is_leaving = False
        self.read: list[tuple[int, int]] = []
        """Partition and offset of each record."""
        self._events: list[tuple[float, str, list[str]]] = []
        self._diary_bytes = 0

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.is_leaving = number == signal.SIGTERM
        if number in (signal.SIGKILL, signal.SIGSTOP):
            self.gone_at = time.monotonic()

    def events(self) -> list[tuple[float, str, list[str]]]:
        """All but the records, which are many: they are in `read`."""
        if self.diary.exists():
            with self.diary.open("rb") as diary:
                diary.seek(self._diary_bytes)
                lines, end, _ = diary.read().rpartition(b"\n")
            self._diary_bytes += len(lines) + len(end)
            for line in lines.decode().splitlines():
                at, event, *rest = line.split(" ")
                if event == "read":
                    self.read.append((int(rest[0]), int(rest[1])))
                else:
                    self._events.append((float(at), event, rest))
        return self._events

    @property
    def up_at(self) -> float | None:
        return next((at for at, event, _ in self.events() if event == "up"), None)

    def tenures(self) -> list[Tenure]:
        ended: list[Tenure] = []
        since: dict[int, tuple[float, int]] = {}
        generation = -1

        def end(partition: int, at: float) -> None:
            if partition in since:
                ended.append(Tenure(self, partition, since[partition][0], at, since.pop(partition)[1]))

        for at, event, rest in self.events():
            if self.gone_at is not None and at > self.gone_at:
                break
            if event == "generation":
                generation = int(rest[0])
            elif event == "assigned":
                since |= {int(partition): (at, generation) for partition in rest}
            elif event in ("revoked", "lost"):
                for partition in rest:
                    end(int(partition), at)
        for partition in list(since):
            end(partition, time.monotonic() if self.gone_at is None else self.gone_at)
        return ended

    def owned(self) -> set[int]:
        if self.gone_at is not None:
            return set()
        now = time.monotonic()
        return {tenure.partition for tenure in self.tenures() if tenure.end >= now}

    def stayed_until(self, generation: int, since: float) -> bool:
        """Whether it was one and the same member from then on until this generation or a later one."""
        changes = [(at, rest[0], rest[1]) for at, event, rest in self.events() if event == "generation"]
        then = [(int(number), member_id) for at, number, member_id in changes if at <= since][-1:]
        after = [(int(number), member_id) for at, number, member_id in changes if at > since]
        same = itertools.takewhile(lambda change: change[1] == then[0][1], then + after)
        return any(number >= generation for number, _ in same)


class Crowd:
    """All members that there ever were of one group."""

    def __init__(self, kafka: ApacheKafka, topic: str, directory: Path, settings: dict[str, Any]) -> None:
        self.name = f"group-{uuid.uuid4().hex[:12]}"
        self.members: list[Member] = []
        self._kafka = kafka
        self._topic = topic
        self._directory = directory
        self._settings = {
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "max_poll_records": 20,
            **settings,
        }

    @property
    def present(self) -> list[Member]:
        return [m for m in self.members if m.gone_at is None and not m.is_leaving]

    def start(self) -> None:
        diary = self._directory / f"member-{len(self.members)}"
        settings = json.dumps(self._settings)
        command = [str(MEMBER), self._kafka.bootstrap, self.name, self._topic, str(diary), settings]
        self.members.append(Member(command, diary))

    def is_divided(self) -> bool:
        """Whether every partition has one owner, and every member that is there some."""
        owned = [member.owned() for member in self.present]
        return sum(map(len, owned)) == PARTITIONS == len(set().union(*owned)) and all(owned)

    def wait_until_divided(self) -> None:
        """Within OWNED_AGAIN_SECONDS from now, or from when the last member has started."""
        self._wait_until(lambda: all(m.up_at is not None for m in self.present), START_SECONDS)
        self._wait_until(self.is_divided, OWNED_AGAIN_SECONDS)

    def _wait_until(self, is_so: Callable[[], bool], seconds: float) -> None:
        patience = Patience(seconds)
        while not is_so():
            ends = [m.process.poll() for m in self.present]
            assert not any(end is not None for end in ends), f"a member has ended by itself\n{self.account()}"
            patience.pause(self.account)

    def account(self) -> str:
        """What each member noted, but for records; for who has to find out what went wrong."""
        lines: list[str] = []
        for number, member in enumerate(self.members):
            code, gone_at = member.process.poll(), member.gone_at
            lines.append(
                f"member {number}: exit status {code}, stopped at {gone_at}, {len(member.read)} read"
            )
            lines += [f"    {at:.3f} {event} {' '.join(rest)}" for at, event, rest in member.events()]
        return "\n".join(lines)

    def stop(self) -> None:
        for member in self.members:
            member.process.kill()
            member.process.wait()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_partition_has_two_owners_and_each_is_owned_again_soon(
    protocol: str,
    kafka: ApacheKafka,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    eventually: Eventually,
    tmp_path: Path,
) -> None:
    topic = make_topic(kafka, PARTITIONS)
    for partition in range(PARTITIONS):
        fill_topic(kafka, topic, [b"x"] * 20_000, partition)
    crowd = Crowd(kafka, topic, tmp_path, PROTOCOLS[protocol])
    random_ = random.Random(protocol)
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    history: list[dict[TopicPartition, int]] = []
    frozen: Member | None = None

    def note_committed(observer: Consumer) -> dict[TopicPartition, int]:
        committed = observer.committed(partitions)
        history.append({p: 0 if at is None else at.offset for p, at in committed.items()})
        return history[-1]

    try:
        crowd.start()
        crowd.start()
        crowd.wait_until_divided()
        with Consumer(kafka.bootstrap, group_id=crowd.name) as observer:
            for action in ("start", "kill", "leave", "start", "freeze", "start", "kill", "start", "thaw"):
                if action == "start":
                    crowd.start()
                elif action == "thaw":
                    assert frozen is not None
                    frozen.send(signal.SIGCONT)
                else:
                    member = random_.choice(crowd.present)
                    signals = {"kill": signal.SIGKILL, "leave": signal.SIGTERM, "freeze": signal.SIGSTOP}
                    member.send(signals[action])
                    if action == "leave":
                        assert member.process.wait(START_SECONDS) == 0, crowd.account()
                    if action == "freeze":
                        frozen = member
                note_committed(observer)
                if action != "thaw":
                    crowd.wait_until_divided()
            # Whoever has two partitions reads all that is fetched of one before it turns to the other.
            eventually(lambda: all(note_committed(observer).values()), timeout=60)
        assert frozen is not None
        thawed = frozen
        # Back from the dead it may still believe that it owns partitions, but it cannot commit.
        eventually(lambda: {"lost", "refused"} & {event for _, event, _ in thawed.events()}, timeout=60)
        thawed.gone_at = thawed.gone_at or time.monotonic()
    finally:
        crowd.stop()
    print(crowd.account())
    check_owners(crowd)
    for before, after in itertools.pairwise(history):
        assert all(before[partition] <= after[partition] for partition in partitions)
    check_nothing_was_passed_over(crowd, {p.partition: offset for p, offset in history[-1].items()})


def check_owners(crowd: Crowd) -> None:
    """A member that the group has given up, since it was not heard of for a session, may believe for a moment
    that it still has them; one that stays has let go of a partition before another gets it."""
    by_partition: defaultdict[int, list[Tenure]] = defaultdict(list)
    for member in crowd.members:
        for tenure in member.tenures():
            by_partition[tenure.partition].append(tenure)
    assert len(by_partition) == PARTITIONS
    for tenures in by_partition.values():
        for earlier, later in itertools.permutations(tenures, 2):
            if earlier.member is not later.member and earlier.start <= later.start < earlier.end:
                stayed = earlier.member.stayed_until(later.generation, earlier.start)
                assert not stayed, f"{earlier}, {later}\n{crowd.account()}"


def check_nothing_was_passed_over(crowd: Crowd, committed: dict[int, int]) -> None:
    """Whatever was committed had been read by somebody."""
    read: defaultdict[int, set[int]] = defaultdict(set)
    for member in crowd.members:
        member.events()
        for partition, offset in member.read:
            read[partition].add(offset)
    for partition, offset in committed.items():
        assert offset > 0
        assert read[partition] >= set(range(offset)), partition


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_parallel_members_that_are_killed_lose_nothing_and_keep_every_keys_order(
    protocol: str,
    kafka: ApacheKafka,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    eventually: Eventually,
    tmp_path: Path,
) -> None:
    topic, group = make_topic(kafka, 3), f"group-{uuid.uuid4().hex[:12]}"
    records = [{"value": b"%d" % n, "key": b"k%d" % (n % 7)} for n in range(1500)]
    for partition in range(3):
        fill_topic(kafka, topic, records, partition)
    notes = tmp_path / "notes"
    notes.touch()
    members: list[Member] = []

    def start() -> None:
        arguments = [kafka.bootstrap, group, topic, str(notes), protocol]
        members.append(Member([str(PARALLEL_MEMBER), *arguments], notes))

    def count() -> int:
        return notes.read_bytes().count(b"\n")

    try:
        start()
        for round_number in range(3):
            seen = count()
            eventually(lambda seen=seen: count() >= seen + 300, timeout=80)
            start()
            if round_number:
                members[round_number - 1].send(signal.SIGKILL)
        eventually(lambda: len(set(notes.read_bytes().splitlines())) == 4500, timeout=120)
    finally:
        for member in members:
            member.process.kill()
            member.process.wait()
    by_key: defaultdict[tuple[bytes, bytes], list[int]] = defaultdict(list)
    for line in notes.read_bytes().splitlines():
        number, offset, key = line.split(b" ")
        by_key[number, key].append(int(offset))
    assert len(by_key) == 21
    for handled in by_key.values():
        # A restart goes back to an earlier record of a key, never over one that was not handled.
        places = {offset: place for place, offset in enumerate(sorted(set(handled)))}
        reached = -1
        for offset in handled:
            assert places[offset] <= reached + 1
            reached = max(reached, places[offset])
