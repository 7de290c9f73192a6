"""Which faults meet a request: matching, counting, and chance by a seed. Pure.

Owns the rules that are in force, their counts, and what they follow. Knows nothing of what becomes of a
request.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from barnabas.broker.faults.rules import ENDING_EFFECTS, FaultRule, FaultRuleError


@dataclass(slots=True)
class RequestOutcome:
    """A request and how it ended. `duration_ms`: None while it is being answered. `error`: the first one that
    its answer has."""

    duration_ms: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """What rules look at in a request. `partitions`: of each topic that it names, by name or by id."""

    number: int
    api: str
    version: int
    node: int
    client_id: str
    client: str
    """Host and port."""
    partitions: Mapping[str, tuple[int, ...]]
    groups: tuple[str, ...] = ()
    transactional_id: str | None = None
    principal: str | None = None
    """None: a proxy does not know."""
    outcome: RequestOutcome = field(default_factory=RequestOutcome, compare=False)

    def as_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "api": self.api,
            "version": self.version,
            "node": self.node,
            "client_id": self.client_id,
            "client": self.client,
            "partitions": {topic: list(indexes) for topic, indexes in self.partitions.items()},
            "groups": list(self.groups),
            "transactional_id": self.transactional_id,
            "principal": self.principal,
            "duration_ms": self.outcome.duration_ms,
            "error": self.outcome.error,
        }


@dataclass(slots=True, eq=False)
class RuleInForce:
    """A rule and its counts: requests that matched, and those that it was applied to."""

    rule_id: str
    rule: FaultRule
    chance: random.Random
    matched: int = 0
    hits: int = 0
    hit_requests: list[int] = field(default_factory=list[int])
    """The numbers of the requests that it was applied to."""

    @property
    def is_used_up(self) -> bool:
        return self.rule.times is not None and self.hits >= self.rule.times

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.rule_id,
            "rule": self.rule.as_json(),
            "matched": self.matched,
            "hits": self.hits,
            "is_used_up": self.is_used_up,
            "requests": self.hit_requests,
        }


class RuleBook:
    """The rules in force, in the order in which they came. Equal seeds and requests give equal faults."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.rules: dict[str, RuleInForce] = {}
        self._count = 0

    def add(self, rule: FaultRule) -> RuleInForce:
        """Raises: FaultRuleError."""
        if rule.follows is not None:
            leader = self.rules.get(rule.follows)
            if leader is None:
                raise FaultRuleError(f"there is no fault {rule.follows} to follow")
            if leader.rule.times is None:
                raise FaultRuleError(f"fault {rule.follows} is never used up, so that nothing can follow it")
        self._count += 1
        rule_id = f"f{self._count}"
        added = RuleInForce(rule_id, rule, random.Random(f"{self.seed}/{rule_id}"))
        self.rules[rule_id] = added
        return added

    def remove(self, rule_id: str) -> RuleInForce:
        """Whatever follows it has its turn. Raises: FaultRuleError."""
        return self.rules.pop(self.find(rule_id).rule_id)

    def find(self, rule_id: str) -> RuleInForce:
        """Raises: FaultRuleError."""
        found = self.rules.get(rule_id)
        if found is None:
            raise FaultRuleError(f"there is no fault {rule_id}")
        return found

    def clear(self, seed: int | None = None) -> None:
        """Begins anew: what comes then is as if nothing had been before."""
        self.rules.clear()
        self._count = 0
        if seed is not None:
            self.seed = seed

    def meet(self, request: SeenRequest) -> list[RuleInForce]:
        """The rules to apply to a request, in order, and counts them. The first that ends it is the last."""
        met: list[RuleInForce] = []
        waiting = {rule_id for rule_id, each in self.rules.items() if self._waits(each.rule)}
        for each in self.rules.values():
            if each.rule_id in waiting or each.is_used_up or not matches(each.rule, request):
                continue
            each.matched += 1
            if each.matched <= each.rule.after:
                continue
            if each.rule.probability < 1 and each.chance.random() >= each.rule.probability:
                continue
            each.hits += 1
            each.hit_requests.append(request.number)
            met.append(each)
            if each.rule.effect in ENDING_EFFECTS:
                break
        return met

    def _waits(self, rule: FaultRule) -> bool:
        leader = None if rule.follows is None else self.rules.get(rule.follows)
        return leader is not None and not leader.is_used_up


def matches(rule: FaultRule, request: SeenRequest) -> bool:
    """Names of clients, topics, groups and transactional ids may be patterns with * and ?."""
    if rule.apis is not None and request.api not in rule.apis:
        return False
    if rule.node is not None and request.node != rule.node:
        return False
    if rule.client_id is not None and not fnmatchcase(request.client_id, rule.client_id):
        return False
    if rule.group is not None and not any(fnmatchcase(group, rule.group) for group in request.groups):
        return False
    if rule.transactional_id is not None and not fnmatchcase(
        request.transactional_id or "", rule.transactional_id
    ):
        return False
    return rule.topic is None or any(
        covers(rule, topic, index)
        for topic, indexes in request.partitions.items()
        for index in indexes or (None,)
    )


def covers(rule: FaultRule, topic: str, index: int | None) -> bool:
    """Whether a rule is about this partition; `index` None: about the topic."""
    if rule.topic is not None and not fnmatchcase(topic, rule.topic):
        return False
    return rule.partition is None or index is None or rule.partition == index


def is_meant(
    rule: FaultRule,
    topic: str | None,
    partition: int | None,
    group: str | None,
    transactional_id: str | None,
) -> bool:
    """Whether a rule is about this part of a request; what is None does not tell it from others."""
    if topic is not None and not covers(rule, topic, partition):
        return False
    return all(
        pattern is None or value is None or fnmatchcase(value, pattern)
        for pattern, value in ((rule.group, group), (rule.transactional_id, transactional_id))
    )
