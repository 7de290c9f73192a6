"""Dead letters: which of them a replay chooses, and how far replays have come.

How far they have come is a group's committed offset in each partition, and JSON in the metadata beside it: so
that one transaction can hold both that and the letters that were sent. A letter's headers never change, so
what an earlier replay has sent is known by what it chose. Must not know clients.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from barnabas import TopicPartition
from barnabas.records.asked import UsageError
from barnabas.records.dead_letters.conventions import DeadLetter, Origin
from barnabas.types import OffsetAndMetadata
from barnabas.values import frozen

# Brokers take 4096 bytes of metadata (offset.metadata.max.bytes).
MOST_METADATA_BYTES = 4096


@frozen
class Choice:
    """Which letters a replay sends: all, but for what is given. `error` is a part of the text; times are in
    milliseconds since 1970, `until` exclusive."""

    error: str | None = None
    query: str | None = None
    topic: str | None = None
    since: int | None = None
    until: int | None = None

    def holds(self, letter: DeadLetter) -> bool:
        return (
            (self.error is None or self.error in letter.error)
            and (self.query is None or self.query == letter.query)
            and (self.topic is None or self.topic == letter.origin.topic)
            and (self.since is None or letter.read_at >= self.since)
            and (self.until is None or letter.read_at < self.until)
        )

    @property
    def is_all(self) -> bool:
        return self == Choice()

    def document(self) -> dict[str, Any]:
        names = ("error", "query", "topic", "since", "until")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@frozen
class Sent:
    """A replay that is done: it sent what it chose of the letters before `end`."""

    choice: Choice
    end: int


@frozen
class BrokenOff:
    """A replay that was broken off: what it chose of the letters before `end` is sent up to `after`, in the
    order of origins. `to`: where to, if not where they came from; `edit`: which changes were made to them."""

    choice: Choice
    to: str | None
    end: int
    after: Origin
    edit: str | None = None


@frozen
class Account:
    """How far replays have come in one partition of dead letters. All before `base` are done with."""

    base: int
    sent: tuple[Sent, ...] = ()
    broken_off: BrokenOff | None = None

    def is_done(self, offset: int, letter: DeadLetter) -> bool:
        """Whether an earlier replay has sent it."""
        return offset < self.base or any(
            offset < earlier.end and earlier.choice.holds(letter) for earlier in self.sent
        )

    def at(self, choice: Choice, to: str | None, end: int, after: Origin, edit: str | None = None) -> Account:
        """While a replay is under way."""
        return Account(self.base, self.sent, BrokenOff(choice, to, end, after, edit))

    def after(self, choice: Choice, end: int) -> Account:
        """When a replay is done."""
        if choice.is_all:
            return Account(max(self.base, end))
        others = tuple(earlier for earlier in self.sent if earlier.choice != choice)
        return Account(self.base, (*others, Sent(choice, end)))

    def committed(self) -> OffsetAndMetadata:
        """Raises: UsageError where brokers would refuse it."""
        document: dict[str, Any] = {}
        if self.sent:
            document["sent"] = [{"end": each.end, **each.choice.document()} for each in self.sent]
        if self.broken_off is not None:
            now = self.broken_off
            document["now"] = {"end": now.end, "after": now.after, **now.choice.document()}
            for name in ("to", "edit"):
                if getattr(now, name) is not None:
                    document["now"][name] = getattr(now, name)
        text = json.dumps(document, separators=(",", ":")) if document else ""
        if len(text.encode()) > MOST_METADATA_BYTES:
            raise UsageError(
                "there were too many replays of different choices to keep account of them: replay all that "
                "is left, without a choice, or begin a new account with --group"
            )
        return OffsetAndMetadata(self.base, text)


def account_of(committed: OffsetAndMetadata | None, partition: TopicPartition) -> Account:
    """Raises: UsageError where the group was committed to by somebody else."""
    if committed is None:
        return Account(0)
    if not committed.metadata:
        return Account(committed.offset)
    try:
        document = json.loads(committed.metadata)
        sent = tuple(Sent(_choice(each), each["end"]) for each in document.get("sent", ()))
        now = document.get("now")
        broken_off = None
        if now is not None:
            after = Origin(*now["after"])
            broken_off = BrokenOff(_choice(now), now.get("to"), now["end"], after, now.get("edit"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(
            f"what the group has committed for {partition} is not of a replay: name another --group"
        ) from None
    return Account(committed.offset, sent, broken_off)


def broken_off_of(accounts: Iterable[Account]) -> BrokenOff | None:
    """The replay that was broken off, if one was: it is of all partitions that were there."""
    return next((account.broken_off for account in accounts if account.broken_off is not None), None)


def _choice(document: dict[str, Any]) -> Choice:
    names = ("error", "query", "topic", "since", "until")
    return Choice(**{name: document[name] for name in names if name in document})
