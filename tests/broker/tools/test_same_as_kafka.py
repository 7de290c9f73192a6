"""Apache Kafka's own tools do their ordinary jobs on the embedded broker, and print what they print on Kafka.

What differs by nature is not looked at: addresses, ids, and directories.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import ApacheKafka, EmbeddedBroker

from .java import CONFIG, OF_TEST_KAFKA, Java, first_difference

JOBS: dict[str, tuple[str, ...]] = {
    "topics": (
        "topics --create --topic a --partitions 2 --config max.message.bytes=2000000",
        "topics --create --topic a",
        "topics --create --topic a --if-not-exists",
        "topics --create --topic b --replica-assignment 1,1,1",
        "topics --create --topic c --config retention.ms=x",
        "topics --create --topic c --config no.such=1",
        "topics --create --topic c --replication-factor 2",
        "topics --create --topic c..d/ --partitions 1",
        "topics --list --exclude-internal",
        "topics --describe --topic a|b",
        "topics --describe --topics-with-overrides --exclude-internal",
        "topics --describe --unavailable-partitions",
        "topics --describe --topic nowhere",
        "topics --alter --topic a --partitions 3",
        "topics --alter --topic a --partitions 2",
        "get-offsets --topic a --time -1",
        "get-offsets --topic-partitions a:0,b:1-3 --time earliest",
        "topics --delete --topic b",
        "topics --delete --topic b",
        "topics --delete --topic b --if-exists",
    ),
    "configs": (
        "topics --create --topic of-configs",
        "configs --alter --topic of-configs --add-config retention.ms=1000,cleanup.policy=[compact,delete]",
        "configs --describe --topic of-configs",
        "configs --alter --topic of-configs --delete-config retention.ms",
        "configs --describe --topic of-configs",
        "configs --alter --topic of-configs --add-config segment.bytes=1",
        "configs --alter --topic of-configs --add-config compression.gzip.level=99",
        "configs --alter --topic of-configs --add-config no.such=1",
        "configs --alter --topic nowhere --add-config retention.ms=1",
        "configs --describe --topic nowhere",
        "configs --alter --entity-type users --entity-name al --add-config producer_byte_rate=100",
        "configs --describe --entity-type users --entity-name al",
        "configs --alter --entity-type users --entity-default --add-config request_percentage=50",
        "configs --alter --user al --add-config SCRAM-SHA-256=[iterations=4096,password=x]",
        "configs --describe --user al",
        "configs --alter --user al --delete-config SCRAM-SHA-256,producer_byte_rate",
        "configs --describe --user al",
        "configs --alter --entity-type ips --entity-name 127.0.0.9 --add-config connection_creation_rate=10",
        "configs --describe --ip 127.0.0.9",
        "configs --alter --group of-configs --add-config consumer.session.timeout.ms=50000",
        "configs --alter --group of-configs --add-config consumer.session.timeout.ms=1",
        "configs --alter --client-metrics of-configs --add-config interval.ms=1000",
        "configs --describe --client-metrics of-configs",
    ),
    "acls": (
        "acls --list",
        "acls --add --allow-principal User:al --operation Read --operation Write --topic t",
        "acls --add --allow-principal User:bo --producer --topic p --transactional-id x --idempotent",
        "acls --add --allow-principal User:c --consumer --topic p --group g --resource-pattern-type prefixed",
        "acls --add --deny-principal User:al --deny-host 127.0.0.9 --operation All --cluster",
        "acls --list --topic t",
        "acls --list --principal User:c",
        "acls --add --allow-principal User:al --operation Create --group g",
        "acls --remove --force --allow-principal User:al --operation Read --topic t",
        "acls --remove --force --topic p --resource-pattern-type any",
        "acls --list",
    ),
    "groups": (
        "topics --create --topic of-groups --partitions 2",
        "consumer-groups --list",
        "groups --list",
        "consumer-groups --describe --group nowhere",
        "consumer-groups --reset-offsets --group fresh --topic of-groups --to-earliest --dry-run",
        "consumer-groups --reset-offsets --group fresh --topic of-groups --to-offset 0 --execute",
        "consumer-groups --describe --group fresh",
        "consumer-groups --describe --group fresh --state",
        "consumer-groups --describe --group fresh --members",
        "consumer-groups --list --state --type",
        "consumer-groups --delete-offsets --group fresh --topic of-groups:0",
        "consumer-groups --delete-offsets --group fresh --topic nowhere",
        "groups --list",
        "share-groups --list",
        "share-groups --describe --group nowhere",
        "consumer-groups --delete --group fresh",
        "consumer-groups --delete --group fresh",
    ),
    "partitions": (
        "topics --create --topic of-partitions --partitions 2",
        "leader-election --election-type preferred --topic of-partitions --partition 0",
        "leader-election --election-type preferred --topic nowhere --partition 0",
        "reassign-partitions --list",
        "transactions list",
        "transactions describe --transactional-id nobody",
        "transactions describe-producers --topic of-partitions --partition 0",
        "transactions find-hanging --broker-id 1",
    ),
    "features": (
        "features describe",
        "features upgrade --release-version 4.3",
        "features describe",
        "features downgrade --feature kraft.version=0",
        "features downgrade --feature group.version=0 --dry-run",
        "features upgrade --feature nope=1",
        "features downgrade --metadata 4.2-IV0",
        "features version-mapping",
        "features feature-dependencies --feature transaction.version=2",
        "features disable --feature streams.version",
        "features upgrade --feature streams.version=1",
        "client-metrics --alter --name c --metrics a.,b. --interval 1000 --match client_id=c",
        "client-metrics --describe --name c",
        "client-metrics --delete --name c",
        "client-metrics --list",
    ),
}


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[ApacheKafka, EmbeddedBroker]]:
    with ApacheKafka(config=CONFIG) as kafka, EmbeddedBroker(config=CONFIG | OF_TEST_KAFKA) as embedded:
        yield kafka, embedded


@pytest.mark.parametrize("job", JOBS)
def test_tools_print_what_they_print_on_kafka(
    java: Java, both: tuple[ApacheKafka, EmbeddedBroker], job: str
) -> None:
    assert first_difference(both, java, JOBS[job]) == ""
