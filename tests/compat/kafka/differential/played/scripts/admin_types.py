"""What KafkaAdminClient takes and gives, without a broker."""

from tests.compat.kafka.differential.played.script import on_secure, script

ENUMERATIONS = (
    *("ACLOperation", "ACLPermissionType", "ACLResourcePatternType", "ResourceType", "ConfigResourceType"),
    *("AlterConfigOp", "ConfigType", "ConfigSourceType", "UpdateFeatureType", "GroupState", "GroupType"),
    *("OffsetSpec", "TransactionState", "ScramMechanism"),
)


@script("2", "3")
def enumerations_of_administration_have_their_members(kafka, stage):
    admin = stage.module("admin")
    stage.record("names", sorted(admin.__all__))
    for name in ENUMERATIONS:
        if name in admin.__all__:
            members = getattr(admin, name).__members__
            stage.record(name, [(key, member.value, repr(member)) for key, member in members.items()])


@script("3")
def members_are_found_by_value_and_by_name(kafka, stage):
    admin = stage.module("admin")
    for value in ("topic", " TOPIC ", 2, "broker-logger", "odd", 99, None):
        stage.attempt(f"built from {value!r}", admin.ConfigResourceType.build_from, value)
    for value in ("append", 1, "odd", 99, admin.AlterConfigOp.SET):
        stage.attempt(f"value for {value!r}", admin.AlterConfigOp.value_for, value)
    stage.record("timestamp", (repr(admin.OffsetTimestamp(5)), admin.OffsetTimestamp(5) == 5))
    stage.record("hash", admin.ScramMechanism.SCRAM_SHA_512.hash_name)


@script("2", "3")
def resources_and_topics_have_their_fields(kafka, stage):
    admin = stage.module("admin")
    resource = admin.ConfigResource("topic", "orders", {"a": "1"})
    stage.record("resource", (str(resource), repr(resource), resource.configs))
    stage.attempt("no such type", admin.ConfigResource, "odd", "orders")
    topic = admin.NewTopic("orders", 3, 2, {0: [1]}, {"a": "1"})
    stage.record("topic", topic)
    stage.record("bare topic", admin.NewTopic("orders"))
    stage.record("partitions", (admin.NewPartitions(3), admin.NewPartitions(3, [[1]])))


@script("2", "3")
def acls_are_checked_when_they_are_made(kafka, stage):
    a = stage.module("admin")
    pattern = a.ResourcePattern(a.ResourceType.TOPIC, "orders")
    stage.record("pattern", (repr(pattern), pattern == a.ResourcePattern(a.ResourceType.TOPIC, "orders")))
    acl = a.ACL("User:al", "*", a.ACLOperation.READ, a.ACLPermissionType.ALLOW, pattern)
    same = a.ACL("User:al", "*", a.ACLOperation.READ, a.ACLPermissionType.ALLOW, pattern)
    stage.record("acl", (repr(acl), acl == same, hash(acl) == hash(same), len({acl, same})))
    stage.attempt("any type", a.ResourcePattern, a.ResourceType.ANY, "orders")
    stage.attempt(
        "any pattern", a.ResourcePattern, a.ResourceType.TOPIC, "orders", a.ACLResourcePatternType.MATCH
    )
    stage.attempt("type by name", a.ResourcePatternFilter, "TOPIC", "orders", a.ACLResourcePatternType.ANY)
    stage.attempt("pattern by name", a.ResourcePatternFilter, a.ResourceType.TOPIC, "orders", "ANY")
    stage.attempt("any operation", a.ACL, "u", "*", a.ACLOperation.ANY, a.ACLPermissionType.ALLOW, pattern)
    stage.attempt("any permission", a.ACL, "u", "*", a.ACLOperation.READ, a.ACLPermissionType.ANY, pattern)
    stage.attempt("operation by name", a.ACLFilter, "u", "*", "READ", a.ACLPermissionType.ANY, pattern)
    stage.attempt("no pattern", a.ACL, "u", "*", a.ACLOperation.READ, a.ACLPermissionType.ALLOW, "orders")


def _secure(stage):
    return stage.admin(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username="admin",
        sasl_plain_password=stage.ask("password_of", "admin"),
    )


@on_secure("2", "3")
def acls_are_made_described_and_deleted(kafka, stage):
    admin = _secure(stage)
    a = stage.module("admin")
    topic = stage.name("topic")
    pattern = a.ResourcePattern(a.ResourceType.TOPIC, topic, a.ACLResourcePatternType.PREFIXED)
    acls = [
        a.ACL("User:al", "*", operation, a.ACLPermissionType.ALLOW, pattern)
        for operation in (a.ACLOperation.READ, a.ACLOperation.WRITE)
    ]
    stage.record("made", repr(admin.create_acls(acls)))
    these = a.ACLFilter(
        "User:al",
        None,
        a.ACLOperation.ANY,
        a.ACLPermissionType.ANY,
        a.ResourcePatternFilter(a.ResourceType.TOPIC, topic, a.ACLResourcePatternType.PREFIXED),
    )
    stage.until(lambda: len(admin.describe_acls(these)[0]) == 2)
    found, error = admin.describe_acls(these)
    stage.record("described", (sorted(map(repr, found)), error))
    [(same, deleted, error)] = admin.delete_acls([these])
    stage.record("deleted", (same is these, sorted(map(repr, deleted)), error))
    stage.until(lambda: admin.describe_acls(these)[0] == [])
    bad = a.ACL("al", "*", a.ACLOperation.READ, a.ACLPermissionType.ALLOW, pattern)
    stage.record("without a type of principal", repr(admin.create_acls([bad])))
