"""Calls of Admin about who may do what, on a broker that checks it."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import confluent_kafka.admin
import pytest

from barnabas import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    Admin,
    ResourcePatternType,
    ScramMechanism,
    ScramUpsertion,
)
from barnabas.broker_errors import (
    ClusterAuthorizationFailedError,
    DelegationTokenNotFoundError,
    DelegationTokenOwnerMismatchError,
    InvalidRequestError,
)
from barnabas.errors import MisuseError, SaslAuthenticationError

from .secure_kafka import SecureKafka


@pytest.fixture(scope="module")
def admin(secure: SecureKafka) -> Iterator[Admin]:
    with Admin(secure.server("SASL_SSL"), **secure.as_user()) as admin:
        yield admin


def test_rules_are_created_described_and_deleted(admin: Admin, secure: SecureKafka, eventually: Any) -> None:
    prefix = f"flights-{uuid.uuid4().hex}"
    read = AclBinding(
        AclResourceType.TOPIC,
        prefix,
        "User:alice",
        AclOperation.READ,
        pattern_type=ResourcePatternType.PREFIXED,
    )
    deny = AclBinding(
        AclResourceType.TOPIC, f"{prefix}-1", "User:bob", AclOperation.ALL, AclPermissionType.DENY, "10.0.0.1"
    )
    group = AclBinding(AclResourceType.GROUP, prefix, "User:alice", AclOperation.READ)
    matching = AclBindingFilter(AclResourceType.TOPIC, f"{prefix}-1", pattern_type=ResourcePatternType.MATCH)
    admin.create_acls([read, deny, group])
    eventually(lambda: set(admin.describe_acls(matching)) == {read, deny})
    eventually(lambda: {read, deny, group} <= set(admin.describe_acls()))
    assert as_confluent_kafka_describes_them(secure, prefix) == {
        ("GROUP", "LITERAL", "User:alice", "*", "READ", "ALLOW"),
        ("TOPIC", "PREFIXED", "User:alice", "*", "READ", "ALLOW"),
    }
    of_alice = AclBindingFilter(principal="User:alice", resource_name=prefix)
    nothing = AclBindingFilter(principal="User:nobody")
    deleted = admin.delete_acls([of_alice, nothing])
    assert (set(deleted[of_alice]), deleted[nothing]) == ({read, group}, [])
    admin.delete_acls([matching])
    eventually(lambda: not {read, deny, group} & set(admin.describe_acls()))


def as_confluent_kafka_describes_them(secure: SecureKafka, name: str) -> set[tuple[str, ...]]:
    kafka = confluent_kafka.admin
    settings = {key.replace("_", "."): value for key, value in secure.as_user().items()}
    settings["ssl.ca.location"] = settings.pop("ssl.truststore.location")
    other = kafka.AdminClient({"bootstrap.servers": secure.server("SASL_SSL"), **settings})
    anything = kafka.AclBindingFilter(
        kafka.ResourceType.ANY,
        name,
        kafka.ResourcePatternType.ANY,
        None,
        None,
        kafka.AclOperation.ANY,
        kafka.AclPermissionType.ANY,
    )
    return {
        (
            acl.restype.name,
            acl.resource_pattern_type.name,
            acl.principal,
            acl.host,
            acl.operation.name,
            acl.permission_type.name,
        )
        for acl in other.describe_acls(anything).result(30)
    }


def test_a_rule_that_makes_no_sense_leaves_the_others_created(admin: Admin, eventually: Any) -> None:
    good = AclBinding(AclResourceType.TOPIC, f"t-{uuid.uuid4().hex}", "User:alice", AclOperation.READ)
    bad = AclBinding(AclResourceType.CLUSTER, "not-the-cluster", "User:alice", AclOperation.ALTER)
    with pytest.raises(InvalidRequestError, match="not-the-cluster") as caught:
        admin.create_acls([good, bad])
    assert caught.value.outcome is not None
    assert caught.value.outcome.results == {good: None}
    eventually(lambda: good in admin.describe_acls())


def test_who_may_not_manage_the_cluster_is_told_so(secure: SecureKafka) -> None:
    with Admin(secure.server("SASL_SSL"), **secure.as_user("bob")) as bob:
        for call in (bob.describe_acls, bob.describe_client_quotas):
            with pytest.raises(ClusterAuthorizationFailedError):
                call()
        assert bob.describe_cluster(include_authorized_operations=True).authorized_operations == frozenset()


def test_a_password_that_was_set_lets_its_user_in(admin: Admin, secure: SecureKafka, eventually: Any) -> None:
    user = f"user-{uuid.uuid4().hex}"
    upsertion = ScramUpsertion(user, ScramMechanism.SCRAM_SHA_512, "pass, wörd")
    assert "wörd" not in repr(upsertion)
    admin.alter_user_scram_credentials([upsertion])
    eventually(lambda: user in admin.describe_user_scram_credentials())
    settings = secure.as_user(mechanism="SCRAM-SHA-512")
    settings |= {"sasl_username": user, "sasl_password": "pass, wörd"}
    with Admin(secure.server("SASL_SSL"), **settings) as client:

        def cluster_id() -> str | None:
            # The broker lets users in a moment after it tells of them.
            with contextlib.suppress(SaslAuthenticationError):
                return client.describe_cluster().cluster_id
            return None

        assert eventually(cluster_id) == admin.describe_cluster().cluster_id


def test_tokens_are_created_renewed_described_and_expired(admin: Admin, eventually: Any) -> None:
    token = admin.create_delegation_token(["User:bob"], max_lifetime_ms=3_600_000)
    assert (token.owner, token.requester, token.renewers) == ("User:admin", "User:admin", ("User:bob",))
    assert token.max_timestamp - token.issue_timestamp == 3_600_000
    assert token.hmac.hex() not in repr(token)
    eventually(lambda: token in admin.describe_delegation_tokens(["User:admin"]))
    assert admin.describe_delegation_tokens(["User:carol"]) == []
    renewed = admin.renew_delegation_token(token.hmac, renew_period_ms=1_800_000)
    assert token.issue_timestamp < renewed < token.max_timestamp
    admin.expire_delegation_token(token.hmac)
    eventually(lambda: token.token_id not in {t.token_id for t in admin.describe_delegation_tokens()})
    with pytest.raises(DelegationTokenNotFoundError):
        admin.renew_delegation_token(token.hmac)
    of_alice = admin.create_delegation_token(owner="User:alice")
    assert (of_alice.owner, of_alice.requester) == ("User:alice", "User:admin")
    eventually(lambda: of_alice in admin.describe_delegation_tokens(["User:alice"]))
    with pytest.raises(DelegationTokenOwnerMismatchError):
        admin.renew_delegation_token(of_alice.hmac)
    with pytest.raises(MisuseError, match="'alice'"):
        admin.create_delegation_token(owner="alice")
