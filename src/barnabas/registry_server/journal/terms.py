"""Terms: how long one registry may write, counted through the life of a topic, and how each is claimed.

A term is claimed by a NOOP record, which readers of the topic leave out. Its batch, and all that are written
in the term, carry a producer id that no broker gives to anybody, and the term's number as the epoch. A
partition's leader refuses batches with an older epoch from the moment on when it has one with a newer: so
whoever wrote before cannot any more, and what is before the claim in the log is all that will ever be of
older terms.

Pure. docs/design/registry-journal.md tells why this holds.
"""

from __future__ import annotations

import json
from typing import Any

from barnabas.values import frozen

NOOP_KEY = b'{"keytype":"NOOP","magic":0}'
# Brokers give ids from 0 upwards, a thousand at a time.
FIRST_PRODUCER_ID = 1 << 62
EPOCHS = (1 << 15) - 1
CLOSING_EPOCH = EPOCHS
"""The highest epoch is no term's: a batch with it ends the last term of a producer id."""


@frozen
class ProducerEpoch:
    producer_id: int
    epoch: int


@frozen
class TermClaim:
    """That a term is somebody's. `claimant` is of this one claim alone."""

    term: int
    claimant: str

    @property
    def producer(self) -> ProducerEpoch:
        return ProducerEpoch(FIRST_PRODUCER_ID + self.term // EPOCHS, self.term % EPOCHS)

    @property
    def closed_first(self) -> ProducerEpoch | None:
        """What has to be written before, so that nobody writes with the producer id before this one's."""
        if not self.term or self.term % EPOCHS:
            return None
        return ProducerEpoch(FIRST_PRODUCER_ID + self.term // EPOCHS - 1, CLOSING_EPOCH)

    def encode(self) -> bytes:
        return json.dumps({"term": self.term, "claimant": self.claimant}, separators=(",", ":")).encode()


def decode_claim(value: bytes | None) -> TermClaim | None:
    """None for a NOOP record that claims nothing, such as those of Confluent's registry."""
    if value is None:
        return None
    try:
        fields: Any = json.loads(value)
    except ValueError:
        return None
    match fields:
        case {"term": int(term), "claimant": str(claimant)} if term >= 0:
            return TermClaim(term, claimant)
        case _:
            return None
