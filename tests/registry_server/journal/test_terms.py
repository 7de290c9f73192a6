"""Terms, and what a claim of one is written with."""

from __future__ import annotations

import pytest

from barnabas.registry_server.journal.terms import (
    CLOSING_EPOCH,
    EPOCHS,
    FIRST_PRODUCER_ID,
    ProducerEpoch,
    TermClaim,
    decode_claim,
)


def test_each_term_has_a_greater_producer_epoch_than_the_one_before() -> None:
    producers = [TermClaim(term, "").producer for term in (0, 1, EPOCHS - 1, EPOCHS, EPOCHS + 1)]
    assert producers == [
        ProducerEpoch(FIRST_PRODUCER_ID, 0),
        ProducerEpoch(FIRST_PRODUCER_ID, 1),
        ProducerEpoch(FIRST_PRODUCER_ID, CLOSING_EPOCH - 1),
        ProducerEpoch(FIRST_PRODUCER_ID + 1, 0),
        ProducerEpoch(FIRST_PRODUCER_ID + 1, 1),
    ]


def test_a_producer_id_is_closed_before_the_next_one_is_taken() -> None:
    assert TermClaim(0, "").closed_first is None
    assert TermClaim(EPOCHS - 1, "").closed_first is None
    assert TermClaim(EPOCHS, "").closed_first == ProducerEpoch(FIRST_PRODUCER_ID, CLOSING_EPOCH)
    assert TermClaim(EPOCHS + 1, "").closed_first is None


def test_a_claim_is_read_as_it_was_written() -> None:
    claim = TermClaim(7, "somebody")
    assert decode_claim(claim.encode()) == claim


@pytest.mark.parametrize("value", [None, b"", b"null", b"{}", b'{"term":-1,"claimant":"a"}', b'{"term":1}'])
def test_a_noop_record_of_others_claims_nothing(value: bytes | None) -> None:
    assert decode_claim(value) is None
