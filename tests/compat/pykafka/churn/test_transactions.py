"""What is read in the log of a ZooKeeper that runs."""

from kazoo.client import KazooClient
from tests.compat.pykafka.churn.transactions import node_changes

from barnabas.testing import ApacheKafka


def test_the_log_tells_when_nodes_came_and_went_by_themselves_or_with_their_session(tmp_path):
    with ApacheKafka("2.8.2", data_dir=tmp_path) as kafka:
        for close in (False, True):
            client = KazooClient(kafka.zookeeper)
            client.start()
            client.create("/told/first", b"1", ephemeral=True, makepath=True)
            client.create("/told/second", b"", ephemeral=True)
            client.create("/lasting" + str(close), b"no node of a session")
            if not close:
                client.delete("/told/first")
                client.delete("/told/second")
                kafka.restart_zookeeper()
            client.stop()
            client.close()
        told = [
            (change.path, change.data)
            for change in node_changes(tmp_path / "zookeeper" / "data")
            if change.path.startswith(("/told", "/lasting"))
        ]
    once = [("/told/first", b"1"), ("/told/second", b""), ("/told/first", None), ("/told/second", None)]
    assert told == once + once
