"""The algorithm of the sticky assignors: even shares first, then as few changes of owner as possible.

Owns the search; knows nothing of how members tell what they owned.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from barnabas.assignor import NO_RACKS, PartitionRacks
from barnabas.types import TopicPartition


class RackMatch:
    """Which members are in a rack that has a replica of a partition (KIP-881)."""

    def __init__(self, racks: PartitionRacks, member_racks: Mapping[str, str | None]) -> None:
        self._racks = racks if any(member_racks.values()) else NO_RACKS
        self._member_racks = member_racks

    def is_known(self, partition: TopicPartition) -> bool:
        return partition in self._racks

    def matches(self, member: str, partition: TopicPartition) -> bool:
        """A member without a rack is as near to one replica as to the other."""
        rack = self._member_racks.get(member)
        return rack is None or partition not in self._racks or rack in self._racks[partition]


class Claim(NamedTuple):
    """What a member says that it owned, and in which generation of the group; -1 is older than all."""

    member_id: str
    generation: int
    owned: Sequence[TopicPartition]


def assign_sticky(
    partition_counts: Mapping[str, int],
    subscriptions: Mapping[str, Sequence[str]],
    claims: Sequence[Claim],
    rack_match: RackMatch,
) -> dict[str, list[TopicPartition]]:
    """Each partition of each subscribed topic to one subscriber.

    The shares cannot be made more even, whatever the subscriptions: no chain of hand-overs leads from one
    member to another that has at least two partitions fewer. Where racks are known, a member keeps and gets
    what its rack has a replica of, as far as its share allows.
    """
    return _Search(partition_counts, subscriptions, claims, rack_match).result()


class _Search:
    def __init__(
        self,
        partition_counts: Mapping[str, int],
        subscriptions: Mapping[str, Sequence[str]],
        claims: Sequence[Claim],
        rack_match: RackMatch,
    ) -> None:
        self._rack_match = rack_match
        self._members_of: defaultdict[str, list[str]] = defaultdict(list)
        for member, topics in subscriptions.items():
            for topic in dict.fromkeys(topics):
                if partition_counts.get(topic, 0) > 0:
                    self._members_of[topic].append(member)
        self._partition_counts = partition_counts
        self._previous_owner = _previous_owners(claims)
        # member -> topic -> its partitions
        self._held: dict[str, defaultdict[str, set[int]]] = {m: defaultdict(set) for m in subscriptions}
        self._share = dict.fromkeys(subscriptions, 0)

    def result(self) -> dict[str, list[TopicPartition]]:
        self._give_out(self._keep_what_was_owned())
        self._even_out()
        return {
            member: [TopicPartition(topic, p) for topic in sorted(held) for p in sorted(held[topic])]
            for member, held in self._held.items()
        }

    def _keep_what_was_owned(self) -> list[TopicPartition]:
        """Partitions that nobody keeps."""
        unowned: list[TopicPartition] = []
        for topic, members in self._members_of.items():
            subscribed = set(members)
            for number in range(self._partition_counts[topic]):
                partition = TopicPartition(topic, number)
                owner = self._previous_owner.get(partition)
                if owner in subscribed and not self._is_nearer_elsewhere(owner, partition):
                    self._add(owner, partition)
                else:
                    unowned.append(partition)
        return unowned

    def _is_nearer_elsewhere(self, owner: str, partition: TopicPartition) -> bool:
        return not self._rack_match.matches(owner, partition) and any(
            self._rack_match.matches(member, partition) for member in self._members_of[partition.topic]
        )

    def _give_out_by_rack(self, unowned: list[TopicPartition]) -> list[TopicPartition]:
        """Each to the subscriber in its racks with the smallest share, up to an even one; those left over."""
        near_of = {
            partition: [
                m for m in self._members_of[partition.topic] if self._rack_match.matches(m, partition)
            ]
            for partition in unowned
            if self._rack_match.is_known(partition)
        }
        total = sum(self._partition_counts[topic] for topic in self._members_of)
        even_share, larger_shares = divmod(total, max(1, len(self._share)))
        larger_shares -= sum(share > even_share for share in self._share.values())
        given: set[TopicPartition] = set()
        # Those that few members are near to have the first choice.
        for partition in sorted(near_of, key=lambda partition: len(near_of[partition])):
            member = min(near_of[partition], key=lambda member: self._share[member], default=None)
            if member is None or self._share[member] >= even_share + (larger_shares > 0):
                continue
            larger_shares -= self._share[member] == even_share
            self._add(member, partition)
            given.add(partition)
        return [partition for partition in unowned if partition not in given]

    def _give_out(self, unowned: list[TopicPartition]) -> None:
        """Each to the subscriber with the smallest share; topics with few subscribers go first."""
        by_topic: defaultdict[str, list[TopicPartition]] = defaultdict(list)
        for partition in self._give_out_by_rack(unowned):
            by_topic[partition.topic].append(partition)
        for topic in sorted(by_topic, key=lambda topic: (len(self._members_of[topic]), topic)):
            queue = [(self._share[m], order, m) for order, m in enumerate(self._members_of[topic])]
            heapify(queue)
            for partition in by_topic[topic]:
                share, order, member = heappop(queue)
                self._add(member, partition)
                heappush(queue, (share + 1, order, member))

    def _even_out(self) -> None:
        """Hands partitions on along chains of members until no chain makes the shares more even.

        That is when shares are optimal for a semi-matching (Harvey, Ladner, Lovász and Tamir 2006). A direct
        hand-over alone, as in Java, can stop short of it when members subscribe to different topics.
        """
        candidates = set(self._share)
        while candidates:
            largest = max(candidates, key=lambda member: self._share[member])
            if self._share[largest] <= min(self._share.values()) + 1:
                return
            chain = self._chain_from(largest)
            if chain is None:
                candidates.discard(largest)
                continue
            for giver, taker, topic in chain:
                self._hand_over(giver, taker, topic)
            candidates = set(self._share)

    def _chain_from(self, largest: str) -> list[tuple[str, str, str]] | None:
        """Steps (giver, taker, topic) from `largest` to a member with at least two partitions fewer."""
        enough = self._share[largest] - 2
        came_from: dict[str, tuple[str, str]] = {}
        seen_topics: set[str] = set()
        queue = deque([largest])
        while queue:
            giver = queue.popleft()
            reached: list[str] = []
            for topic, partitions in self._held[giver].items():
                if not partitions or topic in seen_topics:
                    continue
                seen_topics.add(topic)
                for taker in self._members_of[topic]:
                    if taker != largest and taker not in came_from:
                        came_from[taker] = (giver, topic)
                        reached.append(taker)
            if reached:
                smallest = min(reached, key=lambda member: self._share[member])
                if self._share[smallest] <= enough:
                    return _steps(came_from, largest, smallest)
                queue.extend(reached)
        return None

    def _hand_over(self, giver: str, taker: str, topic: str) -> None:
        """Of the giver's partitions: one that is nearer to the taker, then one that the taker had before,
        else one that is new to the giver."""

        def loss(number: int) -> tuple[int, int, int]:
            partition = TopicPartition(topic, number)
            distance = self._rack_match.matches(giver, partition) - self._rack_match.matches(taker, partition)
            owner = self._previous_owner.get(partition)
            return distance, (0 if owner == taker else 2 if owner == giver else 1), -number

        number = min(self._held[giver][topic], key=loss)
        self._held[giver][topic].remove(number)
        self._share[giver] -= 1
        self._add(taker, TopicPartition(topic, number))

    def _add(self, member: str, partition: TopicPartition) -> None:
        self._held[member][partition.topic].add(partition.partition)
        self._share[member] += 1


def _previous_owners(claims: Sequence[Claim]) -> dict[TopicPartition, str]:
    """The claim of the latest generation wins; what is claimed twice in one generation belongs to nobody."""
    latest: dict[TopicPartition, int] = {}
    owners: dict[TopicPartition, str] = {}
    for claim in claims:
        for topic, number in claim.owned:
            partition = TopicPartition(topic, number)
            known = latest.get(partition)
            if known is None or claim.generation > known:
                latest[partition] = claim.generation
                owners[partition] = claim.member_id
            elif claim.generation == known and owners.get(partition) != claim.member_id:
                owners.pop(partition, None)
    return owners


def _steps(came_from: dict[str, tuple[str, str]], start: str, end: str) -> list[tuple[str, str, str]]:
    """The chain, last step first, so that nobody holds one partition more than before in between."""
    steps: list[tuple[str, str, str]] = []
    taker = end
    while taker != start:
        giver, topic = came_from[taker]
        steps.append((giver, taker, topic))
        taker = giver
    return steps
