"""What a ShareFetch tells a broker is what the broker has to know, and no more."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.share.acknowledgements import acknowledgement_batches
from barnabas.client.share.session import INITIAL_EPOCH, ShareSession
from barnabas.types import TopicPartition

TOPICS = {name: uuid.uuid5(uuid.NAMESPACE_DNS, name) for name in ("a", "b", "c")}
RENEWED = {name: uuid.uuid5(uuid.NAMESPACE_URL, name) for name in ("a", "b", "c")}

wanted_partitions = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(sorted(TOPICS)), st.integers(0, 2)), st.booleans()
).map(lambda chosen: {p: (RENEWED if is_new else TOPICS)[p.topic] for p, is_new in chosen.items()})
events = st.lists(
    st.tuples(wanted_partitions, st.sampled_from(["answered", "lost", "acknowledged", "unanswered"]))
)


@given(events)
def test_a_broker_that_follows_the_session_shares_what_is_wanted(steps: list[tuple[dict, str]]) -> None:
    session = ShareSession()
    shared: set[tuple[uuid.UUID, int]] = set()
    epoch = INITIAL_EPOCH
    for wanted, event in steps:
        if event == "acknowledged":
            if session.is_open:
                assert session.next_epoch() == epoch
                session.answered()
                epoch += 1
            continue
        number = session.number
        told = session.next_fetch(wanted)
        if told.epoch == INITIAL_EPOCH:
            shared, epoch = set(), INITIAL_EPOCH
        assert told.epoch == epoch
        shared -= {(topic_id, p.partition) for p, topic_id in told.forgotten}
        assert not shared & {(topic_id, p.partition) for p, topic_id in told.added.items()}
        shared |= {(topic_id, p.partition) for p, topic_id in told.added.items()}
        assert shared == {(topic_id, p.partition) for p, topic_id in wanted.items()}
        epoch += 1
        if event == "answered":
            session.answered()
            assert session.number == number
        else:
            was_open = session.is_open
            session.start_over()
            assert not session.is_open
            assert session.number == number + was_open


@given(st.dictionaries(st.integers(0, 60), st.integers(1, 4)))
def test_batches_of_acknowledgements_say_of_each_offset_what_was_decided(codes: dict[int, int]) -> None:
    said: dict[int, int] = {}
    end = -1
    for first, last, batch in acknowledgement_batches(codes):
        assert end < first <= last
        end = last
        assert len(batch) in (1, last - first + 1)
        said |= dict(
            zip(range(first, last + 1), batch * (last - first + 1) if len(batch) == 1 else batch, strict=True)
        )
    assert said == codes


def test_an_epoch_after_the_highest_is_the_first_of_an_open_session() -> None:
    session = ShareSession()
    session.next_fetch({})
    session._epoch = 2**31 - 1
    session.answered()
    assert session.next_epoch() == 1
