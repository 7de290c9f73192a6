"""What the constructors accept and refuse."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.stage import UNREACHABLE, Stage

QUIET = {"bootstrap.servers": UNREACHABLE, "log_level": 0}


def _try(stage: Stage, constructor: Any, *settings: dict[Any, Any]) -> None:
    """What each configuration is answered with; those accepted are closed."""
    for setting in settings:
        try:
            client = constructor(QUIET | setting)
        except Exception as error:
            stage.record(str(setting), error)
        else:
            stage.record(str(setting), "accepted")
            client.close()


@script()
def unknown_properties_are_refused(kafka: ModuleType, stage: Stage) -> None:
    names = ["foo", "Bootstrap.Servers", "linger_ms", "", "group.id ", "topic.foo"]
    _try(stage, kafka.Producer, *({name: "x"} for name in names))
    _try(stage, kafka.Consumer, *({"group.id": "g", name: "x"} for name in names if name))


@script()
def property_names_are_strings(kafka: ModuleType, stage: Stage) -> None:
    _try(stage, kafka.Producer, {3: "x"}, {None: "x"}, {b"linger.ms": 5}, {("linger.ms",): 5})


@script()
def numbers_of_other_types_are_read_as_their_text(kafka: ModuleType, stage: Stage) -> None:
    values: list[Any] = [
        "5",
        " 5",
        "5 ",
        "0x10",
        "1e2",
        "5.5",
        5.5,
        True,
        [1],
        b"5",
        "",
        None,
        "abc",
        "-1",
        5,
    ]
    _try(stage, kafka.Producer, *({"message.send.max.retries": value} for value in values))


@script()
def fractions_are_read_as_their_text(kafka: ModuleType, stage: Stage) -> None:
    values: list[Any] = ["5", "0.5", ".5", "1e2", "5.5x", "", None, "nan", "-1", 900001, 0.1]
    _try(stage, kafka.Producer, *({"linger.ms": value} for value in values))


@script()
def numbers_out_of_range_are_refused(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Producer,
        {"linger.ms": -5},
        {"linger.ms": 10**9},
        {"queue.buffering.max.messages": -1},
        {"queue.buffering.max.kbytes": 0},
        {"batch.size": 0},
        {"batch.num.messages": 10**7},
        {"message.max.bytes": 999},
        {"message.max.bytes": 10**10},
        {"retries": -1},
        {"socket.timeout.ms": 9},
        {"max.in.flight": 0},
        {"message.timeout.ms": -1},
        {"request.timeout.ms": 0},
        {"statistics.interval.ms": -1},
        {"acks": 1001},
        {"acks": -2},
        {"compression.level": 13},
        {"transaction.timeout.ms": 999},
        {"retry.backoff.ms": 0},
    )


@script()
def consumers_numbers_out_of_range_are_refused(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Consumer,
        *(
            {"group.id": "g"} | setting
            for setting in (
                {"session.timeout.ms": 0},
                {"heartbeat.interval.ms": 0},
                {"max.poll.interval.ms": 0},
                {"auto.commit.interval.ms": -1},
                {"queued.min.messages": 0},
                {"queued.max.messages.kbytes": 0},
                {"fetch.wait.max.ms": -1},
                {"fetch.max.bytes": -1},
                {"fetch.min.bytes": 0},
                {"fetch.message.max.bytes": 0},
                {"fetch.error.backoff.ms": -1},
                {"consume.callback.max.messages": -1},
            )
        ),
    )


@script()
def words_that_a_property_does_not_know_are_refused(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Producer,
        {"compression.type": "zzz"},
        {"compression.codec": "GZIP"},
        {"compression.type": "inherit"},
        {"security.protocol": "zzz"},
        {"security.protocol": "PLAINTEXT"},
        {"partitioner": "x"},
        {"queuing.strategy": "x"},
        {"broker.address.family": "v5"},
        {"client.dns.lookup": "never"},
        {"acks": "most"},
        {"acks": "-1"},
        {"debug": "everything"},
        {"compression.type": ""},
        {"compression.type": None},
        {"compression.type": 2},
    )


@script()
def consumers_words_that_are_not_known_are_refused(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Consumer,
        *(
            {"group.id": "g"} | setting
            for setting in (
                {"auto.offset.reset": "zzz"},
                {"auto.offset.reset": "Earliest"},
                {"auto.offset.reset": "beginning"},
                {"auto.offset.reset": "none"},
                {"isolation.level": "x"},
                {"partition.assignment.strategy": "foo"},
                {"partition.assignment.strategy": "range,cooperative-sticky"},
                {"partition.assignment.strategy": ""},
                {"group.protocol": "new"},
                {"offset.store.method": "file"},
            )
        ),
    )


@script()
def booleans_have_some_spellings(kafka: ModuleType, stage: Stage) -> None:
    values: list[Any] = [
        "true",
        "false",
        "True",
        "t",
        "1",
        "0",
        1,
        0,
        True,
        False,
        "yes",
        "maybe",
        "",
        None,
        2,
    ]
    _try(stage, kafka.Producer, *({"socket.keepalive.enable": value} for value in values))


@script()
def properties_of_the_other_kind_of_client_are_ignored(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Producer,
        {"group.id": "g"},
        {"auto.offset.reset": "earliest"},
        {"session.timeout.ms": "x"},
    )
    _try(stage, kafka.Consumer, {"group.id": "g", "linger.ms": 5}, {"group.id": "g", "acks": 1})
    _try(stage, kafka.Consumer, {"group.id": "g", "acks": "x"}, {"group.id": "g", "transactional.id": "t"})


@script()
def a_consumer_needs_a_group(kafka: ModuleType, stage: Stage) -> None:
    stage.attempt("nothing", kafka.Consumer, {})
    stage.attempt("no group", kafka.Consumer, QUIET)
    stage.attempt("with another property", kafka.Consumer, QUIET | {"auto.offset.reset": "earliest"})
    stage.attempt("with an unknown property", kafka.Consumer, QUIET | {"foo": 1})


@script()
def constructors_take_one_dictionary_keywords_or_both(kafka: ModuleType, stage: Stage) -> None:
    stage.attempt("nothing", lambda: kafka.Producer())
    stage.attempt("a number", kafka.Producer, 3)
    stage.attempt("none", kafka.Producer, None)
    stage.attempt("a list", kafka.Producer, [("linger.ms", 5)])
    stage.attempt("two", kafka.Producer, QUIET, {})
    stage.attempt("consumer without anything", lambda: kafka.Consumer())
    stage.attempt("consumer with a text", kafka.Consumer, "group.id=g")
    stage.attempt("two for a consumer", kafka.Consumer, {"group.id": "g"}, {})
    stage.within("keywords", lambda: kafka.Producer(**QUIET).close())
    stage.within("both", lambda: kafka.Producer(QUIET, **{"linger.ms": 5}).close())
    stage.attempt("an unknown keyword", lambda: kafka.Producer(QUIET, foo=3))
    stage.attempt("a keyword with underscores", lambda: kafka.Producer(QUIET, linger_ms=3))
    stage.attempt("the keyword wins", lambda: kafka.Producer(QUIET | {"linger.ms": 5}, **{"linger.ms": "x"}))
    stage.within("a bad value replaced", lambda: kafka.Producer(QUIET | {"acks": "x"}, acks=1).close())


@script()
def the_dictionary_is_left_as_it_was(kafka: ModuleType, stage: Stage) -> None:
    def on_delivery(*arguments: object) -> None: ...

    settings = QUIET | {"on_delivery": on_delivery, "linger.ms": 5, "default.topic.config": {"acks": 1}}
    kafka.Producer(settings).close()
    stage.record("afterwards", settings)
    settings = QUIET | {"group.id": "g", "on_commit": on_delivery, "error_cb": on_delivery}
    kafka.Consumer(settings).close()
    stage.record("a consumer's", settings)


@script()
def callbacks_must_be_callable(kafka: ModuleType, stage: Stage) -> None:
    for name in ("error_cb", "throttle_cb", "stats_cb", "oauth_cb", "on_delivery", "log_cb"):
        _try(stage, kafka.Producer, {name: 3}, {name: None}, {name: "print"})
    for name in ("error_cb", "on_commit", "on_delivery", "offset_commit_cb", "rebalance_cb"):
        _try(stage, kafka.Consumer, {"group.id": "g", name: 3}, {"group.id": "g", name: None})


@script()
def the_default_topic_configuration_is_still_taken(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Producer,
        {"default.topic.config": {"acks": 1}},
        {"default.topic.config": {"acks": "x"}},
        {"default.topic.config": {"linger.ms": 5}},
        {"default.topic.config": {"foo": 5}},
        {"default.topic.config": {}},
        {"default.topic.config": 3},
        {"default.topic.config": None},
        {"default.topic.config": {3: 5}},
        {"default.topic.config": {"acks": None}},
    )


@script()
def python_properties_have_types_of_their_own(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Producer,
        {"delivery.report.only.error": "true"},
        {"delivery.report.only.error": True},
        {"delivery.report.only.error": 1},
        {"delivery.report.only.error": None},
        {"logger": 3},
        {"logger": None},
        {"dr_cb": print},
        {"dr_msg_cb": print},
        {"opaque": 3},
        {"default_topic_conf": {}},
    )


@script()
def aliases_name_the_same_property(kafka: ModuleType, stage: Stage) -> None:
    for alias in (
        "metadata.broker.list",
        "queue.buffering.max.ms",
        "max.in.flight.requests.per.connection",
        "message.send.max.retries",
        "request.required.acks",
        "compression.codec",
        "delivery.timeout.ms",
        "sasl.mechanism",
        "debug",
    ):
        _try(stage, kafka.Producer, {alias: "\n"}, {alias: ""})


@script()
def settings_that_contradict_each_other_are_refused(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Producer,
        {"enable.idempotence": True, "acks": 1},
        {"enable.idempotence": True, "acks": 0},
        {"enable.idempotence": True, "max.in.flight": 6},
        {"enable.idempotence": True, "retries": 0},
        {"enable.idempotence": True, "queuing.strategy": "lifo"},
        {"transactional.id": "t", "enable.idempotence": False},
        {"transactional.id": "t", "acks": 1},
        {"transactional.id": "t", "transaction.timeout.ms": 5000, "message.timeout.ms": 6000},
        {"transactional.id": ""},
        {"enable.gapless.guarantee": True},
        {"linger.ms": 5000, "message.timeout.ms": 4000},
        {"socket.timeout.ms": 20, "socket.blocking.max.ms": 10},
    )


@script()
def consumers_settings_that_contradict_each_other_are_refused(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Consumer,
        *(
            {"group.id": "g"} | setting
            for setting in (
                {"session.timeout.ms": 60000, "max.poll.interval.ms": 1000},
                {"session.timeout.ms": 6000, "heartbeat.interval.ms": 7000},
                {"fetch.max.bytes": 10, "message.max.bytes": 1000},
                {"fetch.max.bytes": 2000, "message.max.bytes": 1000, "fetch.message.max.bytes": 3000},
                {"group.protocol": "consumer", "session.timeout.ms": 6000},
                {"group.protocol": "consumer", "heartbeat.interval.ms": 1000},
                {"group.protocol": "consumer", "partition.assignment.strategy": "range"},
                {"group.protocol": "consumer", "group.remote.assignor": "uniform"},
                {"group.protocol": "classic", "group.remote.assignor": "uniform"},
                {"group.protocol": "consumer", "group.protocol.type": "consumer"},
                {"fetch.wait.max.ms": 5000, "socket.timeout.ms": 4000},
                {"fetch.queue.backoff.ms": 5, "queued.max.messages.kbytes": 1},
            )
        ),
    )


@script()
def security_settings_are_checked_when_the_client_is_made(kafka: ModuleType, stage: Stage) -> None:
    _try(
        stage,
        kafka.Producer,
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN"},
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "u"},
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "NONSENSE"},
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u"},
        {"security.protocol": "ssl", "ssl.ca.location": "/nowhere/ca.pem"},
        {"security.protocol": "plaintext", "ssl.ca.location": "/nowhere/ca.pem"},
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"},
    )


@script()
def names_and_secrets_of_blanks_are_given(kafka: ModuleType, stage: Stage) -> None:
    texts = ("", " ", "x")
    users = [{"sasl.username": user, "sasl.password": secret} for user in texts for secret in texts]
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        wanted = {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism}
        _try(stage, kafka.Producer, *(wanted | user for user in users))
    oidc = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/",
    }
    for name in texts:
        for secret in texts:
            client = {"sasl.oauthbearer.client.id": name, "sasl.oauthbearer.client.secret": secret}
            _try(stage, kafka.Producer, oidc | client)


@script()
def bootstrap_servers_are_checked(kafka: ModuleType, stage: Stage) -> None:
    for servers in ("", ",", "localhost:notaport", "PLAINTEXT://127.0.0.1:1", "a b", None, 9092):
        _try(stage, kafka.Producer, {"bootstrap.servers": servers})
    stage.attempt(
        "a protocol that is not used", kafka.Producer, QUIET | {"bootstrap.servers": "SSL://127.0.0.1:1"}
    )


@script()
def admin_clients_check_their_settings(kafka: ModuleType, stage: Stage) -> None:
    AdminClient = stage.module("admin").AdminClient
    stage.attempt("nothing", lambda: AdminClient())
    stage.attempt("a number", AdminClient, 3)
    stage.attempt("unknown", AdminClient, {"foo": 1})
    stage.attempt("out of range", AdminClient, QUIET | {"socket.timeout.ms": 1})
    stage.attempt("a callback", AdminClient, QUIET | {"error_cb": 3})
    stage.attempt("unknown keyword", lambda: AdminClient(QUIET, foo=3))
    stage.within("a producer's", AdminClient, QUIET | {"linger.ms": 5})


@script()
def share_consumers_check_their_settings(kafka: ModuleType, stage: Stage) -> None:
    stage.attempt("nothing", lambda: kafka.ShareConsumer())
    stage.attempt("no group", kafka.ShareConsumer, QUIET)
    _try(
        stage,
        kafka.ShareConsumer,
        *(
            {"group.id": "g"} | setting
            for setting in (
                {"foo": 1},
                {"enable.auto.commit": True},
                {"auto.offset.reset": "earliest"},
                {"group.instance.id": "i"},
                {"session.timeout.ms": 1000},
                {"group.protocol": "classic"},
                {"share.acknowledgement.mode": "maybe"},
                {"share.acknowledgement.mode": "explicit"},
                {"max.poll.records": 0},
                {"isolation.level": "read_committed"},
            )
        ),
    )


@script()
def warnings_about_settings_go_to_the_logger(kafka: ModuleType, stage: Stage) -> None:
    import logging

    lines: list[tuple[int, str]] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((record.levelno, record.getMessage()))

    logger = logging.getLogger(stage.name("logger"))
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(Handler())
    producer = kafka.Producer({"group.id": "g", "client.id": "c"}, logger=logger)
    stage.record("before poll", len(lines))
    stage.until(lambda: len(lines) >= 2, lambda: producer.poll(0.05))
    stage.record("lines", lines)
    producer.close()


# One of each kind that librdkafka knows, and what the original itself adds.
NAMES = (
    "bootstrap.servers",
    "metadata.broker.list",
    "client.id",
    "linger.ms",
    "acks",
    "enable.idempotence",
    "compression.type",
    "partitioner",
    "auto.offset.reset",
    "security.protocol",
    "sasl.mechanism",
    "sasl.username",
    "statistics.interval.ms",
    "topic.blacklist",
    "broker.version.fallback",
    "ssl.ca.location",
    "group.instance.id",
    "group.protocol",
    "transactional.id",
    "client.rack",
    "debug",
    "plugin.library.paths",
    "builtin.features",
    "ssl.ca.certificate.stores",
    "ssl.truststore.location",
    "sasl.jaas.config",
    "interceptors",
    "dr_cb",
    "error_cb",
    "throttle_cb",
    "stats_cb",
    "oauth_cb",
    "logger",
    "on_delivery",
    "on_commit",
    "delivery.report.only.error",
    "default.topic.config",
    "nonsense",
)


@script()
def None_is_refused_where_a_property_cannot_be_unset(kafka: ModuleType, stage: Stage) -> None:
    admin: Any = stage.module("admin")
    kinds: dict[str, Any] = {
        "Producer": kafka.Producer,
        "Consumer": lambda conf: kafka.Consumer({"group.id": "g", **conf}),
        "ShareConsumer": lambda conf: kafka.ShareConsumer({"group.id": "g", **conf}),
        "AdminClient": admin.AdminClient,
    }
    for kind, make in kinds.items():
        for name in NAMES:
            for where, conf in {"": {name: None}, "topic: ": {"default.topic.config": {name: None}}}.items():
                if kind == "AdminClient" and where:
                    continue
                label = f"{kind}: {where}{name}"
                made = stage.within(label, make, {"log_level": 0, **conf})
                stage.record(f"{label} is taken", made is not None)
                if hasattr(made, "close"):
                    made.close()


def _record_brokers(kafka: ModuleType, stage: Stage, label: str, conf: dict[str, Any], **kwargs: Any) -> None:
    """What the statistics name."""
    received: list[str] = []
    watched = {"statistics.interval.ms": 50, "stats_cb": received.append, "log_level": 0}
    producer = kafka.Producer({**watched, **conf}, **kwargs)
    stage.until(lambda: received, lambda: producer.poll(0.05))
    statistics = json.loads(received[0])
    stage.record(label, [sorted(statistics["brokers"]), statistics["client_id"]])
    producer.close()


@script()
def None_takes_away_what_an_earlier_dictionary_had(kafka: ModuleType, stage: Stage) -> None:
    servers, none = {"bootstrap.servers": UNREACHABLE}, {"bootstrap.servers": None}
    alias, no_alias = {"metadata.broker.list": UNREACHABLE}, {"metadata.broker.list": None}
    cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "set": (servers, {}),
        "unset": (none, {}),
        "keyword unsets": (servers, none),
        "keyword sets": (none, servers),
        "topics unset": ({**servers, "default.topic.config": none}, {}),
        "topics set": ({**none, "default.topic.config": servers}, {}),
        "keyword after topics": ({"default.topic.config": servers}, none),
        "alias unsets": ({**servers, **no_alias}, {}),
        "alias is set after": ({**none, **alias}, {}),
        "set after the alias": ({**no_alias, **servers}, {}),
        "keyword unsets the alias": (alias, no_alias),
        "keyword unsets by the alias": (servers, no_alias),
        "client.id": ({"client.id": "c"}, {"client.id": None}),
        "client.id of topics": ({"client.id": "c", "default.topic.config": {"client.id": None}}, {}),
    }
    for label, (conf, kwargs) in cases.items():
        _record_brokers(kafka, stage, label, conf, **kwargs)
