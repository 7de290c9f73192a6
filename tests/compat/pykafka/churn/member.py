"""A worker of a churned group, for the genuine pykafka and for ours: writes down each message it is given.

`--facade` makes `import pykafka` find Barnabas's. A line for each message: when it was had, when the call for
it began, partition and offset; one for the consumer's id, and one for what ended it. Knows no churn.
"""

import argparse
import os
import signal
import sys
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--facade", action="store_true")
    parser.add_argument("--hosts", required=True)
    parser.add_argument("--zookeeper", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--session-timeout-ms", type=int, required=True)
    parser.add_argument("--backoff-ms", type=int, required=True)
    wanted = parser.parse_args()
    if wanted.facade:
        import barnabas.compat

        barnabas.compat.install("pykafka")
    import pykafka
    from pykafka.exceptions import ConsumerStoppedException

    out = os.open(wanted.out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(kind, *what):
        os.write(out, (" ".join([kind, repr(time.time()), *map(str, what)]) + "\n").encode())

    client = pykafka.KafkaClient(hosts=wanted.hosts, broker_version="0.9.0")
    topic = client.topics[wanted.topic.encode()]
    consumer = topic.get_balanced_consumer(
        wanted.group.encode(),
        zookeeper_connect=wanted.zookeeper,
        zookeeper_connection_timeout_ms=wanted.session_timeout_ms,
        rebalance_backoff_ms=wanted.backoff_ms,
        auto_commit_enable=True,
        auto_commit_interval_ms=1000,
        consumer_timeout_ms=1000,
    )
    tell("id", consumer._consumer_id.decode())
    stops = []
    signal.signal(signal.SIGTERM, lambda *_: stops.append(1))
    try:
        while not stops:
            asked_at = time.time()
            message = consumer.consume()
            if message is not None:
                tell("message", repr(asked_at), message.partition_id, message.offset)
        consumer.stop()
        tell("end", "stopped")
    except BaseException as error:
        tell("end", repr(error).replace("\n", " "), "from", repr(error.__cause__).replace("\n", " "))
        if not isinstance(error, ConsumerStoppedException):
            sys.stderr.write(f"{error!r}\n")
        os._exit(1)


if __name__ == "__main__":
    main()
