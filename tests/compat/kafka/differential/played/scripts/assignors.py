"""Assignors: those of the package as programs call them, and programs' own."""

from tests.compat.kafka.differential.played.script import on_kafka, script


class Cluster:
    """Stands for ClusterMetadata, as far as assignors ask."""

    def __init__(self, **counts):
        self._counts = counts

    def partitions_for_topic(self, topic):
        return set(range(self._counts[topic])) if topic in self._counts else None

    def topics(self):
        return set(self._counts)


def members_of(stage, assignor, **topics):
    """Members with these topics, as the generation gives them to assignors."""
    described = {member: assignor.metadata(wanted) for member, wanted in topics.items()}
    if stage.generation == "1.2":
        return described
    if stage.generation == "2":
        subscription = stage.module("coordinator.subscription").Subscription
        return {member: subscription(metadata, None) for member, metadata in described.items()}
    return [Member(member, metadata) for member, metadata in described.items()]


class Member:
    def __init__(self, member_id, metadata):
        self.member_id = member_id
        self.group_instance_id = None
        self.metadata = metadata


def record_assignment(stage, label, assigned):
    partitions = {member: sorted(assignment.partitions()) for member, assignment in assigned.items()}
    stage.record(label, partitions)


@script()
def ranges_are_divided_topic_by_topic(kafka, stage):
    assignor = stage.module("coordinator.assignors.range").RangePartitionAssignor
    stage.record("name and version", (assignor.name, assignor.version))
    members = members_of(stage, assignor, a=["t", "u"], b=["t"], c=["t", "u", "v"])
    record_assignment(stage, "of 5, 4 and none", assignor.assign(Cluster(t=5, u=4), members))
    record_assignment(stage, "of 1 and 2", assignor.assign(Cluster(t=1, u=2, v=3), members))


@script()
def rounds_are_divided_member_by_member(kafka, stage):
    assignor = stage.module("coordinator.assignors.roundrobin").RoundRobinPartitionAssignor
    stage.record("name and version", (assignor.name, assignor.version))
    # 2 and 3 fail where members subscribe to different topics.
    members = members_of(stage, assignor, a=["t", "u"], b=["t", "u"], c=["t", "u"])
    record_assignment(stage, "of 5 and 4", assignor.assign(Cluster(t=5, u=4), members))
    record_assignment(stage, "of 1 and 2", assignor.assign(Cluster(t=1, u=2), members))


@script("2", "3")
def sticky_assignments_are_even(kafka, stage):
    assignor = stage.module("coordinator.assignors.sticky.sticky_assignor").StickyPartitionAssignor
    stage.record("name and version", (assignor.name, assignor.version))
    ours = assignor() if stage.generation == "3" else assignor
    members = members_of(stage, ours, a=["t"], b=["t"], c=["t"])
    assigned = ours.assign(Cluster(t=7), members)
    counts = sorted(len(assignment.partitions()) for assignment in assigned.values())
    stage.record("counts", counts)
    together = sorted(partition for each in assigned.values() for partition in each.partitions())
    stage.record("together", together)


@script("3")
def cooperative_assignors_say_so(kafka, stage):
    module = stage.module("coordinator.assignors.cooperative_sticky")
    abstract = stage.module("coordinator.assignors.abstract")
    assignor = module.CooperativeStickyAssignor()
    stage.record("name and version", (assignor.name, assignor.version))
    stage.record("protocols", assignor.supported_protocols())
    eager = stage.module("coordinator.assignors.range").RangePartitionAssignor()
    stage.record("protocols of range", eager.supported_protocols())
    stage.record("members", [each.name for each in abstract.RebalanceProtocol])


@script()
def assignors_of_a_program_have_to_be_whole(kafka, stage):
    base = stage.module("coordinator.assignors.abstract").AbstractPartitionAssignor

    class Whole(base):
        name = "whole"

        def assign(self, cluster, members):
            return {}

        def metadata(self, topics):
            return None

        def on_assignment(self, assignment, generation=None):
            pass

    stage.record("name", Whole().name)
    if stage.generation == "3":
        stage.record("protocols", Whole().supported_protocols())


@script("1.2", "2")
def metadata_of_members_is_encoded(kafka, stage):
    protocol = stage.module("coordinator.protocol")
    suffix = "" if stage.generation == "1.2" else "_v0"
    Metadata = getattr(protocol, "ConsumerProtocolMemberMetadata" + suffix)
    Assignment = getattr(protocol, "ConsumerProtocolMemberAssignment" + suffix)
    metadata = Metadata(0, ["t", "u"], b"data")
    stage.record("metadata", metadata.encode())
    stage.record("again", Metadata.decode(metadata.encode()) == metadata)
    assignment = Assignment(0, [("t", [0, 2]), ("u", [1])], b"")
    stage.record("assignment", assignment.encode())
    stage.record("partitions", Assignment.decode(assignment.encode()).partitions())
    consumers = protocol.ConsumerProtocol if stage.generation == "1.2" else protocol.ConsumerProtocol[0]
    stage.record("type", consumers.PROTOCOL_TYPE)


@script("3")
def subscriptions_of_members_are_encoded(kafka, stage):
    metadata = stage.module("protocol.consumer.metadata")
    subscription = metadata.ConsumerProtocolSubscription(0, ["t", "u"], b"data")
    stage.record("subscription", subscription.encode())
    again = metadata.ConsumerProtocolSubscription.decode(subscription.encode())
    stage.record("again", (again.version, again.topics, again.user_data))
    assignment = metadata.ConsumerProtocolAssignment(0, [("t", [0, 2]), ("u", [1])], b"")
    stage.record("assignment", assignment.encode())
    stage.record("partitions", assignment.partitions())
    stage.record("type", metadata.ConsumerProtocolType)


@on_kafka()
def assignors_of_a_program_divide_its_group(kafka, stage):
    topic = stage.filled_topic(b"a", partitions=3)
    base = stage.module("coordinator.assignors.abstract").AbstractPartitionAssignor
    ranges = stage.module("coordinator.assignors.range").RangePartitionAssignor
    divided, assigned = [], []

    class Mine(base):
        name = "mine"

        def assign(self, cluster, members):
            divided.append((cluster.partitions_for_topic(topic), len(members)))
            return ranges.assign(cluster, members)

        def metadata(self, topics):
            return ranges.metadata(topics)

        def on_assignment(self, assignment, *generation):
            assigned.append((sorted(assignment.partitions()), generation))

    # The leader of 1.2 and 2 takes objects only.
    consumer = stage.consumer(group_id=stage.group(), partition_assignment_strategy=[Mine()])
    stage.until(lambda: topic in consumer.topics())
    consumer.subscribe([topic])
    stage.join(consumer, 3)
    # A member that learns of the topic late joins twice.
    stage.record("partitions", divided[-1][0])
    stage.record("members", divided[-1][1])
    partitions, generation = assigned[-1]
    stage.record("assigned", partitions)
    stage.record("generations", len(generation))
