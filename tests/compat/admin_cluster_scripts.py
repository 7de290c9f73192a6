"""What AdminClient tells of a cluster of which one broker is down, and how leaders come back.

Each function is one behaviour, on a cluster of three whose third broker was killed.
"""

from __future__ import annotations

from tests.compat.facade_script import FacadeScript

DEAD = 3
HALF, GONE = "half", "gone"
"""Topics with a replica on the dead broker: beside one on broker 1, and alone."""


def a_dead_broker_is_named_among_the_replicas(run: FacadeScript) -> None:
    client = run.admin()
    for topic in (HALF, GONE):
        partitions = client.list_topics(topic, timeout=10).topics[topic].partitions
        run.show(f"metadata of {topic}", lambda partitions=partitions: partitions)
        described = client.describe_topics(run.package.TopicCollection([topic]))[topic].result(10)
        run.show(f"{topic} described", lambda described=described: described.partitions)
    run.show("brokers", lambda: sorted(client.list_topics(timeout=10).brokers))
    run.show("cluster", lambda: sorted(node.id for node in client.describe_cluster().result(10).nodes))


def a_partition_without_a_leader_has_no_offsets(run: FacadeScript) -> None:
    client, partition = run.admin(), run.package.TopicPartition
    latest = run.admin_module.OffsetSpec.latest()
    # A new client of the original may take as long as the time-out to notice what it knows of the cluster.
    client.list_topics(timeout=10)
    run.show("one", lambda: client.list_offsets({partition(GONE, 0): latest}, request_timeout=3))
    both = {partition(HALF, 0): latest, partition(GONE, 0): latest}
    run.show("both", lambda: client.list_offsets(both, request_timeout=3))


def elections_need_somebody_to_elect(run: FacadeScript) -> None:
    client, election = run.admin(), run.package.ElectionType
    partition = run.package.TopicPartition
    run.show("preferred", lambda: client.elect_leaders(election.PREFERRED, [partition(GONE, 0)]))
    run.show("unclean", lambda: client.elect_leaders(election.UNCLEAN, [partition(GONE, 0)]))
    run.show("not needed", lambda: client.elect_leaders(election.PREFERRED, [partition(HALF, 0)]))


def a_dead_broker_cannot_be_asked(run: FacadeScript) -> None:
    client, resource = run.admin(), run.admin_module.ConfigResource("broker", str(DEAD))
    run.show("configuration", lambda: client.describe_configs([resource], request_timeout=1))


def groups_are_those_of_the_brokers_that_live(run: FacadeScript) -> None:
    client = run.admin()
    run.show("errors", lambda: client.list_consumer_groups(request_timeout=10).result(20).errors)
