"""How the topics of two clusters differ. Pure; asks for nothing."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.values import frozen

ABSENT = "-"


@frozen
class TopicFacts:
    """`configs`: by name the value, and whether it is the topic's own and not its broker's default.
    `records`: from the first offset to the end; None: they are not compared."""

    partitions: int
    replication_factor: int
    configs: Mapping[str, tuple[str | None, bool]]
    records: int | None = None


@frozen
class TopicDifference:
    """Of one topic, in one thing. What is not there is `ABSENT`."""

    topic: str
    what: str
    here: str
    there: str


def differences(here: Mapping[str, TopicFacts], there: Mapping[str, TopicFacts]) -> list[TopicDifference]:
    """By topic. A setting counts where one of the two has a value of its own, so that brokers with other
    defaults do not make all topics differ."""
    found: list[TopicDifference] = []
    for name in sorted({*here, *there}):
        one, other = here.get(name), there.get(name)
        if one is None or other is None:
            found.append(TopicDifference(name, "topic", _there(one), _there(other)))
            continue
        for what, mine, its in (
            ("partitions", one.partitions, other.partitions),
            ("replication factor", one.replication_factor, other.replication_factor),
            ("records", one.records, other.records),
        ):
            if mine != its:
                found.append(TopicDifference(name, what, str(mine), str(its)))
        for setting in sorted({*one.configs, *other.configs}):
            (mine, is_own), (its, is_its_own) = (
                each.configs.get(setting, (None, False)) for each in (one, other)
            )
            if mine != its and (is_own or is_its_own):
                found.append(TopicDifference(name, setting, _shown(mine), _shown(its)))
    return found


def _there(facts: TopicFacts | None) -> str:
    return ABSENT if facts is None else "there"


def _shown(value: str | None) -> str:
    return ABSENT if value is None else value
