# pyright: basic
"""Produces increasing numbers to a topic and tells, as lines of JSON, which of them were acknowledged.

Run by Kafka's system tests: `python -m barnabas.compat.confluent_kafka.kafkatest.verifiable_producer --help`.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from barnabas.compat.confluent_kafka.cimpl import KafkaError, KafkaException, Producer
from barnabas.compat.confluent_kafka.kafkatest.verifiable_client import (
    VerifiableClient,
    add_connection_arguments,
    read_arguments,
)

# The offset, as Kafka's own program tells it, where the broker does not (acks=0).
NOT_TOLD = -1


class VerifiableProducer(VerifiableClient):
    """A Producer that prints the outcome of each message."""

    def __init__(self, conf: dict[str, Any]) -> None:
        """`conf`: of the Producer."""
        super().__init__(conf)
        self.producer = Producer(self.conf)
        self.num_acked = 0
        self.num_sent = 0
        self.num_err = 0

    def dr_cb(self, err: KafkaError | None, msg: Any) -> None:
        """Called from poll() for each message that was delivered or never will be."""
        told = {"topic": msg.topic(), "key": _text(msg.key()), "value": _text(msg.value())}
        if err is not None:
            self.num_err += 1
            self.send(
                {"name": "producer_send_error", **told, "exception": err.name(), "message": str(err.str())}
            )
            return
        self.num_acked += 1
        offset = msg.offset()
        told |= {"partition": msg.partition(), "offset": NOT_TOLD if offset is None else offset}
        self.send({"name": "producer_send_success", **told})

    def produce(self, topic: str, value: str, key: str | None, timestamp: int) -> None:
        """Hands one message over, waiting for room."""
        while self.run:
            try:
                self.producer.produce(topic, value, key, on_delivery=self.dr_cb, timestamp=timestamp)
            except BufferError:
                self.producer.poll(0.1)
                continue
            except KafkaException as error:
                self.num_err += 1
                self.err(f"produce() failed: {error}")
            self.num_sent += 1
            return


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Verifiable Python Producer")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--throughput", type=int, default=-1, help="messages a second; -1: no limit")
    parser.add_argument("--max-messages", type=int, dest="max_msgs", default=-1, help="-1: until SIGTERM")
    parser.add_argument("--value-prefix", help="values are this, a dot and the number")
    parser.add_argument("--acks", type=_acks, dest="topicconf_request.required.acks", default=-1)
    parser.add_argument(
        "--message-create-time",
        type=int,
        dest="create_time",
        default=-1,
        help="of the first, in ms since 1970",
    )
    parser.add_argument(
        "--repeating-keys", type=int, help="keys go from 0 to this, exclusive, again and again"
    )
    add_connection_arguments(parser, "--producer.config")
    args = read_arguments(parser, argv)
    conf: dict[str, Any] = {}
    VerifiableClient.set_config(conf, args)

    client = VerifiableProducer(conf)
    client.send({"name": "startup_complete"})
    began = time.monotonic()
    throughput, create_time = args["throughput"], args["create_time"]
    number = 0
    while client.run and number != args["max_msgs"]:
        value = str(number) if "value_prefix" not in args else f"{args['value_prefix']}.{number}"
        key = str(number % args["repeating_keys"]) if args.get("repeating_keys") else None
        elapsed = time.monotonic() - began
        client.produce(args["topic"], value, key, 0 if create_time < 0 else create_time + int(elapsed * 1000))
        number += 1
        client.producer.poll(0)
        while throughput > 0 and client.run and (ahead := number / throughput - elapsed) > 0:
            client.producer.poll(ahead)
            elapsed = time.monotonic() - began
    client.dbg("Flushing")
    # Bounded by message.timeout.ms, when each message has failed.
    client.producer.flush()
    client.send({"name": "shutdown_complete"})
    seconds = time.monotonic() - began
    client.send(
        {
            "name": "tool_data",
            "sent": client.num_sent,
            "acked": client.num_acked,
            "target_throughput": throughput,
            "avg_throughput": client.num_acked / seconds if seconds else 0.0,
        }
    )
    return 0


def _acks(text: str) -> int:
    return -1 if text == "all" else int(text)


if __name__ == "__main__":
    sys.exit(main())
