"""The settings of a KafkaProducer: what is refused, and what the configuration has then."""

from tests.compat.kafka.differential.played.script import on_kafka, script
from tests.compat.kafka.differential.played.stage import WAIT_SECONDS
from tests.compat.playing.played.stage import UNREACHABLE


@script()
def a_setting_that_there_is_not_is_refused(kafka, stage):
    # The originals show values too, which may be secrets.
    stage.raised("one", kafka.KafkaProducer, bootstrap_servers=UNREACHABLE, no_such_setting=1)
    stage.raised("a consumer's", kafka.KafkaProducer, bootstrap_servers=UNREACHABLE, group_id="group")


@script()
def servers_that_do_not_answer_are_told(kafka, stage):
    settings = {} if stage.generation == "1.2" else {"api_version_auto_timeout_ms": 300}
    if stage.generation == "3":
        settings = {"bootstrap_timeout_ms": 300}
    stage.attempt("not there", kafka.KafkaProducer, bootstrap_servers=UNREACHABLE, **settings)


@on_kafka()
def defaults_are_told(kafka, stage):
    producer = stage.producer()
    known = (
        *("acks", "retries", "batch_size", "linger_ms", "max_block_ms", "max_request_size"),
        *("request_timeout_ms", "compression_type", "client_id", "max_in_flight_requests_per_connection"),
        *("key_serializer", "value_serializer", "metadata_max_age_ms", "retry_backoff_ms"),
    )
    for name in known:
        if name != "client_id":
            stage.record(name, producer.config[name])
    stage.record("a client's id", producer.config["client_id"].rpartition("-")[0])


@on_kafka("2", "3")
def defaults_of_idempotence_are_told(kafka, stage):
    producer = stage.producer()
    for name in ("enable_idempotence", "transactional_id", "delivery_timeout_ms", "transaction_timeout_ms"):
        stage.record(name, producer.config[name])


@on_kafka()
def all_acks_are_a_number(kafka, stage):
    stage.record("all", stage.producer(acks="all").config["acks"])
    stage.record("one", stage.producer(acks=1).config["acks"])


@on_kafka("2")
def an_idempotent_producer_of_2_sets_other_settings(kafka, stage):
    producer = stage.producer(enable_idempotence=True)
    for name in ("acks", "retries", "max_in_flight_requests_per_connection", "enable_idempotence"):
        stage.record(name, producer.config[name])
    stage.attempt("sends", lambda: producer.send(stage.topic(), b"value").get(timeout=WAIT_SECONDS))
    stage.attempt("acks", stage.producer, enable_idempotence=True, acks=1)
    stage.attempt("no retries", stage.producer, enable_idempotence=True, retries=0)
    stage.attempt(
        "in flight", stage.producer, enable_idempotence=True, max_in_flight_requests_per_connection=5
    )
    stage.attempt("transactional", stage.producer, enable_idempotence=False, transactional_id="identity")


@on_kafka("3")
def an_idempotent_producer_of_3_refuses_what_excludes_it(kafka, stage):
    stage.attempt("acks", stage.producer, enable_idempotence=True, acks=1)
    stage.attempt("no acks", stage.producer, enable_idempotence=True, acks=0)
    stage.attempt("no retries", stage.producer, enable_idempotence=True, retries=0)
    stage.attempt(
        "in flight", stage.producer, enable_idempotence=True, max_in_flight_requests_per_connection=6
    )
    stage.attempt("two of them", stage.producer, enable_idempotence=True, acks=1, retries=0)
    stage.attempt("transactional", stage.producer, enable_idempotence=False, transactional_id="identity")
    stage.attempt("transactional acks", stage.producer, acks=1, transactional_id="identity")


@on_kafka("3")
def idempotence_by_default_gives_way(kafka, stage):
    for settings in (
        {"acks": 1},
        {"acks": 0},
        {"retries": 0},
        {"max_in_flight_requests_per_connection": 6},
        {"acks": "all", "retries": 3},
    ):
        producer = stage.producer(**settings)
        stage.record(f"{settings}", (producer.config["enable_idempotence"], producer.config["acks"]))


@on_kafka("2", "3")
def idempotence_is_refused_where_brokers_are_said_to_be_old(kafka, stage):
    for settings in ({"enable_idempotence": True}, {"transactional_id": "identity"}):
        stage.attempt(f"{settings}", stage.producer, api_version=(0, 10, 0), **settings)
    producer = stage.producer(api_version=(0, 10, 0))
    stage.record("by default", producer.config["enable_idempotence"])


@on_kafka("2", "3")
def a_delivery_takes_as_long_as_a_request(kafka, stage):
    stage.attempt("too short", stage.producer, delivery_timeout_ms=1000)
    stage.attempt("too long a linger", stage.producer, linger_ms=100000)
    producer = stage.producer(delivery_timeout_ms=2000, request_timeout_ms=1000, linger_ms=1000)
    stage.attempt("just long", lambda: producer.send(stage.topic(), b"value").get(timeout=WAIT_SECONDS))


@on_kafka("2", "3")
def a_codec_that_there_is_not_is_refused(kafka, stage):
    stage.attempt("unknown", stage.producer, compression_type="brotli")
    stage.attempt("empty", stage.producer, compression_type="")


@on_kafka("1.2")
def a_codec_that_there_is_not_is_refused_by_send(kafka, stage):
    producer = stage.producer(compression_type="brotli")
    stage.attempt("unknown", producer.send, stage.topic(), b"value")


@on_kafka("2", "3")
def versions_of_brokers_may_be_given(kafka, stage):
    topic = stage.topic()
    for version in ((2, 0), (2, 5), (1, 0)):
        producer = stage.producer(api_version=version)
        stage.record("configured", producer.config["api_version"])
        stage.attempt(
            f"sends as {version}",
            lambda producer=producer: producer.send(topic, b"value").get(timeout=WAIT_SECONDS).offset,
        )


@on_kafka("2", "3")
def a_version_may_be_a_text(kafka, stage):
    producer = stage.producer(api_version="2.0.0")
    stage.record("configured", producer.config["api_version"])


@on_kafka("1.2")
def a_version_of_1_is_a_text(kafka, stage):
    stage.record("found", stage.producer().config["api_version"])
    stage.record("given", stage.producer(api_version="0.9").config["api_version"])
    stage.attempt("unknown", stage.producer, api_version="0.7")


@on_kafka("3")
def functions_as_serializers_are_warned_of(kafka, stage):
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        producer = stage.producer(value_serializer=str.encode, key_serializer=bytes)
    told = [each for each in caught if "serializer" in str(each.message)]
    stage.record("warnings", sorted(str(each.message) for each in told))
    stage.record("categories", sorted({each.category.__name__ for each in told}))
    stage.record("wrapped", type(producer.config["value_serializer"]).__name__)


@on_kafka()
def names_of_clients_are_numbered(kafka, stage):
    first, second = stage.producer(), stage.producer()
    numbers = [int(each.config["client_id"].rpartition("-")[2]) for each in (first, second)]
    stage.record("one after the other", numbers[1] - numbers[0])
    stage.record("given", stage.producer(client_id="mine").config["client_id"])


@on_kafka()
def servers_are_given_in_any_form(kafka, stage):
    topic = stage.topic()
    # Release 3 draws a server each time, with a back-off that grows until its time is up.
    patience = {"bootstrap_timeout_ms": WAIT_SECONDS * 1000, "reconnect_backoff_max_ms": 100}
    for label, servers in (
        ("a list", [stage.bootstrap]),
        ("a text", stage.bootstrap),
        ("several", [UNREACHABLE, stage.bootstrap]),
        ("separated by commas", f"{UNREACHABLE},{stage.bootstrap}"),
    ):
        producer = stage.producer(bootstrap_servers=servers, **(patience if stage.generation == "3" else {}))
        future = producer.send(topic, b"value")
        stage.attempt(label, lambda future=future: future.get(timeout=WAIT_SECONDS).topic)


@on_kafka("2")
def a_bound_of_memory_is_no_setting_of_2(kafka, stage):
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        producer = stage.producer(buffer_memory=1000000)
        told = [each for each in caught if "Producer" in str(each.message)]
        stage.record("warnings", [(str(each.message), each.category.__name__) for each in told])
    stage.record("configured", "buffer_memory" in producer.config)


@on_kafka("3")
def a_partitioner_that_is_none_is_warned_of(kafka, stage):
    import warnings

    class Own:
        def partition(self, *arguments):
            stage.record("called", arguments[:-1])
            return 1

    topic = stage.topic(2)
    producer = stage.producer(partitioner=Own())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stage.attempt(
            "sent", lambda: producer.send(topic, b"value", b"key").get(timeout=WAIT_SECONDS).partition
        )
        told = [each for each in caught if "artitioner" in str(each.message)]
        stage.record("warnings", [(str(each.message), each.category.__name__) for each in told])


@script("2", "3")
def formats_of_messages_are_told_by_version(kafka, stage):
    for version in ((0, 9), (0, 10, 0), (0, 11), (4, 0)):
        stage.record(f"{version}", kafka.KafkaProducer.max_usable_produce_magic(version))
    stage.record("deprecated", kafka.KafkaProducer.DEPRECATED_CONFIGS)
