"""What kafka-python has and the facade does not, and why: docs/kafka-python-names.md is made of it.

Owns the list. Knows not what is missing.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from functools import cache

__all__ = ["ARGUED", "Argued", "is_argued"]


@dataclass(frozen=True)
class Argued:
    """`names`: in the modules or classes `where`; none for all that is there. A star stands for any name."""

    where: str
    names: str
    reason: str

    @property
    def full_names(self) -> list[str]:
        return [f"{where}.{name}" for where in self.where.split() for name in self.names.split()] or (
            self.where.split()
        )


_LOOP = "the original's loop over sockets; connections here are the core's"
_MESSAGES = "what the original makes its message classes of, and writes them with"
_STICKY = "what is inside of the original's sticky assignor"
_CONNECTION = "what is inside of the original's connections"

ARGUED = (
    Argued(
        "kafka.benchmarks", "", "programs that measure the original; `make bench ARGS=--compat` measures both"
    ),
    Argued("kafka.vendor", "", "copies of other packages for old Pythons: six, selectors, enum, socketpair"),
    Argued("kafka.selectors34", "", "a copy of the standard library's `selectors` for Python 2"),
    Argued("kafka.cli", "", "the classes behind the command lines; the command lines themselves are there"),
    Argued(
        "kafka.record.default_records.DefaultRecordBatchBuilder",
        "write_header",
        "what is inside of the original's record batches",
    ),
    Argued("kafka.record.util", "crc32c_c", "what is inside of the original's record batches"),
    Argued("kafka.record._crc32c", "", "the tables of a checksum, which the kernel computes"),
    Argued("kafka.protocol.generate_stubs", "", "what the original makes its message classes with"),
    Argued("kafka.protocol.schemas", "", "what the original makes its message classes with"),
    Argued(
        "kafka.protocol.old", "", "the message classes of 2 that 3 keeps unused; they are in generation 2"
    ),
    Argued(
        "kafka.producer",
        "buffer producer_batch record_accumulator sender transaction_manager",
        "what is inside of the original's producer; the core's wing `produce` does that",
    ),
    Argued("kafka.producer.kafka", "PRODUCER_CLIENT_ID_SEQUENCE", "a counter of the original's own"),
    Argued(
        "kafka.producer.future.FutureRecordMetadata", "rebind", "what is inside of the original's producer"
    ),
    Argued(
        "kafka.consumer.fetcher",
        "CompletedFetch ExceptionMetadata Fetch* ISOLATION_LEVEL_CONFIG READ_COMMITTED READ_UNCOMMITTED",
        "what is inside of the original's consumer; the core's wing `consume` does that",
    ),
    Argued(
        "kafka.consumer.subscription_state",
        "SubscriptionState SubscriptionType TopicPartitionState",
        "what is inside of the original's consumer",
    ),
    Argued(
        "kafka.coordinator",
        "base consumer heartbeat",
        "what is inside of the original's consumer; the core's wing `groups` does that",
    ),
    Argued("kafka.coordinator.assignors.sticky", "partition_movements sorted_set user_data", _STICKY),
    Argued(
        "kafka.coordinator.assignors.sticky.sticky_assignor",
        "ConsumerGenerationPair StickyAssignmentExecutor StickyAssignorMemberMetadataV1 "
        "StickyAssignorUserDataV1 has_identical_list_elements partitions_comparator_key remove_if_present "
        "subscriptions_comparator_key",
        _STICKY,
    ),
    Argued(
        "kafka.coordinator.assignors.sticky.sticky_assignor.StickyPartitionAssignor",
        "generation member_assignment on_generation_assignment",
        _STICKY,
    ),
    Argued(
        "kafka.coordinator.assignors.*Assignor",
        "DEFAULT_GENERATION_ID parse_member_metadata",
        _STICKY,
    ),
    Argued(
        "kafka.codec",
        "PYPY ZSTD_MAX_OUTPUT_SIZE lz4f lz4framed xxhash",
        "what the original compresses with; the kernel does that",
    ),
    Argued(
        "kafka.util",
        "Dict MAX_INT TO_SIGNED Timer WeakMethod classproperty synchronized",
        "small tools of the original's own insides",
    ),
    Argued("kafka.conn", "AFI_NAMES BrokerConnectionMetrics InFlightRequest ssl_available", _CONNECTION),
    Argued(
        "kafka.BrokerConnection kafka.conn.BrokerConnection",
        "SECURITY_PROTOCOLS VERSION_CHECKS send_pending_requests_v2",
        _CONNECTION,
    ),
    Argued(
        "kafka.conn",
        "DEFAULT_SOCKET_TIMEOUT_SECONDS KafkaConnection",
        "what is inside of 1.2's SimpleClient, which is there",
    ),
    Argued(
        "kafka.client_async",
        "IdleConnectionManager KafkaClientMetrics",
        "what is inside of the original's client; `metrics()` has the figures",
    ),
    Argued(
        "kafka.net",
        "connection http_connect inet manager metrics selector socks5 transport wakeup_notifier",
        _LOOP,
    ),
    Argued(
        "kafka.net",
        "HttpConnectProxy KafkaConnection* KafkaManagerMetrics KafkaNetSocket KafkaSSLTransport "
        "KafkaTCPTransport NetworkSelector Socks5Proxy WakeupNotifier create_connection",
        _LOOP,
    ),
    Argued(
        "kafka.cluster.ClusterMetadata",
        "attach close metadata_refresh_in_progress refresh_metadata start_refresh_loop",
        "how the original's loop over sockets asks for metadata; the client does that",
    ),
    Argued("kafka.socks5_wrapper", "", "the original's sockets to a proxy; `socks5_proxy` is the core's"),
    Argued(
        "kafka.protocol.*",
        "encode_header encode_header_into encode_into encode_into__optimized_context fields "
        "flexible_version_q header_class json json_patch max_version min_version "
        "min_version_for_isolation_level min_version_for_timestamp name parse_header type valid_versions",
        _MESSAGES,
    ),
    Argued("kafka.protocol.api_data", "JsonSchemaData", _MESSAGES),
    Argued("kafka.protocol.api_header", "ApiHeader ResponseClassRegistry", _MESSAGES),
    Argued("kafka.protocol.api_message", "ApiMessageData VersionSubscriptable", _MESSAGES),
    Argued(
        "kafka.protocol.data_container",
        "DataContainer.decode DataContainer.encode SlotsBuilder",
        _MESSAGES,
    ),
    Argued(
        "kafka.protocol",
        "abstract.AbstractType.decode abstract.AbstractType.encode",
        "abstract methods, which the types have",
    ),
    Argued(
        "kafka.protocol",
        "api_versions.BaseApiVersionsResponse broker_api_versions broker_version_data.BROKER_API_VERSIONS "
        "broker_version_data.VERSION_CHECKS broker_version_data.infer_broker_version_from_api_versions",
        "insides of the original's negotiation of versions; `check_version` and `api_version` are there",
    ),
    Argued(
        "kafka.sasl kafka.net.sasl",
        "SaslMechanismSSPI sspi",
        "Kerberos of Windows, by pywin32; GSSAPI is there",
    ),
    Argued(
        "kafka.sasl kafka.net.sasl",
        "msk.AwsMskIamClient scram.ScramClient scram.xor_bytes",
        "what is inside of the original's mechanisms; the mechanisms are there",
    ),
)

PARAMETERS = (
    Argued(
        "kafka.producer.base",
        "Producer",
        '`async` is no name in Python 3.7 and later: it is taken from `**{"async": True}`, and as the eighth',
    ),
    Argued(
        "kafka.record",
        "MemoryRecords.next_batch memory_records.MemoryRecords.next_batch "
        "default_records.DefaultRecordBatchBuilder.append util.calc_crc32c",
        "parameters that the original binds for speed",
    ),
    Argued(
        "kafka.coordinator.assignors",
        "range.RangePartitionAssignor.assign roundrobin.RoundRobinPartitionAssignor.assign",
        "the second argument has the name that 3 gives it; assignors are called by position",
    ),
)
"""What takes other parameters than in some generation, and why."""


def is_argued(line: str) -> bool:
    """Whether one of `names.missing` is argued for: it begins with the name."""
    name, _, what = line.partition(": ")
    return _pattern(what.startswith("takes")).fullmatch(name) is not None


@cache
def _pattern(of_parameters: bool) -> re.Pattern[str]:
    rows = PARAMETERS if of_parameters else ARGUED
    names = [
        fnmatch.translate(name).removesuffix(r"\z").removesuffix(r"\Z")
        for row in rows
        for name in row.full_names
    ]
    return re.compile("|".join(rf"(?:{name})(?:\..*)?" for name in names))
