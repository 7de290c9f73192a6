"""Kinds of resources, and how the names of resources are meant."""

from barnabas.compat.confluent_kafka import cimpl
from barnabas.compat.librdkafka.values.models import OrderedEnum


class ResourceType(OrderedEnum):
    """What a configuration or an access rule is for. ANY is for filters."""

    UNKNOWN = cimpl.RESOURCE_UNKNOWN
    ANY = cimpl.RESOURCE_ANY
    TOPIC = cimpl.RESOURCE_TOPIC
    GROUP = cimpl.RESOURCE_GROUP
    BROKER = cimpl.RESOURCE_BROKER
    TRANSACTIONAL_ID = cimpl.RESOURCE_TRANSACTIONAL_ID


class ResourcePatternType(OrderedEnum):
    """How the name in an access rule is meant: LITERAL, or PREFIXED for all names that begin with it. For
    filters there are ANY, and MATCH: whatever rules apply to the name."""

    UNKNOWN = cimpl.RESOURCE_PATTERN_UNKNOWN
    ANY = cimpl.RESOURCE_PATTERN_ANY
    MATCH = cimpl.RESOURCE_PATTERN_MATCH
    LITERAL = cimpl.RESOURCE_PATTERN_LITERAL
    PREFIXED = cimpl.RESOURCE_PATTERN_PREFIXED
