"""ENCRYPT and ENCRYPT_PAYLOAD, beside the original's with the same registry and the same keys."""

from __future__ import annotations

import base64
import io
import pickle
import threading
from concurrent import futures
from typing import Any

import confluent_kafka.schema_registry as original
import pytest
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry.rules.encryption import encrypt_executor as original_executors
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from tests.registry.rules.dek_server import DekServer

from barnabas.errors import SerializationError
from barnabas.registry import Metadata, Rule, RuleSet, Schema
from barnabas.registry import rules as ours
from barnabas.registry.config import load_registry_config
from barnabas.registry.rules.encryption.executors import (
    Clock,
    EncryptionExecutor,
    FieldEncryptionExecutor,
    context_of,
)
from barnabas.registry.rules.engine import RuleEngine

# The original keeps one local key for the whole process.
SECRET = {"secret": "mysecret"}
DAY = 24 * 60 * 60 * 1000
PARAMS = {"encrypt.kek.name": "kek1", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "mykey"}


class SetClock(Clock):
    def __init__(self) -> None:
        self.time = super().now()

    def now(self) -> int:
        return self.time


@pytest.fixture(autouse=True)
def _local_keys() -> None:
    LocalKmsDriver.register()


def context(mode: str, subject: str = "s-value", **params: str) -> ours.RuleContext:
    rule = Rule("encryptPII", kind="TRANSFORM", mode="WRITEREAD", type="ENCRYPT", params={**PARAMS, **params})
    schema = Schema("{}")
    return ours.RuleContext(
        None, None, None, schema, subject, ours.RuleMode(mode), rule, 0, [rule], None, None
    )


def original_context(mode: str, subject: str = "s-value", **params: str) -> Any:
    rule = original.Rule(
        "encryptPII",
        None,
        original.RuleKind.TRANSFORM,
        original.RuleMode.WRITEREAD,
        "ENCRYPT",
        None,
        original.RuleParams({**PARAMS, **params}),
        None,
        None,
        None,
        False,
    )
    return original_serde.RuleContext(
        None, None, None, original.Schema("{}"), subject, original.RuleMode(mode), rule, 0, [rule], None, None
    )


def executor(server: DekServer, clock: Clock | None = None) -> EncryptionExecutor:
    made = EncryptionExecutor(clock)
    made.configure(load_registry_config(server.url, {"retries": 0}), SECRET)
    return made


def field(kind: str, tags: Any = ()) -> ours.FieldContext:
    return ours.FieldContext({}, "a.b", "b", ours.FieldType(kind), set(tags))


def original_field(kind: str) -> Any:
    return original_serde.FieldContext({}, "a.b", "b", original_serde.FieldType(kind), set())


def run(executor: EncryptionExecutor, mode: str, kind: str, value: Any, **words: Any) -> Any:
    made = context(mode, **words)
    return executor.new_transform(made).transform(made, ours.FieldType(kind), value)


CASES = [
    (algorithm, days, kind, value)
    for algorithm in ("AES128_GCM", "AES256_GCM", "AES256_SIV")
    for days in (None, "1")
    for kind, value in (("STRING", "Jörg"), ("STRING", ""), ("BYTES", b"\x00\xff" * 40), ("BYTES", b""))
]


@pytest.mark.parametrize(("algorithm", "days", "kind", "value"), CASES)
@pytest.mark.integration
def test_what_the_original_encrypts_is_decrypted_and_the_other_way_round(
    dek_server: DekServer, algorithm: str, days: str | None, kind: str, value: Any
) -> None:
    params = {"encrypt.dek.algorithm": algorithm}
    if days is not None:
        params["encrypt.dek.expiry.days"] = days
    theirs = original_executors.EncryptionExecutor()
    theirs.configure({"url": dek_server.url}, dict(SECRET))
    own = executor(dek_server)
    written = original_context("WRITE", **params)
    sealed = theirs.new_transform(written).transform(written, original_serde.FieldType(kind), value)
    assert run(own, "READ", kind, sealed, **params) == value
    answer = run(own, "WRITE", kind, value, **params)
    read = original_context("READ", **params)
    assert theirs.new_transform(read).transform(read, original_serde.FieldType(kind), answer) == value
    if algorithm == "AES256_SIV":
        assert answer == sealed
    # And a key that ours made.
    other = {**params, "subject": "other-value"}
    sealed = run(own, "WRITE", kind, value, **other)
    read = original_context("READ", **other)
    assert theirs.new_transform(read).transform(read, original_serde.FieldType(kind), sealed) == value
    own.close()
    theirs.client.__exit__()


@pytest.mark.integration
def test_the_registry_is_asked_as_the_original_asks_it(dek_server: DekServer) -> None:
    theirs = original_executors.EncryptionExecutor()
    theirs.configure({"url": dek_server.url}, dict(SECRET))
    for days in ({}, {"encrypt.dek.expiry.days": "1"}):
        written = original_context("WRITE", subject=":.ctx:a/b c", **days)
        theirs.new_transform(written).transform(written, original_serde.FieldType.STRING, "x")
    expected = dek_server.asked[:]
    dek_server.asked.clear()
    dek_server.keks.clear()
    dek_server.deks.clear()
    own = executor(dek_server)
    for days in ({}, {"encrypt.dek.expiry.days": "1"}):
        run(own, "WRITE", "STRING", "x", subject=":.ctx:a/b c", **days)
    # What a server takes for granted anyway is left out.
    plain = [line.replace("deleted=false&", "").replace("&deleted=false", "") for line in expected]
    assert [line.replace("?deleted=false", "") for line in plain] == dek_server.asked
    own.close()
    theirs.client.__exit__()


@pytest.mark.integration
def test_keys_are_asked_for_once(dek_server: DekServer) -> None:
    own = executor(dek_server)
    run(own, "WRITE", "STRING", "x")
    dek_server.asked.clear()
    for _ in range(3):
        run(own, "WRITE", "STRING", "x")
    assert dek_server.asked == []


@pytest.mark.integration
def test_an_expired_key_is_followed_by_the_next_version_and_old_values_stay_readable(
    dek_server: DekServer,
) -> None:
    clock = SetClock()
    own = executor(dek_server, clock)
    days = {"encrypt.dek.expiry.days": "1"}
    first = base64.b64decode(run(own, "WRITE", "STRING", "x", **days))
    clock.time += 2 * DAY
    second = base64.b64decode(run(own, "WRITE", "STRING", "y", **days))
    assert (first[:5], second[:5]) == (b"\0\0\0\0\1", b"\0\0\0\0\2")
    reader = executor(dek_server)
    for sealed, value in ((first, "x"), (second, "y")):
        assert run(reader, "READ", "STRING", base64.b64encode(sealed).decode(), **days) == value


@pytest.mark.integration
def test_of_two_that_renew_a_key_both_take_the_one_that_was_first(dek_server: DekServer) -> None:
    clock = SetClock()
    days = {"encrypt.dek.expiry.days": "1"}
    one, other = executor(dek_server, clock), executor(dek_server, clock)
    for each in (one, other):
        run(each, "WRITE", "STRING", "x", **days)
    clock.time += 2 * DAY
    for each in (one, other):
        assert base64.b64decode(run(each, "WRITE", "STRING", "x", **days))[:5] == b"\0\0\0\0\2"
    assert len(dek_server.deks) == 2


@pytest.mark.parametrize("are_apart", [False, True])
@pytest.mark.integration
def test_threads_that_make_the_first_key_at_once_end_with_one(dek_server: DekServer, are_apart: bool) -> None:
    dek_server.makes_keys_after = threading.Barrier(2)
    one = executor(dek_server)
    other = executor(dek_server) if are_apart else one
    with futures.ThreadPoolExecutor(2) as pool:
        work = [pool.submit(run, each, "WRITE", "STRING", "x") for each in (one, other)]
        sealed = [each.result() for each in work]
    assert len(dek_server.deks) == 1
    reader = executor(dek_server)
    assert [run(reader, "READ", "STRING", each) for each in sealed] == ["x", "x"]


@pytest.mark.integration
def test_an_old_registry_is_asked_without_the_subject_in_the_path(dek_server: DekServer) -> None:
    dek_server.has_subject_in_path = False
    own = executor(dek_server)
    sealed = run(own, "WRITE", "STRING", "x")
    assert dek_server.asked[-2:] == ["POST /kek1/deks/s-value", "POST /kek1/deks"]
    assert run(own, "READ", "STRING", sealed) == "x"


@pytest.mark.integration
def test_a_shared_kek_takes_the_key_that_the_registry_gives_in_the_clear(dek_server: DekServer) -> None:
    key = b"\x1a\x20" + bytes(range(32))
    dek_server.keks[".", "kek1"] = {
        "name": "kek1",
        "kmsType": "local-kms",
        "kmsKeyId": "mykey",
        "shared": True,
    }
    dek_server.shared_key = (base64.b64encode(b"sealed").decode(), base64.b64encode(key).decode())
    own = EncryptionExecutor()
    own.configure(load_registry_config(dek_server.url, {}), None)
    sealed = run(own, "WRITE", "BYTES", b"x")
    theirs = original_executors.EncryptionExecutor()
    theirs.configure({"url": dek_server.url}, {})
    read = original_context("READ")
    assert theirs.new_transform(read).transform(read, original_serde.FieldType.BYTES, sealed) == b"x"
    theirs.client.__exit__()


@pytest.mark.integration
def test_an_alternate_key_stands_in(dek_server: DekServer, caplog: pytest.LogCaptureFixture) -> None:
    own = EncryptionExecutor()
    own.configure(
        load_registry_config(dek_server.url, {}),
        {**SECRET, "encrypt.alternate.kms.key.ids": "nowhere, ,other"},
    )
    dek_server.keks[".", "kek1"] = {"name": "kek1", "kmsType": "local-kms", "kmsKeyId": "mykey"}
    sealed = run(own, "WRITE", "BYTES", b"x")
    # The first key is of a system that is not there.
    dek_server.keks[".", "kek2"] = {
        "name": "kek2",
        "kmsType": "none-kms",
        "kmsKeyId": "mykey",
        "kmsProps": {"encrypt.alternate.kms.key.ids": "a,b"},
    }
    assert run(own, "READ", "BYTES", sealed) == b"x"
    params = {"encrypt.kek.name": "kek2", "encrypt.kms.type": "none-kms"}
    with pytest.raises(ours.RuleError, match="failed to encrypt with all KEKs for kek2: no KMS driver found"):
        run(own, "WRITE", "BYTES", b"x", **params)
    assert [record.args[2] for record in caplog.records] == ["mykey", "a", "b"]  # type: ignore[index]


REFUSED = [
    ({"encrypt.kek.name": ""}, "WRITE", "empty kek name"),
    ({"encrypt.kms.type": ""}, "WRITE", "no kms type found for kek1 during produce"),
    ({"encrypt.kms.key.id": ""}, "WRITE", "no kms key id found for kek1 during produce"),
    ({}, "READ", "no kek found for kek1 during consume"),
    ({"encrypt.dek.expiry.days": "x"}, "WRITE", "invalid expiry days"),
    ({"encrypt.dek.expiry.days": "-1"}, "WRITE", "negative expiry days"),
    (
        {"encrypt.dek.algorithm": "ROT13"},
        "WRITE",
        "encrypt.dek.algorithm is 'ROT13', and not one of AES128_GCM,",
    ),
    ({}, "UPGRADE", "unsupported rule mode UPGRADE"),
]


@pytest.mark.parametrize(("params", "mode", "words"), REFUSED)
@pytest.mark.integration
def test_what_cannot_be_is_said(dek_server: DekServer, params: dict[str, str], mode: str, words: str) -> None:
    with pytest.raises(ours.RuleError, match=words):
        run(executor(dek_server), mode, "STRING", "eA==", **params)


@pytest.mark.integration
def test_a_kek_that_is_another_one_than_the_rule_s_is_refused(dek_server: DekServer) -> None:
    own = executor(dek_server)
    run(own, "WRITE", "STRING", "x")
    with pytest.raises(ours.RuleError, match="differs from rule kms key id other"):
        run(own, "WRITE", "STRING", "x", **{"encrypt.kms.key.id": "other"})
    with pytest.raises(ours.RuleError, match="found kek1 with kms type local-kms which differs from rule"):
        run(own, "WRITE", "STRING", "x", **{"encrypt.kms.type": "aws-kms"})


@pytest.mark.integration
def test_a_registry_that_fails_is_said(dek_server: DekServer) -> None:
    own = executor(dek_server)
    dek_server.refuses = (403, {"error_code": 40301, "message": "not for you"})
    with pytest.raises(ours.RuleError, match=r"could not get kek kek1: .*not for you"):
        run(own, "WRITE", "STRING", "x")


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ("not base64!", "STRING", "not encrypted: it is not Base64"),
        ("eA==", "STRING", "too short"),
        (b"x" * 40, "BYTES", "not of this key, or was changed"),
        (b"", "BYTES", "too short"),
    ],
)
@pytest.mark.parametrize("algorithm", ["AES256_GCM", "AES256_SIV"])
@pytest.mark.integration
def test_what_is_no_ciphertext_is_refused(
    dek_server: DekServer, value: Any, kind: str, words: str, algorithm: str
) -> None:
    own = executor(dek_server)
    run(own, "WRITE", "STRING", "x", **{"encrypt.dek.algorithm": algorithm})
    with pytest.raises(ours.RuleError, match=words):
        run(own, "READ", kind, value, **{"encrypt.dek.algorithm": algorithm})


@pytest.mark.integration
def test_a_ciphertext_without_a_version_is_refused_where_keys_expire(dek_server: DekServer) -> None:
    own = executor(dek_server)
    with pytest.raises(ours.RuleError, match="no version found in ciphertext"):
        run(own, "READ", "BYTES", b"x", **{"encrypt.dek.expiry.days": "1"})


@pytest.mark.integration
def test_only_text_and_bytes_are_encrypted(dek_server: DekServer) -> None:
    own = executor(dek_server)
    with pytest.raises(ours.RuleError, match="type INT not supported for encryption"):
        run(own, "WRITE", "INT", 5)
    assert run(own, "READ", "INT", 5) == 5
    assert run(own, "WRITE", "STRING", None) is None
    assert run(own, "READ", "BYTES", io.BytesIO(run(own, "WRITE", "BYTES", b"x"))) == b"x"


@pytest.mark.integration
def test_serializers_of_different_registries_cannot_share_an_executor(dek_server: DekServer) -> None:
    own = executor(dek_server)
    own.configure(load_registry_config(dek_server.url, {"retries": 0}), {"secret": "mysecret", "more": "1"})
    with pytest.raises(ours.RuleError, match="executor already configured"):
        own.configure(load_registry_config("http://other:8081", {}), None)
    with pytest.raises(ours.RuleError, match="rule config key already set: secret"):
        own.configure(None, {"secret": "another"})


@pytest.mark.integration
def test_an_executor_travels_and_asks_for_its_keys_anew(dek_server: DekServer) -> None:
    own = executor(dek_server)
    sealed = run(own, "WRITE", "STRING", "x")
    assert run(pickle.loads(pickle.dumps(own)), "READ", "STRING", sealed) == "x"


def test_without_a_registry_it_says_so() -> None:
    with pytest.raises(ours.RuleError, match="client not configured"):
        run(EncryptionExecutor(), "WRITE", "STRING", "x")


@pytest.mark.integration
def test_an_error_of_encryption_names_rule_subject_and_field(dek_server: DekServer) -> None:
    engine = RuleEngine(ours.RuleRegistry())
    engine.registry.register_executor(FieldEncryptionExecutor())
    engine.configure(load_registry_config(dek_server.url, {}), SECRET)
    rule = Rule("pii", kind="TRANSFORM", mode="WRITEREAD", type="ENCRYPT", tags=["PII"])
    schema = Schema("{}", metadata=Metadata(properties=PARAMS), rule_set=RuleSet(domain_rules=[rule]))

    def walk(ctx: ours.RuleContext, transform: ours.FieldTransform, message: Any) -> Any:
        found = ctx.enter_field(message, "Order.name", "name", ours.FieldType.STRING, {"PII"})
        message["name"] = transform(ctx, found, message["name"])
        ctx.exit_field()
        return message

    sealed = engine.run(
        None, "orders", ours.RuleMode.WRITE, None, schema, {"name": "Jo"}, field_transformer=walk
    )
    back = engine.run(None, "orders", ours.RuleMode.READ, None, schema, dict(sealed), field_transformer=walk)
    assert back == {"name": "Jo"}
    with pytest.raises(
        SerializationError,
        match=r"rule 'pii' \(ENCRYPT, READ\) of subject 'orders' failed at the field 'Order.name': .*Base64",
    ):
        engine.run(None, "orders", ours.RuleMode.READ, None, schema, {"name": "no!"}, field_transformer=walk)
    engine.close()


@pytest.mark.parametrize("subject", [None, "s", ":.ctx:s", ":.:s", ":.ctx", ":.", ":x:s", ":.a:b:c"])
def test_a_subject_s_context_is_found_as_the_original_finds_it(subject: str | None) -> None:
    assert context_of(subject) == original_executors._context_for(subject)
