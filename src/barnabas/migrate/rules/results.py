"""What calls of the packages give, in the texts that `bindings` names values by. Knows no rules."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FUNCTIONS", "RESULTS"]

FUNCTIONS: Mapping[str, str] = {
    "next": "[]",
    "iter": "",
    "list": "",
    "reversed": "",
    "sorted": "",
    "tuple": "",
}
"""Functions of Python's: what stands for their result, behind what stands for their first argument."""

_RECORD = "kafka:ConsumerRecord()"
_TOPIC = "pykafka:Topic()"

RESULTS: Mapping[str, str] = {
    "kafka:KafkaConsumer().__enter__()": "kafka:KafkaConsumer()",
    "kafka:KafkaConsumer()[]": _RECORD,
    "kafka:KafkaConsumer().next()": _RECORD,
    "kafka:KafkaConsumer().next_v2()": _RECORD,
    "kafka:KafkaConsumer().poll()[][]": _RECORD,
    "kafka:KafkaConsumer().poll().values()[][]": _RECORD,
    "kafka:KafkaConsumer().poll().items()[][1][]": _RECORD,
    "kafka:KafkaConsumer().poll().get()[]": _RECORD,
    "kafka:KafkaProducer().send()": "kafka:FutureRecordMetadata()",
    "kafka:FutureRecordMetadata().get()": "kafka:RecordMetadata()",
    "pykafka:KafkaClient().topics[]": _TOPIC,
    "pykafka:KafkaClient().cluster.topics[]": _TOPIC,
    "pykafka:Topic().get_producer()": "pykafka:Producer()",
    "pykafka:Topic().get_sync_producer()": "pykafka:Producer()",
    "pykafka:Topic().get_simple_consumer()": "pykafka:SimpleConsumer()",
    "pykafka:Topic().get_balanced_consumer()": "pykafka:BalancedConsumer()",
    "confluent_kafka:Consumer().poll()": "confluent_kafka:Message()",
    "confluent_kafka:Consumer().consume()[]": "confluent_kafka:Message()",
    "mapr_streams_python:Consumer().poll()": "mapr_streams_python:Message()",
}
