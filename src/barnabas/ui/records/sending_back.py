"""Dead letters that go back to where they came from, by what `barnabas dlq replay` knows of them.

It keeps no account of its own; what a replay has sent already is left out. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.aio import Producer
from barnabas.errors import BarnabasError
from barnabas.records.asked import UsageError
from barnabas.records.dead_letters.conventions import DeadLetter, KnownConventions
from barnabas.records.dead_letters.letters import Account, account_of
from barnabas.records.dead_letters.spool import LetterSpool
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.records.decoding import MASK, RecordDecoder
from barnabas.ui.succeeding import succeeded

if TYPE_CHECKING:
    from barnabas import Record

MOST_LETTERS = 10_000
LETTERS_A_STEP = 1_000
CONVENTIONS = KnownConventions()
Accounts = Mapping[TopicPartition, Account]


@dataclass
class Gathered:
    """What there was of letters: those that are in the spool, those that a replay has sent, and records that
    are none."""

    letters: int = 0
    sent: int = 0
    others: int = 0


def shown_letter(decoder: RecordDecoder, record: Record) -> DeadLetter | None:
    """None where the record is none. What is masked of it is left out."""
    letter = CONVENTIONS.letter(record)
    if letter is None:
        return None
    hidden = {
        value.decode(errors="replace")
        for name, value in record.headers
        if value is not None and decoder.hides_header(name)
    }
    return replace(letter, error=MASK) if letter.error in hidden else letter


async def accounts_of(access: ClusterAccess, topic: str) -> Accounts:
    """What replays have sent of this topic, as far as it is known. Raises: BarnabasError."""
    group = f"barnabas-dlq-{topic}"
    found = await succeeded(access.admin.list_offsets_of_groups({group: None}))
    accounts: dict[TopicPartition, Account] = {}
    for partition, committed in found.get(group, {}).items():
        try:
            accounts[partition] = account_of(committed, partition)
        except BarnabasError:
            # Somebody else's group of this name.
            continue
    return accounts


def gather(
    decoder: RecordDecoder, records: Iterable[Record], accounts: Accounts, spool: LetterSpool, found: Gathered
) -> None:
    """Puts letters into the spool. Raises: UsageError for too many."""
    chosen: list[tuple[DeadLetter, Record]] = []
    for record in records:
        letter = shown_letter(decoder, record)
        account = accounts.get(TopicPartition(record.topic, record.partition), Account(0))
        if letter is None:
            found.others += 1
        elif account.is_done(record.offset, CONVENTIONS.letter(record) or letter):
            found.sent += 1
        else:
            chosen.append((letter, record))
    spool.add(chosen)
    found.letters = spool.count()
    if found.letters > MOST_LETTERS:
        raise UsageError(
            f"there are more than {MOST_LETTERS:,} letters: narrow the search, or use barnabas dlq replay"
        )


async def send_back(access: ClusterAccess, spool: LetterSpool, topic: str) -> None:
    """Sends all of the spool, in the order of where they came from. Nothing is sent if one of the topics is
    not there. Raises: BarnabasError."""
    targets = [*spool.topics()]
    if topic in targets:
        raise UsageError(f"there are letters in {topic} that came from it: choose others")
    described = await access.admin.describe_topics(targets) if targets else {}
    letters = spool.letters()
    async with Producer(**access.settings.client) as producer:
        while step := [*islice(letters, LETTERS_A_STEP)]:
            deliveries = [
                await producer.send(
                    letter.origin.topic,
                    letter.value,
                    key=letter.key,
                    headers=letter.headers,
                    partition=letter.partition_among(len(described[letter.origin.topic].partitions)),
                    timestamp=letter.timestamp,
                )
                for letter in step
            ]
            await asyncio.gather(*deliveries)
