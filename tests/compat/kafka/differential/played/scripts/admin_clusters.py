"""KafkaAdminClient itself, and its calls about the cluster, configurations and users."""

from tests.compat.kafka.differential.played.script import on_kafka, script


@script("2", "3")
def admin_clients_refuse_settings_that_they_do_not_know(kafka, stage):
    stage.attempt("unknown", kafka.KafkaAdminClient, foo=1)
    stage.attempt("two", lambda: stage.raised("of two", kafka.KafkaAdminClient, foo=1, bar=2))
    stage.record("defaults", sorted(set(kafka.KafkaAdminClient.DEFAULT_CONFIG)))


@script("2", "3")
def admin_clients_say_that_there_are_no_brokers(kafka, stage):
    settings = (
        {"api_version_auto_timeout_ms": 300} if stage.generation == "2" else {"bootstrap_timeout_ms": 300}
    )
    stage.attempt("nobody there", stage.admin, **settings)


@on_kafka("2", "3")
def admin_clients_are_closed_once(kafka, stage):
    admin = stage.admin()
    stage.keep_log(20)
    stage.attempt("closed", admin.close)
    stage.attempt("closed again", admin.close)
    stage.record_log("second", "KafkaAdminClient already closed.")


@on_kafka("3")
def admin_clients_close_at_the_end_of_their_context(kafka, stage):
    with stage.admin() as admin:
        stage.record("asked", isinstance(admin.list_topics(), list))
    stage.raised("after", admin.list_topics)


@on_kafka("2", "3")
def admin_clients_tell_their_configuration(kafka, stage):
    admin = stage.admin(client_id="me", request_timeout_ms=20000)
    stage.record("client_id", admin.config["client_id"])
    stage.record("timeout", admin.config["request_timeout_ms"])
    stage.record("version", admin.config["api_version"])
    stage.record("retry", admin.config["retry_backoff_ms"])


@on_kafka("2", "3")
def the_cluster_is_described(kafka, stage):
    described = stage.admin().describe_cluster()
    stage.call(described["cluster_id"], "<cluster id>")
    stage.record("itself", described)
    stage.record("fields", list(described))


@on_kafka("3")
def log_directories_are_described_by_broker(kafka, stage):
    admin = stage.admin()
    name = stage.topic(2)
    [one] = admin.describe_log_dirs([name])
    [directory] = one["log_dirs"]
    stage.record("broker", one["broker"])
    stage.record("fields", list(directory))
    partitions = directory["topics"][0]["partitions"]
    stage.record("partitions", sorted(partitions, key=lambda each: each["partition_index"]))
    [two] = admin.describe_log_dirs({name: [1]}, brokers=[1])
    stage.record("one partition", two["log_dirs"][0]["topics"])
    stage.raised("no such broker", admin.describe_log_dirs, [name], [77])


@on_kafka("3")
def replicas_are_not_moved_to_directories_that_are_not_there(kafka, stage):
    admin = stage.admin()
    name = stage.topic()
    Replica = stage.module("structs").TopicPartitionReplica
    stage.attempt("nowhere", admin.alter_replica_log_dirs, {Replica(name, 0, 1): "/no/such"})
    stage.attempt("by a tuple", admin.alter_replica_log_dirs, {(name, 5, 1): "/no/such"})
    stage.attempt("nothing", admin.alter_replica_log_dirs, {})


@on_kafka("3")
def the_quorum_and_features_are_described(kafka, stage):
    admin = stage.admin()
    quorum = admin.describe_metadata_quorum()
    [topic] = quorum["topics"]
    [partition] = topic["partitions"]
    stage.record("quorum", (sorted(quorum), topic["topic_name"], sorted(partition), partition["error"]))
    stage.record("leader", partition["leader_id"])
    stage.record("voter", sorted(partition["current_voters"][0]))
    features = admin.describe_features()
    stage.record("features", {name: sorted(told) for name, told in features.items()})
    stage.record("levels", features["metadata.version"]["supported"])
    of_controller = admin.describe_features(send_request_to_controller=True)
    stage.record("of the controller", sorted(of_controller) == sorted(features))


@on_kafka("3")
def features_are_changed_only_as_they_can_be(kafka, stage):
    admin = stage.admin()
    level = admin.describe_features()["metadata.version"]["finalized"][1]
    stage.attempt("same", admin.update_features, {"metadata.version": level}, validate_only=True)
    stage.raised("too high", admin.update_features, {"metadata.version": ("UPGRADE", 99)})
    stage.raised("unknown", admin.update_features, {"no.such": 1})
    stage.attempt("no dictionary", admin.update_features, ["metadata.version"])
    stage.attempt("no such way", admin.update_features, {"metadata.version": ("sideways", 1)})


@on_kafka("3")
def brokers_tell_what_they_speak(kafka, stage):
    admin = stage.admin()
    versions = admin.api_versions()
    stage.record("versions", {key.name: value for key, value in versions.items()})
    data = admin.get_broker_version_data(1)
    stage.record("release", (data.broker_version, data.broker_version_str, str(data)))
    stage.record("same", dict(data.api_versions) == {int(key): value for key, value in versions.items()})
    stage.attempt("of no broker", admin.get_broker_version_data, 77)


@on_kafka("2")
def configurations_are_described_by_structs(kafka, stage):
    admin = stage.admin()
    Resource = stage.module("admin").ConfigResource
    name = stage.topic(retention_ms="1000")
    wanted = [Resource("TOPIC", name, {"retention.ms": 0}), Resource("BROKER", "1", {"log.retention.ms": 0})]
    stage.record("one entry each", repr(admin.describe_configs(wanted)))
    for answer in admin.describe_configs(wanted, include_synonyms=True):
        stage.record("resources", answer.resources)
        stage.record("repr", repr(answer))
    [everything] = admin.describe_configs([Resource("TOPIC", name)])
    stage.record("all entries", sorted(entry[0] for entry in everything.resources[0][4]))
    stage.record("no topic", repr(admin.describe_configs([Resource("TOPIC", stage.name("none"))])))
    stage.attempt("no broker", admin.describe_configs, [Resource("BROKER", "x")])


@on_kafka("3")
def configurations_are_described_by_dictionaries(kafka, stage):
    admin = stage.admin()
    Resource = stage.module("admin").ConfigResource
    name = stage.topic(retention_ms="1000")
    stage.attempt("modified", admin.describe_configs, [Resource("TOPIC", name)])
    stage.attempt("with synonyms", admin.describe_configs, [Resource("topic", name, ["retention.ms"])], True)
    for chosen in ("all", "dynamic", "default", "static", "MODIFIED"):
        found = admin.describe_configs([Resource("TOPIC", name)], config_filter=chosen)
        stage.record(chosen, sorted(found["topic"][name]))
    stage.attempt("unknown filter", admin.describe_configs, [Resource("TOPIC", name)], config_filter="odd")
    broker = admin.describe_configs([Resource("BROKER", "1", ["log.retention.ms"])], config_filter="all")
    stage.record("broker", broker)
    both = admin.describe_configs([Resource("BROKER", 1, []), Resource("TOPIC", name, [])])
    stage.record("nothing of two", both)
    stage.attempt("no topic", admin.describe_configs, [Resource("TOPIC", stage.name("none"))])
    stage.attempt("no broker", admin.describe_configs, [Resource("BROKER", "x")])


@on_kafka("2")
def configurations_are_replaced(kafka, stage):
    admin = stage.admin()
    Resource = stage.module("admin").ConfigResource
    name = stage.topic(retention_ms="1000")
    stage.record("replaced", repr(admin.alter_configs([Resource("TOPIC", name, {"segment.ms": "5000"})])))
    stage.record("wrong", repr(admin.alter_configs([Resource("TOPIC", name, {"segment.ms": "x"})])))

    def entry(key):
        [answer] = admin.describe_configs([Resource("TOPIC", name, {key: None})])
        return answer.resources[0][4]

    stage.until(lambda: entry("segment.ms")[0][1] == "5000")
    stage.record("the other went", entry("retention.ms"))


@on_kafka("3")
def configurations_are_changed_and_reset(kafka, stage):
    admin = stage.admin()
    module = stage.module("admin")
    name = stage.topic(retention_ms="1000")

    def resource(configs):
        return [module.ConfigResource("TOPIC", name, configs)]

    def set_now():
        return {
            key: entry["value"]
            for key, entry in admin.describe_configs(resource(None))["topic"][name].items()
        }

    stage.attempt("set", admin.alter_configs, resource({"segment.ms": "5000"}))
    stage.until(lambda: set_now() == {"retention.ms": "1000", "segment.ms": "5000"})
    op = module.AlterConfigOp
    stage.attempt("appended", admin.alter_configs, resource({"cleanup.policy": (op.APPEND, "compact")}))
    stage.until(lambda: set_now().get("cleanup.policy") == "delete,compact")
    stage.attempt("deleted", admin.alter_configs, resource({"segment.ms": ("delete", None)}))
    stage.until(lambda: "segment.ms" not in set_now())
    stage.attempt("checked", admin.alter_configs, resource({"segment.ms": "7000"}), validate_only=True)
    stage.attempt("wrong", admin.alter_configs, resource({"segment.ms": "x"}))
    stage.attempt("unknown", admin.alter_configs, resource({"no.such": "x"}))
    stage.attempt(
        "unknown, unchecked", admin.alter_configs, resource({"no.such": "x"}), raise_on_unknown=False
    )
    stage.attempt("no dictionary", admin.alter_configs, resource(["segment.ms"]))
    stage.attempt("no such change", admin.alter_configs, resource({"segment.ms": ("odd", "1")}))
    stage.attempt("replaced", admin.alter_configs, resource({"segment.ms": "9000"}), incremental=False)
    stage.until(lambda: set_now().get("segment.ms") == "9000")
    stage.record("what was set stays", set_now())
    stage.attempt("reset one", admin.reset_configs, resource(["segment.ms"]))
    stage.until(lambda: "segment.ms" not in set_now())
    stage.attempt("reset all", admin.reset_configs, resource([]))
    stage.until(lambda: set_now() == {})


@on_kafka("3")
def resources_with_configurations_are_listed(kafka, stage):
    admin = stage.admin()
    name = stage.topic()
    listed = admin.list_config_resources()
    stage.record("types", sorted(set(listed) - {"client_metrics", "group"}))
    stage.record("topic", name in listed["topic"])
    stage.attempt("brokers", admin.list_config_resources, ["broker", "BROKER_LOGGER"])
    stage.attempt("unknown", admin.list_config_resources, ["odd"])


@on_kafka("3")
def credentials_of_users_are_made_and_deleted(kafka, stage):
    admin = stage.admin()
    module = stage.module("admin")
    user = stage.name("user")
    salt = b"0123456789abcdef"
    made = module.UserScramCredentialUpsertion(user, "scram-sha-256", "secret", iterations=4097, salt=salt)
    stage.record("repr", repr(made))
    stage.record("salted", made.salted_password)
    stage.attempt("made", admin.alter_user_scram_credentials, [made])
    stage.until(lambda: user in admin.describe_user_scram_credentials())
    stage.attempt("described", admin.describe_user_scram_credentials, [user])
    gone = module.UserScramCredentialDeletion(user, 1)
    stage.record("repr of a deletion", repr(gone))
    stage.attempt("deleted", admin.alter_user_scram_credentials, [gone])
    stage.until(lambda: user not in admin.describe_user_scram_credentials())
    stage.attempt("deleted again", admin.alter_user_scram_credentials, [gone])
    stage.attempt("described again", admin.describe_user_scram_credentials, [user])
    stage.attempt("neither", admin.alter_user_scram_credentials, ["odd"])
    stage.attempt("unknown mechanism", module.UserScramCredentialUpsertion, user, 0, "x")
    stage.attempt("no mechanism", module.UserScramCredentialDeletion, user, "md5")


@on_kafka("2", "3")
def acls_need_an_authorizer(kafka, stage):
    admin = stage.admin()
    a = stage.module("admin")
    everything = a.ACLFilter(
        None,
        None,
        a.ACLOperation.ANY,
        a.ACLPermissionType.ANY,
        a.ResourcePatternFilter(a.ResourceType.ANY, None, a.ACLResourcePatternType.ANY),
    )
    pattern = a.ResourcePattern(a.ResourceType.TOPIC, "orders")
    one = a.ACL("User:al", "*", a.ACLOperation.READ, a.ACLPermissionType.ALLOW, pattern)
    stage.attempt("described", admin.describe_acls, everything)
    stage.attempt("made", admin.create_acls, [one])
    stage.attempt("deleted", admin.delete_acls, [everything])
    stage.attempt("no ACL", admin.create_acls, [everything])
    stage.attempt("no filter", admin.delete_acls, ["odd"])
