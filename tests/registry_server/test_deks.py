"""Keys for encrypting fields: /dek-registry/v1."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry.rules.encryption.dek_registry.dek_registry_client import (
    DekAlgorithm,
    DekRegistryClient,
)
from tests.registry_server.conftest import Ask

from barnabas.registry_server.deks.keys import DekId, KekId, StoredDek, StoredKek, read_dek, read_id, read_kek
from barnabas.registry_server.deks.state import DekState
from barnabas.testing import EmbeddedRegistry

KEKS = "/dek-registry/v1/keks"
KEK = {
    "name": "kek1",
    "kmsType": "local-kms",
    "kmsKeyId": "mykey",
    "kmsProps": {"secret": "s"},
    "shared": False,
}
SHARED = {**KEK, "name": "kek2", "shared": True}


def test_a_kek_is_created_read_changed_deleted_and_brought_back(ask: Ask) -> None:
    status, made = ask(f"POST {KEKS}", {**KEK, "doc": "mine"})
    assert status == 200
    assert made.pop("ts") > 0
    assert made == {**KEK, "doc": "mine"}
    assert ask(f"GET {KEKS}") == (200, ["kek1"])
    status, changed = ask(f"PUT {KEKS}/kek1", {"doc": None, "kmsProps": {"a": "b"}})
    assert (status, changed.get("doc"), changed["kmsProps"]) == (200, None, {"a": "b"})
    assert ask(f"PUT {KEKS}/kek1", {"shared": True})[1]["shared"] is True
    assert ask(f"DELETE {KEKS}/kek1") == (204, None)
    assert ask(f"GET {KEKS}") == (200, [])
    assert ask(f"GET {KEKS}?deleted=true") == (200, ["kek1"])
    assert ask(f"GET {KEKS}/kek1?deleted=true")[1]["deleted"] is True
    assert ask(f"POST {KEKS}/kek1/undelete") == (204, None)
    assert ask(f"GET {KEKS}/kek1")[0] == 200
    assert ask(f"DELETE {KEKS}/kek1?permanent=true")[1] == {
        "error_code": 40471,
        "message": "Key 'kek1' was not deleted first before being permanently deleted",
    }
    assert ask(f"DELETE {KEKS}/kek1") == (204, None)
    assert ask(f"DELETE {KEKS}/kek1?permanent=true") == (204, None)
    assert ask(f"GET {KEKS}/kek1?deleted=true") == (
        404,
        {"error_code": 40470, "message": "Key 'kek1' not found"},
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "1a"}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "a" * 257}, "name"),
        ({"kmsKeyId": ""}, "kmsKeyId"),
        ({"kmsType": None}, "kmsType"),
        ({"kmsType": "aws-kms"}, "kmsKeyId"),
        ({"kmsType": "hcvault", "kmsKeyId": "ftp://a"}, "kmsKeyId"),
    ],
)
def test_a_kek_that_cannot_be_is_refused(ask: Ask, changes: dict[str, Any], field: str) -> None:
    assert ask(f"POST {KEKS}", {**KEK, **changes}) == (
        422,
        {"error_code": 42271, "message": f"Invalid or missing value for field '{field}' of key"},
    )


def test_a_kek_is_created_once_and_again_when_it_was_deleted(ask: Ask) -> None:
    ask(f"POST {KEKS}", KEK)
    refused = (409, {"error_code": 40971, "message": "Key 'kek1' already exists; use a different value"})
    assert ask(f"POST {KEKS}", KEK) == refused
    ask(f"DELETE {KEKS}/kek1")
    assert ask(f"POST {KEKS}", {**KEK, "kmsKeyId": "other"}) == refused
    assert ask(f"POST {KEKS}", KEK)[0] == 200


def test_deks_have_versions_by_subject_and_algorithm(ask: Ask) -> None:
    ask(f"POST {KEKS}", KEK)
    deks = f"{KEKS}/kek1/deks"
    for version in (1, 2):
        body = {"encryptedKeyMaterial": f"k{version}", "version": version}
        status, made = ask(f"POST {deks}/s%2Ft", body)
        assert status == 200
        assert made.pop("ts") > 0
        assert made == {
            "kekName": "kek1",
            "subject": "s/t",
            "version": version,
            "algorithm": "AES256_GCM",
            "encryptedKeyMaterial": f"k{version}",
        }
    ask(f"POST {deks}", {"subject": "old", "algorithm": "AES256_SIV", "encryptedKeyMaterial": "o"})
    assert ask(f"GET {deks}") == (200, ["old", "s/t"])
    assert ask(f"GET {deks}/s%2Ft/versions") == (200, [1, 2])
    assert ask(f"GET {deks}/s%2Ft")[1]["version"] == 1
    assert ask(f"GET {deks}/s%2Ft/versions/latest")[1]["encryptedKeyMaterial"] == "k2"
    assert ask(f"GET {deks}/old")[1]["error_code"] == 40470
    assert ask(f"GET {deks}/old?algorithm=AES256_SIV")[0] == 200
    assert ask(f"GET {deks}/old?algorithm=ROT13")[0] == 404
    assert ask(f"GET {deks}/s%2Ft/versions/0")[1]["error_code"] == 42202
    assert ask(f"GET {KEKS}?subjectPrefix=s")[1] == ["kek1"]
    assert ask(f"GET {KEKS}?subjectPrefix=x")[1] == []
    assert ask(f"DELETE {KEKS}/kek1")[1] == {
        "error_code": 42272,
        "message": "One or more references exist to the key 'kek1'",
    }
    assert ask(f"DELETE {deks}/s%2Ft/versions/2") == (204, None)
    assert ask(f"GET {deks}/s%2Ft/versions") == (200, [1])
    assert ask(f"GET {deks}/s%2Ft/versions?deleted=true") == (200, [1, 2])
    assert ask(f"POST {deks}/s%2Ft/versions/2/undelete") == (204, None)
    assert ask(f"DELETE {deks}/s%2Ft") == (204, None)
    assert ask(f"GET {deks}/s%2Ft/versions") == (200, [])
    assert ask(f"DELETE {deks}/old?algorithm=AES256_SIV") == (204, None)
    assert ask(f"DELETE {KEKS}/kek1") == (204, None)
    assert ask(f"POST {deks}/s%2Ft/undelete")[1] == {
        "error_code": 40472,
        "message": "Key 'kek1' must be undeleted first",
    }
    ask(f"POST {KEKS}/kek1/undelete")
    assert ask(f"POST {deks}/s%2Ft/undelete") == (204, None)
    assert ask(f"GET {deks}/s%2Ft/versions") == (200, [1, 2])
    ask(f"DELETE {deks}/s%2Ft")
    assert ask(f"DELETE {deks}/s%2Ft?permanent=true") == (204, None)
    assert ask(f"GET {deks}/s%2Ft?deleted=true")[0] == 404


def test_a_dek_needs_its_key_where_the_kek_is_not_shared(ask: Ask) -> None:
    ask(f"POST {KEKS}", KEK)
    assert ask(f"POST {KEKS}/kek1/deks/s", {})[1] == {
        "error_code": 42271,
        "message": "Invalid or missing value for field 'encryptedKeyMaterial' of key",
    }
    assert ask(f"POST {KEKS}/none/deks/s", {"encryptedKeyMaterial": "a"})[1]["error_code"] == 40470
    assert ask(f"POST {KEKS}/kek1/deks/s", {"encryptedKeyMaterial": "a"})[0] == 200
    assert ask(f"POST {KEKS}/kek1/deks/s", {"encryptedKeyMaterial": "b"})[1]["error_code"] == 40971
    assert ask(f"POST {KEKS}/kek1/deks/s?rewrap=true", {"encryptedKeyMaterial": "b"})[0] == 200


def test_a_shared_kek_makes_and_opens_keys_by_its_kms(ask: Ask) -> None:
    ask(f"POST {KEKS}?testSharing=true", SHARED)
    assert ask(f"POST {KEKS}/kek2/test")[0] == 200
    deks = f"{KEKS}/kek2/deks"
    status, made = ask(f"POST {deks}/s", {"algorithm": "AES128_GCM"})
    assert status == 200
    # As Tink has keys.
    assert len(base64.b64decode(made["keyMaterial"])) == 18
    read = ask(f"GET {deks}/s?algorithm=AES128_GCM")[1]
    assert read["keyMaterial"] == made["keyMaterial"]
    again = ask(f"POST {deks}/s?rewrap=true", {"algorithm": "AES128_GCM"})[1]
    assert again["keyMaterial"] == made["keyMaterial"]
    assert again["encryptedKeyMaterial"] != made["encryptedKeyMaterial"]


def test_a_kms_that_does_not_answer_is_an_error_that_says_why(ask: Ask) -> None:
    ask(f"POST {KEKS}", {**SHARED, "kmsType": "no-such-kms"})
    status, said = ask(f"POST {KEKS}/kek2/deks/s", {})
    assert (status, said["error_code"]) == (500, 50070)
    assert said["message"].startswith("Could not generate encrypted dek for s: ")
    assert ask(f"POST {KEKS}/kek2/test")[1]["error_code"] == 50070
    ask(f"POST {KEKS}", KEK)
    assert ask(f"POST {KEKS}/kek1/test")[1]["error_code"] == 42271


@pytest.fixture
def client() -> Iterator[Any]:
    with EmbeddedRegistry() as registry:
        client: Any = DekRegistryClient({"url": registry.url})
        yield client
        client._rest_client.session.close()


@pytest.mark.integration
def test_the_original_s_client_drives_it(client: Any) -> None:
    kek = client.register_kek("kek1", "local-kms", "mykey", True, {"secret": "s"}, "doc")
    assert (kek.name, kek.shared, kek.kms_key_id) == ("kek1", True, "mykey")
    dek = client.register_dek("kek1", "s", None, DekAlgorithm.AES256_GCM, 1)
    assert client.get_kek("kek1", False).name == "kek1"
    found = client.get_dek("kek1", "s", DekAlgorithm.AES256_GCM, 1, False)
    assert found.get_key_material_bytes() == dek.get_key_material_bytes() != None  # noqa: E711


def test_records_are_read_as_they_are_written() -> None:
    kek = StoredKek("k", "aws-kms", "arn:aws:kms:x", {"b": "1", "a": "2"}, "doc", True, True, 5)
    dek = StoredDek("k", "s", "AES256_SIV", 3, "abc", False, 5)
    assert read_kek(kek.value, 5) == kek
    assert read_id(bytes(kek.id)) == KekId("k")
    assert read_id(bytes(dek.id)) == DekId("k", "s", "AES256_SIV", 3)
    assert read_dek(dek.id, dek.value, 5) == dek


def test_a_record_is_written_again_under_the_very_key_that_it_had() -> None:
    state = DekState()
    key = b'{"type":"KEK","name":"k","tenant":"default"}'
    kek = StoredKek("k", "local-kms", "x")
    state.apply(key, kek.value, 0, 1)
    assert state.key_of(kek.id) == key
    state.apply(key, None, 1, 1)
    assert state.key_of(kek.id) == bytes(kek.id)
    assert state.kek("k", deleted=True) is None


def test_what_is_no_key_is_left_out() -> None:
    state = DekState()
    for key, value in ((b"", b"{}"), (b"[]", b"1"), (b'{"type":"KEK"}', b"{}"), (bytes(KekId("k")), b"[]")):
        state.apply(key, value, 0, 1)
    assert state.keks(deleted=True) == []
