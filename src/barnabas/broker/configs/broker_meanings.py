"""What the broker's settings do here, for those of Kafka's that do something; the rest are kept and shown.

Owns what is said of them to readers of the documentation, and the values that this broker begins with where
Kafka's are for large clusters. What a setting does is with whoever reads it.
"""

from __future__ import annotations

from collections.abc import Mapping

_GROUPS = ("consumer", "share", "streams")
_BOUNDED = ("assignment.interval.ms", "heartbeat.interval.ms", "session.timeout.ms")
_BOUNDED_SHARE = ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms")

BEGINS_WITH: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "sasl.enabled.mechanisms": "PLAIN",
    "share.coordinator.state.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    **{f"group.{kind}.assignment.interval.ms": "0" for kind in _GROUPS},
    **{f"group.{kind}.heartbeat.interval.ms": "500" for kind in _GROUPS},
    **{f"group.{kind}.min.heartbeat.interval.ms": "100" for kind in _GROUPS},
}
"""As if they were in the file of settings that it is started with, where nothing else is there."""


def _bounds() -> dict[str, str]:
    found = {"group.streams.max.standby.replicas": "The maximum for streams.num.standby.replicas of a group."}
    numbers = [(kind, name) for kind in _GROUPS for name in _BOUNDED]
    for kind, name in [*numbers, *(("share", name) for name in _BOUNDED_SHARE)]:
        for which in ("min", "max"):
            found[f"group.{kind}.{which}.{name}"] = f"The {which}imum that a group may set for {kind}.{name}."
    return found


MEANINGS: Mapping[str, str] = {
    **_bounds(),
    "advertised.listeners": "The addresses that clients get, if they differ from listeners.",
    "authorizer.class.name": "Who checks what clients may do; empty is nobody.",
    "auto.create.topics.enable": "Create topics that clients ask for.",
    "auto.leader.rebalance.enable": "Whether leaders go back to where they should be by themselves.",
    "broker.id": "The number of this node, which is 1 if it is given.",
    "broker.session.timeout.ms": "How long a node may send no heartbeat before the others do without it.",
    "connection.failed.authentication.delay.ms": "How long a refusal waits.",
    "connections.max.idle.ms": "How long a connection may stay open without a request.",
    "connections.max.reauth.ms": "Longest session of SASL; 0 is without limit.",
    "default.replication.factor": "Copies of each partition.",
    "delegation.token.expiry.check.interval.ms": "How often expired tokens go.",
    "delegation.token.expiry.time.ms": "How long a token lives unrenewed.",
    "delegation.token.max.lifetime.ms": "How long a token lives at most.",
    "delegation.token.secret.key": "What tokens are made of; empty: there are none.",
    "delete.topic.enable": "Allow topics to be deleted.",
    "group.consumer.assignment.interval.ms": "Time between assignments at least; Kafka's is 1000.",
    "group.consumer.heartbeat.interval.ms": "How often members send heartbeats; Kafka's is 5000.",
    "group.consumer.max.size": "Most members of a consumer group.",
    "group.consumer.session.timeout.ms": "How long a member may send no heartbeat before it is removed.",
    "group.initial.rebalance.delay.ms": "How long a new group waits for members; Kafka waits 3000.",
    "group.max.session.timeout.ms": "Longest session a member may ask for.",
    "group.max.size": "Most members of a group.",
    "group.min.session.timeout.ms": "Shortest session a member may ask for; Kafka's is 6000.",
    "group.share.assignment.interval.ms": "Time between assignments at least; Kafka's is 1000.",
    "group.share.delivery.count.limit": "How often a record is delivered at most.",
    "group.share.heartbeat.interval.ms": "How often members send heartbeats; Kafka's is 5000.",
    "group.share.max.share.sessions": "Most sessions of members that fetch from this broker.",
    "group.share.max.size": "Most members of a share group.",
    "group.share.partition.max.record.locks": "How many records of a partition may be locked at once.",
    "group.share.record.lock.duration.ms": "How long a record is lent.",
    "group.share.session.timeout.ms": "How long a member may send no heartbeat before it is removed.",
    "group.streams.assignment.interval.ms": "Time between assignments at least; Kafka's is 1000.",
    "group.streams.heartbeat.interval.ms": "How often members send heartbeats; Kafka's is 5000.",
    "group.streams.initial.rebalance.delay.ms": "How long a new group waits for members; Kafka waits 3000.",
    "group.streams.max.size": "Most members of a streams group.",
    "group.streams.num.standby.replicas": "Copies of each task's state.",
    "group.streams.session.timeout.ms": "How long a member may send no heartbeat before it is removed.",
    "leader.imbalance.check.interval.seconds": "How often leaders go back to where they should be.",
    "listener.security.protocol.map": "What is spoken on each listener.",
    "listeners": "NAME://host:port of each listener; not given: one by host and port.",
    "log.cleaner.backoff.ms": "Time between looks for logs to compact.",
    "log.flush.offset.checkpoint.interval.ms": "Time between checkpoints.",
    "log.retention.check.interval.ms": "Time between looks for old segments.",
    "log.retention.hours": "How long records stay, unless minutes or ms say so.",
    "log.retention.minutes": "How long records stay, unless ms says so.",
    "log.roll.hours": "Longest time span of a log file, unless ms says so.",
    "max.connections": "Connections of a node, or by a listener, that are served at once.",
    "max.connections.per.ip": "Connections of a node from one address.",
    "max.connections.per.ip.overrides": "Other numbers for some addresses: 127.0.0.1:200,10.0.0.1:5.",
    "num.partitions": "Partitions of topics that say nothing of it.",
    "offset.metadata.max.bytes": "Largest note beside a committed offset.",
    "offsets.commit.timeout.ms": "How long what a group writes may take to get to the replicas.",
    "offsets.retention.check.interval.ms": "Time between looks for old offsets.",
    "offsets.retention.minutes": "How long offsets stay once a group is empty.",
    "offsets.topic.num.partitions": "Partitions of __consumer_offsets; Kafka has 50.",
    "offsets.topic.replication.factor": "Copies of committed offsets, or as many as there are nodes.",
    "offsets.topic.segment.bytes": "Size of a log file of __consumer_offsets.",
    "producer.id.expiration.ms": "How long an idle producer is remembered.",
    "replica.lag.time.max.ms": "How long a replica may be behind its leader and still be in sync.",
    "replica.selector.class": "Who tells a consumer which replica is nearest; empty is nobody.",
    "sasl.enabled.mechanisms": "Mechanisms that are taken; Kafka's are GSSAPI.",
    "sasl.jaas.config": "Users of PLAIN and options of OAUTHBEARER, in JAAS.",
    "sasl.kerberos.principal.to.local.rules": "From names in Kerberos to users, the first rule that fits.",
    "sasl.oauthbearer.clock.skew.seconds": "How far an issuer's clock may be off.",
    "sasl.oauthbearer.expected.audience": "Whom tokens are for; empty: for anyone.",
    "sasl.oauthbearer.expected.issuer": "Whose tokens are taken; empty: anyone's.",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "How old keys may become.",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "Pause between two fetches.",
    "sasl.oauthbearer.jwks.endpoint.url": "Where the issuer's keys are; empty: tokens need no signature.",
    "sasl.oauthbearer.scope.claim.name": "The claim with a token's scopes.",
    "sasl.oauthbearer.sub.claim.name": "The claim with the user's name.",
    "sasl.server.max.receive.size": "Largest frame before a login.",
    "share.coordinator.snapshot.update.records.per.snapshot": "Changes written between two of all.",
    "share.coordinator.state.topic.num.partitions": "Partitions of __share_group_state; Kafka has 50.",
    "share.coordinator.state.topic.prune.interval.ms": "Time between looks for what is needless.",
    "share.coordinator.state.topic.replication.factor": "Copies of it, or as many as there are nodes.",
    "share.coordinator.state.topic.segment.bytes": "Size of a log file of __share_group_state.",
    "share.coordinator.write.timeout.ms": "How long a change may take to get to the replicas.",
    "socket.request.max.bytes": "Largest request.",
    "ssl.cipher.suites": "Cipher suites that are taken; empty: all.",
    "ssl.client.auth": "Whether clients show certificates.",
    "ssl.enabled.protocols": "Versions of TLS that are taken.",
    "ssl.key.password": "What the private key is encrypted with.",
    "ssl.keystore.certificate.chain": "The certificates as a PEM text.",
    "ssl.keystore.key": "The private key as a PEM text.",
    "ssl.keystore.location": "The file of key and certificates: PEM or PKCS12.",
    "ssl.keystore.password": "Of a PKCS12 store.",
    "ssl.keystore.type": "PEM, PKCS12 or JKS; a file shows what it is.",
    "ssl.principal.mapping.rules": "From certificates' names to users.",
    "ssl.protocol": "The newest version of TLS.",
    "ssl.truststore.certificates": "Authorities of clients as a PEM text.",
    "ssl.truststore.location": "The file of clients' authorities: PEM or PKCS12.",
    "ssl.truststore.password": "Of a PKCS12 store.",
    "ssl.truststore.type": "PEM, PKCS12 or JKS; a file shows what it is.",
    "telemetry.max.bytes": "Largest telemetry that a client may push at once, as it comes.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "Time between looks for old ones.",
    "transaction.max.timeout.ms": "Longest time that a producer may ask for its transactions.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "Time between looks for unused ids.",
    "transaction.state.log.num.partitions": "Partitions of __transaction_state; Kafka has 50.",
    "transaction.state.log.replication.factor": "Copies of it, or as many as there are nodes.",
    "transaction.state.log.segment.bytes": "Size of a log file of __transaction_state.",
    "transactional.id.expiration.ms": "How long an id that nobody uses is remembered.",
    "unclean.leader.election.interval.ms": "How often those lead that may, where nobody does.",
}
