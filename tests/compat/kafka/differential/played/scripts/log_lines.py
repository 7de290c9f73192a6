"""What is logged at WARNING and ERROR, by logger, level and the part of the text that people look for."""

import contextlib

from tests.compat.kafka.differential.played.script import on_kafka, script


@script("1.2", "2")
def a_server_that_cannot_be_reached_is_logged(kafka, stage):
    stage.keep_log()
    with contextlib.suppress(Exception):
        kafka.KafkaConsumer(bootstrap_servers=stage.bootstrap)
    stage.record_log("logged", "returned error 111. Disconnecting.")


@script("3")
def a_server_that_cannot_be_reached_is_logged_by_the_net(kafka, stage):
    stage.keep_log()
    stage.raised("consumer", kafka.KafkaConsumer, bootstrap_servers=stage.bootstrap, bootstrap_timeout_ms=500)
    stage.record_log("logged", "Connection failed: KafkaConnectionError")
    stage.record_log("logged", "node_id=bootstrap-0")
    stage.record_log("logged", "Bootstrap connection to bootstrap-0 failed: KafkaConnectionError")


@on_kafka("2")
def a_consumer_that_is_not_polled_is_logged(kafka, stage):
    topic = stage.filled_topic(b"a")
    stage.keep_log()
    consumer = stage.consumer(topic, group_id=stage.group(), max_poll_interval_ms=2000)
    stage.poll(consumer, 1)
    stage.until(lambda: any("poll timeout has expired" in line[2] for line in list(stage._log.lines)))
    stage.record_log("logged", "Consumer poll timeout has expired.")
