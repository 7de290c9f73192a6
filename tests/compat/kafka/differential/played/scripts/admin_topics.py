"""KafkaAdminClient's calls about topics, partitions and what is in them."""

from tests.compat.kafka.differential.played.script import on_kafka


def _admin(stage, **settings):
    return stage.admin(**settings)


def _new(stage, **options):
    """A name, and what creates it in either generation."""
    name = stage.name("made")
    if stage.generation == "2":
        known = {"num_partitions": 1, "replication_factor": 1}
        known.update(options)
        return name, [stage.module("admin").NewTopic(name, **known)]
    return name, {name: options}


@on_kafka("2")
def topics_are_made_of_new_topics(kafka, stage):
    admin = _admin(stage)
    _, new = _new(stage, num_partitions=2, topic_configs={"retention.ms": "1000"})
    answer = stage.within("made", admin.create_topics, new)
    stage.record("errors", answer.topic_errors)
    stage.record("throttled", answer.throttle_time_ms)
    stage.record("as an object", answer.to_object())
    stage.record("repr", repr(answer))
    stage.record("version", (answer.API_KEY, answer.API_VERSION))
    stage.attempt("made again", admin.create_topics, new)


@on_kafka("3")
def topics_are_made_of_dictionaries_names_and_new_topics(kafka, stage):
    admin = _admin(stage)
    _, new = _new(stage, num_partitions=2, configs={"retention.ms": "1000"})

    def described(answer):
        [topic] = answer["topics"]
        configs = topic.pop("configs", {})
        topic.pop("topic_id", None)
        return topic, configs.get("retention.ms"), sorted(answer)

    stage.record("made", described(admin.create_topics(new)))
    stage.raised("made again", admin.create_topics, new)
    stage.attempt("made again without raising", admin.create_topics, new, raise_errors=False)
    other = stage.name("made")
    stage.record("by name", described(admin.create_topics([other])))
    third = stage.name("made")
    NewTopic = stage.module("admin").NewTopic
    stage.record("of NewTopic", described(admin.create_topics([NewTopic(third, 1, 1)])))
    stage.attempt("of nothing", admin.create_topics, [])
    stage.attempt("of numbers", admin.create_topics, [1, 2])
    stage.attempt("both", admin.create_topics, [third], validate_only=True, wait_for_metadata=True)


@on_kafka("2", "3")
def topics_that_cannot_be_are_refused(kafka, stage):
    admin = _admin(stage)
    NewTopic = stage.module("admin").NewTopic
    stage.attempt("bad name", admin.create_topics, [NewTopic("bad name!", 1, 1)])
    name = stage.name("made")
    stage.attempt("too many replicas", admin.create_topics, [NewTopic(name, 1, 7)])
    stage.attempt("no partitions", admin.create_topics, [NewTopic(name, 0, 1)])
    unknown = NewTopic(name, 1, 1, topic_configs={"no.such": "1"})
    stage.attempt("unknown config", admin.create_topics, [unknown])
    unknown_broker = NewTopic(name, replica_assignments={0: [99]})
    stage.attempt("unknown broker", admin.create_topics, [unknown_broker])


@on_kafka("2", "3")
def topics_are_only_checked_where_that_is_asked(kafka, stage):
    admin = _admin(stage)
    NewTopic = stage.module("admin").NewTopic
    name = stage.name("made")
    stage.within("checked", admin.create_topics, [NewTopic(name, 1, 1)], validate_only=True)
    stage.record("listed", name in admin.list_topics())
    stage.within("assigned", admin.create_topics, [NewTopic(name, replica_assignments={0: [1]})])
    stage.until(lambda: name in admin.list_topics())


@on_kafka("2", "3")
def topics_are_deleted(kafka, stage):
    admin = _admin(stage)
    name = stage.topic()
    answer = stage.within("deleted", admin.delete_topics, [name])
    if stage.generation == "2":
        stage.record("answer", repr(answer))
        stage.record("codes", answer.topic_error_codes)
    else:
        [topic] = answer["topics"]
        stage.record("answer", (topic["name"], topic["error_code"], topic["error_message"]))
    stage.until(lambda: name not in admin.list_topics())
    stage.attempt("deleted again", admin.delete_topics, [name])


@on_kafka("3")
def topics_are_deleted_and_described_by_id(kafka, stage):
    import uuid

    admin = _admin(stage)
    name = stage.topic()
    [described] = admin.describe_topics([name])
    topic_id = uuid.UUID(described["topic_id"])
    [again] = admin.describe_topics([topic_id])
    stage.record("same", again == described)
    answer = admin.delete_topics([topic_id])
    stage.record("deleted", (answer["topics"][0]["name"], answer["topics"][0]["error_code"]))
    unknown = admin.delete_topics([uuid.UUID(int=5)], raise_errors=False)
    stage.record("unknown", unknown["topics"][0]["error_code"])
    stage.raised("unknown, raising", admin.delete_topics, [uuid.UUID(int=5)])


@on_kafka("2", "3")
def topics_are_described_with_their_partitions(kafka, stage):
    admin = _admin(stage)
    name = stage.topic(2)
    for topic in admin.describe_topics([name, "no-such-topic"]):
        if stage.generation == "3" and topic["topic_id"] is not None:
            stage.call(topic["topic_id"], "<id>")
        stage.record("described", topic)
        stage.record("its fields in order", list(topic))
        if topic["partitions"]:
            stage.record("a partition's fields in order", list(topic["partitions"][0]))
    stage.record("all", name in [topic.get("name", topic.get("topic")) for topic in admin.describe_topics()])
    stage.attempt("none", admin.describe_topics, [])


@on_kafka("2")
def topics_get_more_partitions_by_new_partitions(kafka, stage):
    admin = _admin(stage)
    NewPartitions = stage.module("admin").NewPartitions
    name = stage.topic(1)
    answer = stage.within("more", admin.create_partitions, {name: NewPartitions(3)})
    stage.record("errors", answer.topic_errors)
    assigned = NewPartitions(4, [[1]])
    stage.record("assigned", repr(admin.create_partitions({name: assigned}, validate_only=True)))
    stage.raised("fewer", admin.create_partitions, {name: NewPartitions(1)})
    stage.raised("no topic", admin.create_partitions, {stage.name("none"): NewPartitions(5)})


@on_kafka("3")
def topics_get_more_partitions_by_counts(kafka, stage):
    admin = _admin(stage)
    NewPartitions = stage.module("admin").NewPartitions
    name = stage.topic(1)
    answer = admin.create_partitions({name: 3})
    stage.record("answer", repr(answer))
    stage.record("as a dict", answer.to_dict())
    stage.record("its results", [(each.name, each.error_code) for each in answer.results])
    stage.record("version", answer.API_VERSION)
    stage.attempt("fewer", admin.create_partitions, {name: 1})
    quiet = admin.create_partitions({name: 1}, raise_errors=False)
    stage.record("fewer without raising", quiet.to_dict())
    options = {"count": 4, "assignments": [[1]]}
    stage.record("assigned", admin.create_partitions({name: options}, validate_only=True).to_dict())
    stage.record("by NewPartitions", admin.create_partitions({name: NewPartitions(4)}).to_dict())


@on_kafka("2", "3")
def leaders_are_elected(kafka, stage):
    admin = _admin(stage)
    name = stage.topic(2)
    elect = admin.perform_leader_election if stage.generation == "2" else admin.elect_leaders
    answer = stage.within("elected", elect, 0, {name: [0]})
    stage.record("answer", repr(answer))
    stage.attempt("no such type", elect, 7, {name: [0]})
    stage.raised("no such topic", elect, 0, {stage.name("none"): [0]})


@on_kafka("3")
def leaders_of_all_partitions_of_topics_are_elected(kafka, stage):
    admin = _admin(stage)
    name = stage.topic(2)
    answer = admin.elect_leaders(0, [name])
    [topic] = answer.replica_election_results
    stage.record("answer", sorted((each.partition_id, each.error_code) for each in topic.partition_result))
    none = stage.name("none")
    stage.record("quiet", admin.elect_leaders(0, {none: [0]}, raise_errors=False).to_dict())


@on_kafka("3")
def partitions_are_reassigned(kafka, stage):
    admin = _admin(stage)
    name = stage.topic(2)
    wanted = {stage.partition(name, 0): [1], stage.partition(name, 1): [99]}
    stage.attempt("moved", admin.alter_partition_reassignments, wanted)
    stage.attempt("ended", admin.alter_partition_reassignments, {stage.partition(name): None})
    stage.attempt("to nobody", admin.alter_partition_reassignments, {stage.partition(name): []})
    stage.attempt("to a name", admin.alter_partition_reassignments, {stage.partition(name): ["a"]})
    stage.attempt("listed", admin.list_partition_reassignments)
    stage.attempt("listed by topic", admin.list_partition_reassignments, {name: [0]})
    stage.attempt("listed by partition", admin.list_partition_reassignments, [stage.partition(name)])


@on_kafka("3")
def partitions_are_described_in_pages(kafka, stage):
    admin = _admin(stage)
    name = stage.topic(3)
    first = admin.describe_topic_partitions([name], response_partition_limit=2)
    stage.call(first["topics"][0]["topic_id"], "<id>")
    stage.record(
        "first", [(each["partition_index"], each["leader_id"]) for each in first["topics"][0]["partitions"]]
    )
    stage.record("fields", (sorted(first["topics"][0]), sorted(first["topics"][0]["partitions"][0])))
    stage.record("next", first["next_cursor"])
    second = admin.describe_topic_partitions([name], cursor=first["next_cursor"])
    stage.record("second", [each["partition_index"] for each in second["topics"][0]["partitions"]])
    stage.record("end", second["next_cursor"])
    unknown = admin.describe_topic_partitions([stage.name("none")])
    stage.record("unknown", unknown["topics"][0]["error_code"])


@on_kafka("3")
def offsets_of_partitions_are_looked_up(kafka, stage):
    admin = _admin(stage)
    OffsetSpec = stage.module("admin").OffsetSpec
    name = stage.filled_topic(b"a", b"b", b"c", partitions=2)
    one, two = stage.partition(name), stage.partition(name, 1)
    for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST, OffsetSpec.MAX_TIMESTAMP, 1600000000001, 5):
        stage.attempt(f"by {spec!r}", admin.list_partition_offsets, {one: spec})
    stage.attempt("two", admin.list_partition_offsets, {one: OffsetSpec.LATEST, two: OffsetSpec.LATEST})
    stage.attempt("committed", admin.list_partition_offsets, {one: -1}, isolation_level="read_committed")
    stage.attempt("by a name", admin.list_partition_offsets, {one: "latest"})
    stage.raised("by a number that is none", admin.list_partition_offsets, {one: -77})
    stage.raised("unknown", admin.list_partition_offsets, {stage.partition(stage.name("none")): -1})
    stage.attempt("nothing", admin.list_partition_offsets, {})


@on_kafka("2", "3")
def records_are_deleted(kafka, stage):
    admin = _admin(stage)
    name = stage.filled_topic(b"a", b"b", b"c")
    partition = stage.partition(name)
    stage.attempt("before 2", admin.delete_records, {partition: 2})
    stage.attempt("all, at the leader", admin.delete_records, {partition: -1}, partition_leader_id=1)
    stage.attempt("beyond the end", admin.delete_records, {partition: 100})
    unknown = stage.partition(stage.name("none"))
    stage.attempt("of no topic", admin.delete_records, {unknown: 0})
    stage.record("left", stage.records_of(name))


@on_kafka("3")
def several_failures_of_deleting_records_are_one_error(kafka, stage):
    admin = _admin(stage)
    name = stage.topic(2)
    stage.raised("two", admin.delete_records, {stage.partition(name, 0): 9, stage.partition(name, 1): 9})


@on_kafka("3")
def new_topics_are_waited_for(kafka, stage):
    admin = _admin(stage)
    name = stage.name("made")
    stage.within("made", admin.create_topics, [name], wait_for_metadata=True)
    stage.record("leader", admin.describe_topics([name])[0]["partitions"][0]["leader_id"])
    stage.attempt("again", admin.wait_for_topics, [name])
    stage.attempt("nothing", admin.wait_for_topics, [])
    stage.attempt("what is not there", admin.wait_for_topics, [stage.name("none")], timeout_ms=50)
