from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from barnabas.testing import ApacheKafka


def test_without_gevent_there_are_no_greenlets() -> None:
    script = """
        import sys
        sys.modules["gevent"] = None
        from barnabas.compat.pykafka import KafkaClient, handlers
        assert not hasattr(handlers, "GEventHandler")
        try:
            KafkaClient(use_greenlets=True)
        except ImportError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", dedent(script)], capture_output=True, text=True, timeout=60)
    assert "only be used when gevent is installed" in done.stdout, done.stderr


def test_greenlets_run_while_one_waits_for_a_broker(kafka: ApacheKafka) -> None:
    script = """
        import sys, time
        import gevent
        from barnabas.compat.pykafka.client import KafkaClient
        from barnabas.compat.pykafka.handlers import GEventHandler
        from barnabas.compat.pykafka.protocol import PartitionFetchRequest
        client = KafkaClient(sys.argv[1], use_greenlets=True)
        assert type(client.cluster.handler) is GEventHandler
        leader = client.topics["topic"].partitions[0].leader
        told = []
        def fetch():
            leader.fetch_messages([PartitionFetchRequest(b"topic", 0, 0)], timeout=1000, min_bytes=10)
            told.append("fetched")
        greenlet = client.cluster.handler.spawn(fetch, name="fetcher")
        while not greenlet.dead:
            told.append("waited")
            gevent.sleep(0.05)
        assert told[-1] == "fetched" and told.count("waited") > 5, told
        """
    command = [sys.executable, "-c", dedent(script), kafka.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
