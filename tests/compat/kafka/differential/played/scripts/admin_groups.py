"""KafkaAdminClient's calls about groups, their offsets and their members."""

from tests.compat.kafka.differential.played.script import on_kafka


def _committed(stage, group, topic, offset=1):
    stage.ask("commit", group, topic, 0, offset)


@on_kafka("2")
def groups_are_described_by_named_tuples(kafka, stage):
    admin = stage.admin()
    group, topic = stage.group(), stage.topic()
    _committed(stage, group, topic)
    [described] = stage.attempt("empty", admin.describe_consumer_groups, [group])
    stage.record("type", type(described).__name__)
    stage.attempt("two", admin.describe_consumer_groups, [group, stage.group()], group_coordinator_id=1)
    stage.attempt("none", admin.describe_consumer_groups, [])


@on_kafka("3")
def groups_are_described_by_dictionaries(kafka, stage):
    admin = stage.admin()
    group, topic = stage.group(), stage.topic()
    _committed(stage, group, topic)
    stage.attempt("empty", admin.describe_groups, [group])
    stage.record("fields", list(admin.describe_groups([group])[group]))
    stage.attempt("unknown", admin.describe_groups, [stage.group()], group_coordinator_id=1)
    stage.attempt("none", admin.describe_groups, [])


@on_kafka("2", "3")
def groups_are_listed(kafka, stage):
    admin = stage.admin()
    group, topic = stage.group(), stage.topic()
    _committed(stage, group, topic)
    if stage.generation == "2":
        stage.record("listed", [each for each in admin.list_consumer_groups() if each[0] == group])
        stage.record("of a broker", group in dict(admin.list_consumer_groups([1])))
    else:
        stage.record("listed", [each for each in admin.list_groups() if each["group_id"] == group])
        stage.record("of a broker", len(admin.list_groups(broker_ids=[1])) > 0)
        for states in (["Empty"], ["empty"], ["stable"]):
            found = [each["group_id"] for each in admin.list_groups(states_filter=states)]
            stage.record(f"in {states}", group in found)
        for types in (["classic"], ["consumer", "share"]):
            found = [each["group_id"] for each in admin.list_groups(types_filter=types)]
            stage.record(f"of {types}", group in found)
        stage.attempt("in no state", admin.list_groups, states_filter=["odd"])
        stage.attempt("of no type", admin.list_groups, types_filter=["odd"])


@on_kafka("2")
def offsets_of_one_group_are_listed(kafka, stage):
    admin = stage.admin()
    group, topic = stage.group(), stage.topic(2)
    _committed(stage, group, topic, 5)
    stage.attempt("all", admin.list_consumer_group_offsets, group)
    wanted = [stage.partition(topic, 0), stage.partition(topic, 1)]
    stage.attempt("two", admin.list_consumer_group_offsets, group, partitions=wanted)
    stage.attempt("at its coordinator", admin.list_consumer_group_offsets, group, 1, wanted[:1])
    stage.attempt("of no group", admin.list_consumer_group_offsets, stage.group())


@on_kafka("3")
def offsets_of_groups_are_listed(kafka, stage):
    admin = stage.admin()
    one, two, topic = stage.group(), stage.group(), stage.topic(2)
    _committed(stage, one, topic, 5)
    _committed(stage, two, topic, 6)
    wanted = [stage.partition(topic, 0), stage.partition(topic, 1)]
    stage.attempt("by name", admin.list_group_offsets, one)
    stage.attempt("by names", admin.list_group_offsets, [one, two])
    stage.attempt("by partitions", admin.list_group_offsets, {one: wanted, two: None})
    stage.attempt("of no group", admin.list_group_offsets, [stage.group()])
    stage.attempt("of nothing", admin.list_group_offsets, {})


@on_kafka("2", "3")
def groups_are_deleted(kafka, stage):
    admin = stage.admin()
    group, topic = stage.group(), stage.topic()
    _committed(stage, group, topic)
    delete = admin.delete_consumer_groups if stage.generation == "2" else admin.delete_groups
    stage.attempt("one", delete, [group])
    stage.attempt("again", delete, [group])
    stage.attempt("at its coordinator", delete, [group], group_coordinator_id=1)


@on_kafka("3")
def offsets_of_a_group_are_set_reset_and_deleted(kafka, stage):
    admin = stage.admin()
    module = stage.module("admin")
    Offset = stage.module("structs").OffsetAndMetadata
    group, topic = stage.group(), stage.filled_topic(b"a", b"b", b"c", partitions=2)
    zero, one = stage.partition(topic, 0), stage.partition(topic, 1)
    stage.attempt("set", admin.alter_group_offsets, group, {zero: Offset(1, "note", None)})
    stage.record("as the broker has it", stage.ask("committed", group, topic, 0))
    stage.attempt("nothing set", admin.alter_group_offsets, group, {})
    for target in (
        module.OffsetSpec.EARLIEST,
        module.OffsetSpec.LATEST,
        module.OffsetTimestamp(1600000000001),
        module.OffsetTimestamp(2**41),
        1,
        100,
        -5,
    ):
        stage.attempt(f"reset to {target!r}", admin.reset_group_offsets, group, {zero: target})
    stage.attempt("reset what was not set", admin.reset_group_offsets, group, {one: 0})
    stage.attempt("reset to a name", admin.reset_group_offsets, group, {zero: "latest"})
    stage.attempt("reset nothing", admin.reset_group_offsets, group, {})
    stage.record("now", admin.list_group_offsets(group))
    stage.attempt("deleted", admin.delete_group_offsets, group, [zero])
    stage.attempt("nothing deleted", admin.delete_group_offsets, group, [])
    stage.raised("of no group", admin.delete_group_offsets, stage.group(), [zero])
    stage.record("left", admin.list_group_offsets(group))


@on_kafka("3")
def members_that_are_not_there_are_not_removed(kafka, stage):
    admin = stage.admin()
    Member = stage.module("admin").MemberToRemove
    group, topic = stage.group(), stage.topic()
    _committed(stage, group, topic)
    stage.attempt("by id", admin.remove_group_members, group, [Member("nobody", reason="because")])
    stage.attempt("static", admin.remove_group_members, group, [Member(group_instance_id="nobody")])
    stage.attempt("none", admin.remove_group_members, group, [])
    stage.record("repr", repr(Member("a", "b", "c")))
    stage.record("equal", Member("a") == Member("a"))
    stage.record("hash", hash(Member("a")) == hash(Member("a")))


@on_kafka("3")
def transactions_are_listed_and_described(kafka, stage):
    admin = stage.admin()
    topic = stage.topic()
    stage.ask("fill_in_a_transaction", topic, 0, [b"a"], True)
    listed = admin.list_transactions()
    stage.record("brokers", sorted(listed))
    one = listed[1][-1]
    stage.record("fields", (type(one).__name__, one._fields, type(one.state).__name__))
    described = admin.describe_transactions([one.transactional_id])[one.transactional_id]
    stage.record("described", (type(described).__name__, described._fields))
    stage.record("coordinator", (described.coordinator_id, described.producer_id == one.producer_id))
    only = admin.list_transactions(producer_id_filters=[one.producer_id])
    stage.record("by producer", [each.producer_id == one.producer_id for each in only[1]])
    stage.attempt("in a state", admin.list_transactions, state_filters=["PrepareEpochFence"])
    stage.within("long ones", admin.list_transactions, duration_filter_ms=10**9)
    stage.attempt("by name", admin.list_transactions, transactional_id_pattern="no-such-.*")
    stage.raised("unknown", admin.describe_transactions, [stage.name("none")])
    stage.attempt("none", admin.describe_transactions, [])
    stage.attempt("hanging", admin.find_hanging_transactions)


@on_kafka("3")
def producers_of_partitions_are_described(kafka, stage):
    admin = stage.admin()
    Spec = stage.module("admin").AbortTransactionSpec
    topic = stage.topic()
    stage.ask("fill_in_a_transaction", topic, 0, [b"a"], True)
    partition = stage.partition(topic)
    [state] = admin.describe_producers([partition]).values()
    [producer] = state.active_producers
    # A commit is answered before its marker is in the log.
    while producer.current_transaction_start_offset >= 0:
        [state] = admin.describe_producers([partition]).values()
        [producer] = state.active_producers
    stage.record("fields", (type(state).__name__, type(producer).__name__, producer._fields))
    stage.record("last", (producer.last_sequence, producer.current_transaction_start_offset))
    stage.record("at a replica", len(admin.describe_producers([partition], broker_id=1)))
    stage.attempt("none", admin.describe_producers, [])
    stage.raised("unknown", admin.describe_producers, [stage.partition(stage.name("none"))])
    stage.record("spec", Spec(partition, 1, 2))
    stage.raised("not aborted", admin.abort_transaction, Spec(stage.partition(stage.name("none")), 1, 2))
