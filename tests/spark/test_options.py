"""The options of the source and the sink, as Spark hands them over: names in lower case."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from barnabas.spark.errors import InvalidOptionError, UnsupportedOptionError
from barnabas.spark.option_table import READING
from barnabas.spark.options import (
    FOR_STREAMING_ONLY,
    SINK_OPTIONS,
    SOURCE_OPTIONS,
    Assign,
    Subscribe,
    SubscribePattern,
    include_headers,
    sink_options,
    source_options,
)
from barnabas.spark.planning.ranges import AtTime
from barnabas.types import TopicPartition

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
READ = SERVERS | {"subscribe": "flights"}


def test_a_read_needs_little() -> None:
    options = source_options(READ)
    assert options.subscription == Subscribe(("flights",))
    assert options.for_batch() == ("earliest", "latest")
    assert options.for_streaming() == "latest"
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert options.max_offsets_per_trigger is None
    assert options.poll_timeout_ms == 120_000


def test_names_and_symbols_are_taken_in_any_case() -> None:
    given = {"KAFKA.Bootstrap.Servers": "a:1", "SUBSCRIBE": "b , a,", "startingOFFSETS": "Earliest"}
    options = source_options(given | {"includeHeaders": "TRUE", "FAILONDATALOSS": "False"})
    assert options.subscription == Subscribe(("a", "b"))
    assert options.for_streaming() == "earliest"
    assert options.include_headers
    assert not options.fail_on_data_loss
    assert include_headers({"INCLUDEheaders": "true"})


def test_partitions_can_be_assigned() -> None:
    options = source_options(SERVERS | {"assign": '{"flights": [1, 0]}'})
    assert options.subscription == Assign((TopicPartition("flights", 0), TopicPartition("flights", 1)))


def test_topics_can_be_matched() -> None:
    subscription = source_options(SERVERS | {"subscribepattern": "flight.?"}).subscription
    assert isinstance(subscription, SubscribePattern)
    assert subscription.pattern.fullmatch("flights")


@pytest.mark.parametrize(
    "ways", [{}, {"subscribe": "a", "assign": '{"a":[0]}'}, {"subscribe": "a", "subscribepattern": "a"}]
)
def test_exactly_one_way_to_choose_partitions_is_taken(ways: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError, match="exactly one of assign, subscribe, subscribePattern"):
        source_options(SERVERS | ways)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("subscribe", " , ", "names no topic"),
        ("startingoffsets", "oldest", "startingOffsets must be earliest, latest or JSON"),
        ("startingoffsets", '{"flights": 3}', "startingOffsets"),
        ("includeheaders", "yes", "includeHeaders must be true or false, not 'yes'"),
        ("failondataloss", "0", "failOnDataLoss must be true or false"),
        ("maxoffsetspertrigger", "0", "maxOffsetsPerTrigger must be a whole number above 0"),
        ("maxoffsetspertrigger", "1.5", "maxOffsetsPerTrigger must be a whole number"),
        ("minpartitions", "0", "minPartitions must be a whole number above 0"),
        ("startingtimestamp", "yesterday", "startingTimestamp must be milliseconds since 1970"),
        ("startingoffsetsbytimestamp", '{"flights": {"0": -1}}', "flights-0 has -1, which is not a time"),
        ("startingoffsetsbytimestampstrategy", "skip", "must be error or latest, not 'skip'"),
        ("groupidprefix", " ", "groupIdPrefix is empty"),
        ("kafkaconsumer.polltimeoutms", "soon", "kafkaConsumer.pollTimeoutMs must be a whole number"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_name(option: str, value: str, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        source_options(READ | {option: value})


@pytest.mark.parametrize("offsets", ["latest", '{"flights": {"0": -1}}'])
def test_a_batch_cannot_start_at_latest(offsets: str) -> None:
    with pytest.raises(InvalidOptionError, match="startingOffsets cannot be latest"):
        source_options(READ | {"startingoffsets": offsets}).for_batch()


@pytest.mark.parametrize("offsets", ["earliest", '{"flights": {"0": -2}}'])
def test_a_batch_cannot_end_at_earliest(offsets: str) -> None:
    with pytest.raises(InvalidOptionError, match="endingOffsets cannot be earliest"):
        source_options(READ | {"endingoffsets": offsets}).for_batch()


def test_a_stream_has_no_end() -> None:
    with pytest.raises(InvalidOptionError, match="endingOffsets is not for streaming"):
        source_options(READ | {"endingoffsets": "latest"}).for_streaming()


def test_a_bounded_stream_has_one_and_needs_it() -> None:
    with pytest.raises(InvalidOptionError, match="boundedStream needs an end"):
        source_options(READ | {"boundedstream": "true"}).for_streaming()
    options = source_options(READ | {"boundedstream": "true", "endingoffsets": "latest"})
    assert options.for_streaming() == "latest"
    assert options.for_streaming_only == ("boundedStream",)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("endingoffsets", "latest"),
        ("endingtimestamp", "1000"),
        ("endingoffsetsbytimestamp", '{"flights": {"0": 1}}'),
    ],
)
def test_a_stream_is_told_which_option_gives_it_an_end(option: str, value: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"(?i)^{option} is not for streaming"):
        source_options(READ | {option: value}).for_streaming()


def test_one_time_comes_before_times_by_partition_and_these_before_offsets() -> None:
    by_partition = {"startingoffsetsbytimestamp": '{"flights": {"0": 7}}'}
    offsets = {"startingoffsets": "earliest", "endingoffsets": "latest"}
    ends = {"endingtimestamp": "9", "endingoffsetsbytimestamp": '{"flights": {"0": 8}}'}
    everything = READ | offsets | by_partition | {"startingtimestamp": "5"}
    assert source_options(everything).starting == AtTime(5, "startingTimestamp", is_required=True)
    partition = TopicPartition("flights", 0)
    assert source_options(READ | offsets | by_partition).starting == AtTime(
        {partition: 7}, "startingOffsetsByTimestamp", is_required=True
    )
    assert source_options(READ | offsets).starting == "earliest"
    assert source_options(READ | offsets | ends).ending == AtTime(9, "endingTimestamp", is_required=False)


def test_the_strategy_for_times_that_match_nothing_is_taken() -> None:
    options = source_options(
        READ | {"startingtimestamp": "5", "startingoffsetsbytimestampstrategy": "LATEST"}
    )
    assert options.starting == AtTime(5, "startingTimestamp", is_required=False)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("15m", 900_000), ("10s", 10_000), ("250ms", 250), ("3", 3), ("2h", 7_200_000), ("1 min", None)],
)
def test_a_delay_takes_sparks_units(text: str, milliseconds: int | None) -> None:
    if milliseconds is None:
        with pytest.raises(InvalidOptionError, match="maxTriggerDelay must be a time such as 15m"):
            source_options(READ | {"maxtriggerdelay": text})
    else:
        assert source_options(READ | {"maxtriggerdelay": text}).max_trigger_delay_ms == milliseconds


def test_the_options_of_sparks_connector_have_its_defaults() -> None:
    options = source_options(READ)
    assert options.max_trigger_delay_ms == 15 * 60 * 1000
    assert (options.offset_retries, options.offset_retry_interval_ms) == (3, 1000)
    assert options.min_offsets_per_trigger is options.min_partitions is None
    assert options.max_records_per_partition is options.committed_group is None


def test_a_least_number_above_the_most_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match=r"minOffsetsPerTrigger \(5\) .* maxOffsetsPerTrigger \(4\)"):
        source_options(READ | {"minoffsetspertrigger": "5", "maxoffsetspertrigger": "4"})


def test_a_group_id_reaches_the_client_as_it_is_or_made_from_a_prefix() -> None:
    named = READ | {"kafka.group.id": "mine", "groupidprefix": "team"}
    assert source_options(named).consumer_settings["group_id"] == "mine"
    ids = [source_options(READ | {"groupidprefix": "team"}).consumer_settings["group_id"] for _ in "ab"]
    assert all(group_id.startswith("team-") for group_id in ids)
    assert ids[0] != ids[1]
    assert "group_id" not in source_options(READ).consumer_settings


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnsupportedOptionError, match=r"'startingofset' .*did you mean 'startingOffsets'"):
        source_options(READ | {"startingofset": "earliest"})


def test_an_option_of_the_source_is_refused_by_the_sink() -> None:
    with pytest.raises(UnsupportedOptionError, match="'startingoffsets' means nothing to a write"):
        sink_options(SERVERS | {"startingoffsets": "earliest"})


@pytest.mark.parametrize("servers", [{}, {"kafka.bootstrap.servers": " "}])
def test_servers_must_be_given(servers: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError, match=r"kafka\.bootstrap\.servers is missing"):
        source_options(servers | {"subscribe": "flights"})


@pytest.mark.parametrize(
    "name",
    [
        "auto.offset.reset",
        "key.deserializer",
        "value.deserializer",
        "enable.auto.commit",
        "auto_offset_reset",
    ],
)
def test_settings_that_would_break_a_read_are_refused(name: str) -> None:
    with pytest.raises(InvalidOptionError, match=rf"kafka\.{name.replace('_', '.')} cannot be set: "):
        source_options(READ | {f"kafka.{name}": "x"})


@pytest.mark.parametrize("name", ["key.serializer", "value.serializer", "partitioner.class"])
def test_settings_that_would_break_a_write_are_refused(name: str) -> None:
    with pytest.raises(InvalidOptionError, match=rf"kafka\.{name} cannot be set: "):
        sink_options(SERVERS | {f"kafka.{name}": "x"})


def test_an_unknown_kafka_setting_names_the_nearest() -> None:
    with pytest.raises(
        UnsupportedOptionError, match=r"kafka\.fetch\.max\.wait is not .*'kafka\.fetch\.max\.wait\.ms'"
    ):
        source_options(READ | {"kafka.fetch.max.wait": "5"})


def test_a_kafka_setting_is_checked_by_its_own_table() -> None:
    with pytest.raises(InvalidOptionError, match="fetch_max_wait_ms must be a whole number, not 'soon'"):
        source_options(READ | {"kafka.fetch.max.wait.ms": "soon"})
    with pytest.raises(InvalidOptionError, match="'nowhere' is not host:port"):
        source_options(READ | {"kafka.bootstrap.servers": "nowhere"})


def test_kafka_settings_reach_the_client() -> None:
    settings = source_options(READ | {"kafka.isolation.level": "read_committed"}).consumer_settings
    assert settings["isolation_level"] == "read_committed"
    assert settings["bootstrap_servers"] == "localhost:9092"
    assert settings["auto_offset_reset"] == "none"
    assert sink_options(SERVERS | {"kafka.compression.type": "zstd"}).producer_settings == {
        "bootstrap_servers": "localhost:9092",
        "compression_type": "zstd",
    }


def test_settings_of_java_that_say_nothing_here_are_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = {"kafka.metric.reporters": "com.example.Reporter", "kafka.check.crcs": "true"}
    assert source_options(READ | options).consumer_settings == source_options(READ).consumer_settings
    assert [record.args for record in caplog.records] == [("metric.reporters",), ("check.crcs",)]


SECURITY = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.ssl.endpoint.identification.algorithm": "https",
    "kafka.ssl.truststore.type": "PEM",
    "kafka.ssl.truststore.location": "/etc/ca.pem",
    "kafka.ssl.keystore.location": "/etc/client.p12",
    "kafka.ssl.keystore.password": "changeit",
    "kafka.sasl.mechanism": "SCRAM-SHA-512",
}


@pytest.mark.parametrize(
    "login",
    [
        {
            "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="alice" password="secret";'
        },
        {"kafka.sasl.username": "alice", "kafka.sasl.password": "secret"},
    ],
    ids=["as in Java", "as in librdkafka"],
)
def test_security_is_set_as_in_java_or_by_name_and_password(login: dict[str, str]) -> None:
    taken = source_options(READ | SECURITY | login).consumer_settings
    given = SECURITY | login
    for name, value in given.items():
        assert taken[name.removeprefix("kafka.").replace(".", "_")] == value
    assert sink_options(SERVERS | given).producer_settings.items() <= taken.items()


def test_a_write_takes_what_spark_adds_for_itself() -> None:
    options = sink_options(SERVERS | {"topic": "delays", "checkpointlocation": "/tmp/x", "queryname": "q"})
    assert options.topic == "delays"
    assert sink_options(SERVERS).topic is None


@pytest.mark.parametrize(
    ("read", "given", "option"),
    [
        *((source_options, READ, each) for each in SOURCE_OPTIONS),
        *((sink_options, SERVERS, each) for each in SINK_OPTIONS),
    ],
)
def test_no_option_is_taken_and_not_looked_at(
    read: Callable[[dict[str, str]], object], given: dict[str, str], option: str
) -> None:
    with contextlib.suppress(InvalidOptionError):
        assert read({**given, option.lower(): "~"}) != read(given)


def test_the_table_says_which_options_mean_nothing_to_a_batch() -> None:
    said = {option.name for option in READING if option.doc.startswith("Streaming only: ")}
    assert said == set(FOR_STREAMING_ONLY)
