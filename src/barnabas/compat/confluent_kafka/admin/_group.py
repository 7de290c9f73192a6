"""What AdminClient tells of consumer groups and their members."""

from __future__ import annotations

from barnabas.compat.confluent_kafka._model import ConsumerGroupState, ConsumerGroupType, Node
from barnabas.compat.confluent_kafka._util import ConversionUtil
from barnabas.compat.confluent_kafka.admin._acl import AclOperation
from barnabas.compat.confluent_kafka.admin._operations import operations
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition


class ConsumerGroupListing:
    """A group in a list: its `group_id`, whether it only keeps offsets (`is_simple_consumer_group`), and
    where brokers tell, its `state` and `type`."""

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        state: ConsumerGroupState | str | int | None = None,
        type: ConsumerGroupType | str | int | None = None,
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        if state is not None:
            self.state = ConversionUtil.convert_to_enum(state, ConsumerGroupState)
        if type is not None:
            self.type = ConversionUtil.convert_to_enum(type, ConsumerGroupType)


class ListConsumerGroupsResult:
    """What `AdminClient.list_consumer_groups` gives: as `valid` the groups of all brokers that answered, as
    `errors` a KafkaError for each that did not."""

    def __init__(
        self, valid: list[ConsumerGroupListing] | None = None, errors: list[KafkaError] | None = None
    ) -> None:
        self.valid = valid
        self.errors = errors


class MemberAssignment:
    """The partitions that a member has, as `topic_partitions`."""

    def __init__(self, topic_partitions: list[TopicPartition] | None) -> None:
        self.topic_partitions: list[TopicPartition] = topic_partitions or []


class MemberDescription:
    """A member of a group: `member_id`, `client_id`, its address as `host`, its `assignment`, the one that
    it will have (`target_assignment`, in groups of the consumer protocol, else None), `group_instance_id`."""

    def __init__(
        self,
        member_id: str,
        client_id: str,
        host: str,
        assignment: MemberAssignment,
        group_instance_id: str | None = None,
        target_assignment: MemberAssignment | None = None,
    ) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.host = host
        self.assignment = assignment
        self.target_assignment = target_assignment
        self.group_instance_id = group_instance_id


class ConsumerGroupDescription:
    """A group: `group_id`, whether it only keeps offsets (`is_simple_consumer_group`), its `members`,
    `partition_assignor`, `state`, `type` and `coordinator`, and as `authorized_operations` what this client
    may do with it, or None where that was not asked for."""

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        members: list[MemberDescription],
        partition_assignor: str,
        state: ConsumerGroupState | str | int | None,
        coordinator: Node,
        authorized_operations: list[AclOperation | str | int] | None = None,
        type: ConsumerGroupType | str | int | None = ConsumerGroupType.UNKNOWN,
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        self.members = members
        self.authorized_operations = operations(authorized_operations)
        self.partition_assignor = partition_assignor
        if state is not None:
            self.state = ConversionUtil.convert_to_enum(state, ConsumerGroupState)
        if type is not None:
            self.type = ConversionUtil.convert_to_enum(type, ConsumerGroupType)
        self.coordinator = coordinator
