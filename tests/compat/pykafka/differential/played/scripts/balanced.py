"""Balanced consumers on ZooKeeper: who owns what at each step, in nodes and in what programs see."""

from __future__ import annotations

from itertools import chain
from typing import Any

from tests.compat.pykafka.differential.played.script import on_zookeeper, script

FOUR = 4


def joining(stage: Any, topic: Any, group: str, **settings: Any) -> Any:
    given = {"zookeeper_connect": stage.zookeeper, "consumer_timeout_ms": 3000, "rebalance_backoff_ms": 200}
    return stage.stopping(topic.get_balanced_consumer(group.encode(), **{**given, **settings}))


def named(stage: Any, *members: Any) -> list[Any]:
    """The members in the order of their ids, which is that of their shares."""
    ordered = sorted(members, key=lambda member: member._consumer_id)
    for number, member in enumerate(ordered, 1):
        stage.call(member._consumer_id.decode(), f"<member {number}>")
    return ordered


def owners(stage: Any, group: str) -> dict[str, str]:
    """Each node of an owner, with the partition only: which broker leads is not what this is about."""
    return {
        path.rpartition("/")[2]: data.decode()
        for path, data in stage.znodes(f"/consumers/{group}").items()
        if path.startswith("owners/") and path.count("/") == 2
    }


def settled(stage: Any, group: str, members: list[Any]) -> None:
    """Waits until each member, in the order of their ids, owns its share, in ZooKeeper and by its own word.
    All partitions may be owned while the member that joined last has nothing yet."""
    of_each, rest = divmod(FOUR, len(members))
    shares = [of_each + (place < rest) for place in range(len(members))]

    def shared() -> bool:
        kept = [sorted(member.partitions) for member in members]
        nodes = owners(stage, group)
        return (
            [len(numbers) for numbers in kept] == shares
            and sorted(chain(*kept)) == list(range(FOUR))
            and len(nodes) == FOUR
            and set(nodes.values()) == {m._consumer_id.decode() for m in members if m.partitions}
        )

    stage.until(shared)


def record_owners(stage: Any, label: str, group: str, members: list[Any]) -> None:
    settled(stage, group, members)
    stage.record(f"{label}: nodes", stage.znodes(f"/consumers/{group}"))
    stage.record(f"{label}: partitions", [sorted(member.partitions) for member in members])


@on_zookeeper()
def one_balanced_consumer_owns_all_partitions(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a", b"b", partitions=FOUR)), stage.group()
    one = joining(stage, topic, group)
    named(stage, one)
    record_owners(stage, "started", group, [one])
    stage.record("held", one.held_offsets)
    stage.record("topic", one.topic is topic)
    stage.record("shown", repr(one))
    message = one.consume()
    stage.record("message", (message.value, message.offset, message.partition_id))
    stage.record("held then", one.held_offsets)
    one.stop()
    stage.record("nodes when stopped", stage.znodes(f"/consumers/{group}"))
    stage.record("partitions when stopped", sorted(one.partitions))


@on_zookeeper()
def two_balanced_consumers_have_a_range_each(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    members = named(stage, joining(stage, topic, group), joining(stage, topic, group))
    record_owners(stage, "both", group, members)
    members[0].stop()
    record_owners(stage, "the first left", group, members[1:])
    members[1].stop()
    stage.record("all left", stage.znodes(f"/consumers/{group}"))


@on_zookeeper()
def the_last_of_two_balanced_consumers_leaves_first(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    members = named(stage, joining(stage, topic, group), joining(stage, topic, group))
    settled(stage, group, members)
    members[1].stop()
    record_owners(stage, "the second left", group, members[:1])


@on_zookeeper()
def three_balanced_consumers_divide_four_partitions(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    members = named(stage, *(joining(stage, topic, group) for _ in range(3)))
    record_owners(stage, "three", group, members)


@on_zookeeper()
def two_balanced_consumers_by_round_robin(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    protocol = stage.module("membershipprotocol").RoundRobinProtocol
    members = named(stage, *(joining(stage, topic, group, membership_protocol=protocol) for _ in range(2)))
    record_owners(stage, "both", group, members)


@on_zookeeper()
def a_balanced_consumer_too_many_has_nothing(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    members = named(stage, *(joining(stage, topic, group, consumer_timeout_ms=500) for _ in range(FOUR + 1)))
    record_owners(stage, "five", group, members)
    # None, or nothing in a mapping where it had a partition for a moment while the others joined.
    stage.record("the last holds something", bool(members[-1].held_offsets))
    stage.attempt("consume of the last", members[-1].consume)


@on_zookeeper()
def balanced_consumers_of_two_topics_in_one_group(pykafka: Any, stage: Any) -> None:
    topics = [stage.topic_of(stage.topic(partitions=FOUR)) for _ in range(2)]
    group = stage.group()
    members = [joining(stage, topic, group) for topic in topics]
    for number, member in enumerate(members):
        stage.call(member._consumer_id.decode(), f"<member {number}>")
    stage.until(lambda: len(owners(stage, group)) == FOUR and all(len(m.partitions) == FOUR for m in members))
    stage.record("nodes", stage.znodes(f"/consumers/{group}"))


@on_zookeeper()
def a_balanced_consumer_in_the_programs_own_session(pykafka: Any, stage: Any) -> None:
    from kazoo.client import KazooClient

    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    client = KazooClient(stage.zookeeper)
    client.start()
    stage.closing(client.stop)
    one = joining(stage, topic, group, zookeeper=client, zookeeper_connect="127.0.0.1:1")
    named(stage, one)
    record_owners(stage, "started", group, [one])
    one.stop()
    stage.record("nodes when stopped", stage.znodes(f"/consumers/{group}"))
    stage.record("connected", client.connected)


@on_zookeeper()
def zookeeper_hosts_says_where_as_well(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    one = joining(stage, topic, group, zookeeper_connect=None, zookeeper_hosts=stage.zookeeper)
    named(stage, one)
    record_owners(stage, "started", group, [one])


@on_zookeeper()
def a_chroot_that_is_not_there_is_made(pykafka: Any, stage: Any) -> None:
    topic, group, root = stage.topic_of(stage.topic(partitions=FOUR)), stage.group(), stage.name("root")
    one = joining(stage, topic, group, zookeeper_connect=f"{stage.zookeeper}/{root}")
    named(stage, one)
    stage.record("nodes", stage.znodes(f"/{root}/consumers/{group}"))
    stage.record("partitions", sorted(one.partitions))


@on_zookeeper()
def a_balanced_consumer_whose_zookeeper_is_away(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    stage.keep_log()
    one = joining(stage, topic, group, zookeeper_connect="127.0.0.1:1", consumer_timeout_ms=100)
    stage.record("partitions", one.partitions)
    stage.attempt("consume", one.consume)
    stage.attempt("commit", one.commit_offsets)
    stage.attempt("reset", one.reset_offsets)
    stage.record_log("log", "Stopping consumer in response to error")


@on_zookeeper()
def the_callback_of_a_balanced_consumer_moves_positions(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(b"a", b"b", b"c", b"d", partitions=FOUR))
    group, heard = stage.group(), []

    def callback(consumer: Any, before: Any, after: Any) -> Any:
        heard.append((dict(before), dict(after)))
        return {0: 1}

    one = joining(stage, topic, group, post_rebalance_callback=callback)
    stage.record("heard", heard)
    stage.record("held", one.held_offsets)
    stage.record("message", one.consume().value)


@on_zookeeper()
def the_callback_of_a_balanced_consumer_hears_of_each_rebalance(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    heard: list[Any] = []
    first = joining(
        stage, topic, group, post_rebalance_callback=lambda _, b, a: heard.append((sorted(b), sorted(a)))
    )
    second = joining(stage, topic, group)
    settled(stage, group, [first, second])
    second.stop()
    settled(stage, group, [first])
    stage.record("how many each time", [(len(before), len(after)) for before, after in heard])


@on_zookeeper()
def a_callback_of_a_balanced_consumer_that_raises(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()

    def callback(*_: Any) -> None:
        raise LookupError("not mine")

    one = joining(stage, topic, group, post_rebalance_callback=callback)
    stage.attempt("consume", one.consume)
    stage.attempt("commit", one.commit_offsets)
    stage.attempt("reset", one.reset_offsets)


@on_zookeeper()
def a_balanced_consumer_that_is_started_later(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a", partitions=FOUR)), stage.group()
    one = joining(stage, topic, group, auto_start=False)
    named(stage, one)
    stage.record("nodes", stage.znodes(f"/consumers/{group}"))
    stage.record("partitions", one.partitions)
    stage.record("held", one.held_offsets)
    stage.attempt("consume", one.consume)
    stage.attempt("commit", one.commit_offsets)
    stage.attempt("reset", one.reset_offsets)
    stage.attempt("start", one.start)
    record_owners(stage, "started", group, [one])
    stage.record("message", one.consume().value)


@on_zookeeper()
def a_balanced_consumer_after_its_stop(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a", partitions=FOUR)), stage.group()
    one = joining(stage, topic, group)
    stage.attempt("stop", one.stop)
    stage.attempt("consume", one.consume)
    stage.attempt("consume without a wait", lambda: one.consume(block=False))
    stage.attempt("iteration", lambda: list(one))


@on_zookeeper()
def iteration_of_a_balanced_consumer_ends_with_its_time(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a", b"b", b"c", partitions=FOUR)), stage.group()
    one = joining(stage, topic, group, consumer_timeout_ms=1500)
    stage.record("messages", [(message.value, message.offset) for message in one])
    stage.record("held", one.held_offsets)
    stage.attempt("without a wait", lambda: one.consume(block=False))


@on_zookeeper()
def what_a_balanced_consumer_commits_is_where_the_next_begins(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", b"b", b"c", b"d", partitions=FOUR)
    topic, group = stage.topic_of(name), stage.group()
    one = joining(stage, topic, group)
    stage.record("first", [one.consume().value for _ in range(2)])
    stage.attempt("commit", one.commit_offsets)
    stage.record("committed", stage.ask("committed", group, name, 0)[0])
    one.stop()
    two = joining(stage, topic, group)
    stage.record("held", two.held_offsets)
    stage.record("then", [two.consume().value for _ in range(2)])
    stage.attempt("commit of one", lambda: two.commit_offsets([(topic.partitions[0], 3)]))
    stage.record("committed then", stage.ask("committed", group, name, 0)[0])


@on_zookeeper()
def a_balanced_consumer_commits_when_another_comes(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", b"b", b"c", b"d", partitions=FOUR)
    topic, group = stage.topic_of(name), stage.group()
    one = joining(stage, topic, group)
    stage.record("first", [one.consume().value for _ in range(3)])
    two = joining(stage, topic, group)
    settled(stage, group, [one, two])
    stage.record("committed", stage.ask("committed", group, name, 0)[0])


@on_zookeeper()
def automatic_commits_of_a_balanced_consumer_come_with_its_stop(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", b"b", b"c", partitions=FOUR)
    topic, group = stage.topic_of(name), stage.group()
    one = joining(stage, topic, group, auto_commit_enable=True)
    stage.record("first", [one.consume().value for _ in range(2)])
    one.stop()
    stage.record("committed", stage.ask("committed", group, name, 0)[0])


@on_zookeeper()
def a_balanced_consumer_that_begins_at_the_end(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", b"b", partitions=FOUR)
    topic, group = stage.topic_of(name), stage.group()
    latest = stage.module("common").OffsetType.LATEST
    one = joining(
        stage, topic, group, auto_offset_reset=latest, reset_offset_on_start=True, consumer_timeout_ms=10_000
    )
    stage.record("held", one.held_offsets)
    stage.fill(name, b"new")
    stage.record("message", one.consume().value)


@on_zookeeper()
def positions_of_a_balanced_consumer_are_reset(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a", b"b", b"c", partitions=FOUR)), stage.group()
    one = joining(stage, topic, group)
    stage.record("first", [one.consume().value for _ in range(3)])
    stage.attempt("reset one", lambda: one.reset_offsets([(topic.partitions[0], 0)]))
    stage.record("then", one.consume().value)
    stage.attempt("reset all", one.reset_offsets)
    stage.record("from the beginning", one.consume().value)


@on_zookeeper()
def a_deserializer_of_a_balanced_consumer(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a", partitions=FOUR)), stage.group()
    one = joining(stage, topic, group, deserializer=lambda value, key: (value.decode(), "key"))
    message = one.consume()
    stage.record("message", (message.value, message.partition_key))


@on_zookeeper()
def a_partition_that_a_stranger_owns(pykafka: Any, stage: Any) -> None:
    from kazoo.client import KazooClient

    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    client = KazooClient(stage.zookeeper)
    client.start()
    stage.closing(client.stop)
    leader = topic.partitions[2].leader.id
    path = f"/consumers/{group}/owners/{topic.name}/{leader}-2"
    client.create(path, b"stranger", ephemeral=True, makepath=True)
    one = joining(stage, topic, group, rebalance_max_retries=2, rebalance_backoff_ms=10)
    stage.record("partitions", one.partitions)
    stage.attempt("consume", one.consume)
    stage.until(lambda: len(stage.znodes(f"/consumers/{group}/ids")) == 0)
    stage.record("nodes", stage.znodes(f"/consumers/{group}"))


@on_zookeeper()
def arguments_of_balanced_consumers_are_judged(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic(partitions=FOUR))
    for name in (
        *("fetch_message_max_bytes", "num_consumer_fetchers", "auto_commit_interval_ms", "fetch_min_bytes"),
        *("queued_max_messages", "fetch_wait_max_ms", "offsets_channel_backoff_ms", "consumer_timeout_ms"),
        *("offsets_commit_max_retries", "rebalance_max_retries", "rebalance_backoff_ms"),
        *("zookeeper_connection_timeout_ms", "heartbeat_interval_ms"),
    ):
        for value in (0, -1, "1", None):
            for managed in (False, True):
                stage.attempt(
                    f"{name}={value!r} {'managed' if managed else 'by ZooKeeper'}",
                    lambda n=name, v=value, m=managed: (
                        type(
                            topic.get_balanced_consumer(b"g", managed=m, auto_start=False, **{n: v})
                        ).__name__
                    ),
                )


@on_zookeeper()
def groups_of_balanced_consumers_have_names_in_ascii(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic(partitions=FOUR))
    for managed in (False, True):
        stage.attempt(
            f"umlaut, managed {managed}",
            lambda m=managed: topic.get_balanced_consumer("gr\u00fcppe", managed=m, auto_start=False),
        )
        stage.attempt(
            f"text, managed {managed}",
            lambda m=managed: topic.get_balanced_consumer("g", managed=m, auto_start=False)._consumer_group,
        )


@script()
def membership_protocols_have_names_and_data(pykafka: Any, stage: Any) -> None:
    module = stage.module("membershipprotocol")
    for protocol in (module.RangeProtocol, module.RoundRobinProtocol):
        stage.record("type", type(protocol).__name__)
        stage.record("fields", protocol._fields)
        stage.record("names", (protocol.protocol_type, protocol.protocol_name))
        stage.record("metadata", type(protocol.metadata).__name__)
        stage.record("function", protocol.decide_partitions.__name__)


@script()
def shares_of_members_by_both_protocols(pykafka: Any, stage: Any) -> None:
    module = stage.module("membershipprotocol")

    class Named:
        def __init__(self, **values: Any) -> None:
            self.__dict__.update(values)

    topic = Named(name=b"topic")
    for decide in (module.decide_partitions_range, module.decide_partitions_roundrobin):
        for count in range(13):
            partitions = {
                number: Named(id=number, topic=topic, leader=Named(id=number % 2)) for number in range(count)
            }
            for members in ([b"a"], [b"b", b"a"], [b"c", b"a", b"b"], [b"%d" % each for each in range(7)]):
                shares = {
                    member: sorted(each.id for each in decide(members, partitions, member))
                    for member in members
                }
                stage.record(f"{decide.__name__} {count} {len(members)}", shares)
    stage.attempt("no member", lambda: module.decide_partitions_range([b"a"], {}, b"b"))
    stage.attempt("no turn", lambda: module.decide_partitions_roundrobin([b"a"], {}, b"b"))
