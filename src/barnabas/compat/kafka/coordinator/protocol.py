"""What the members of a group tell each other, as structs of kafka-python 1.2 and 2."""

from barnabas.compat.kafka_engine.consume.membership import (
    PROTOCOL_TYPE,
    MemberAssignmentStruct,
    MemberMetadataStruct,
)

ConsumerProtocolMemberMetadata = ConsumerProtocolMemberMetadata_v0 = MemberMetadataStruct
ConsumerProtocolMemberAssignment = ConsumerProtocolMemberAssignment_v0 = MemberAssignmentStruct


class ConsumerProtocol_v0:
    """The structs of groups of consumers."""

    PROTOCOL_TYPE = PROTOCOL_TYPE
    ASSIGNMENT_STRATEGIES = ("range", "roundrobin")
    METADATA = MemberMetadataStruct
    ASSIGNMENT = MemberAssignmentStruct


class ConsumerProtocol(ConsumerProtocol_v0):
    """In 1.2 the structs themselves; as in 2 also a list of them, by their version."""

    def __class_getitem__(cls, version: int) -> type[ConsumerProtocol_v0]:
        return [ConsumerProtocol_v0][version]
