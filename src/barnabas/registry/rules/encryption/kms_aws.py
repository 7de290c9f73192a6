"""Keys of AWS KMS: `aws-kms://` and a key's ARN (extra: registry-encryption-aws)."""

# boto3 has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportPrivateUsage=false, reportMissingTypeStubs=false

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from barnabas.registry.rules.encryption.kms import Aead, KmsDriver, OneKeyClient, library
from barnabas.registry.rules.errors import RuleError

PREFIX = "aws-kms://"
EXTRA = ("keys of AWS", "registry-encryption-aws")
ARN_PARTS = 6


class AwsKmsDriver(KmsDriver):
    """Credentials: `access.key.id` with `secret.access.key`, `profile`, or what boto3 finds by itself. A role
    is taken on if there is `role.arn` (AWS_ROLE_ARN), with `role.session.name` and `role.external.id`; with
    AWS_WEB_IDENTITY_TOKEN_FILE boto3 does that."""

    def get_key_url_prefix(self) -> str:
        return PREFIX

    def new_kms_client(self, conf: Mapping[str, Any], key_url: str) -> AwsKmsClient:
        boto3 = library("boto3", *EXTRA)
        region = _region(key_url)
        key, secret, profile = (conf.get(name) for name in ("access.key.id", "secret.access.key", "profile"))
        if key is not None and secret is not None:
            session = boto3.Session(region_name=region, aws_access_key_id=key, aws_secret_access_key=secret)
        else:
            session = boto3.Session(region_name=region, profile_name=profile)
        role = _setting(conf, "role.arn")
        if role is not None and "AWS_WEB_IDENTITY_TOKEN_FILE" not in os.environ:
            _take_on_role(session, role, conf)
        return AwsKmsClient(key_url, session.client("kms"))


def _take_on_role(session: Any, role: str, conf: Mapping[str, Any]) -> None:
    from botocore.credentials import DeferredRefreshableCredentials, create_assume_role_refresher

    wanted = {
        "RoleArn": role,
        "RoleSessionName": _setting(conf, "role.session.name") or "confluent-encrypt",
    }
    external_id = _setting(conf, "role.external.id")
    if external_id is not None:
        wanted["ExternalId"] = external_id
    refresher = create_assume_role_refresher(session.client("sts"), wanted)
    # boto3 offers no other way to have credentials renewed that were not in its own files.
    session._session._credentials = DeferredRefreshableCredentials(
        method="sts-assume-role", refresh_using=refresher
    )


def _setting(conf: Mapping[str, Any], name: str) -> str | None:
    """`role.arn`, or AWS_ROLE_ARN."""
    value = conf.get(name)
    return os.environ.get("AWS_" + name.upper().replace(".", "_")) if value is None else value


def _region(key_url: str) -> str:
    # arn:aws:kms:us-west-2:111122223333:key/1234abcd
    parts = key_url.removeprefix(PREFIX).split(":")
    if len(parts) < ARN_PARTS:
        raise RuleError(f"invalid key id: {key_url.removeprefix(PREFIX)!r} is no ARN of a key")
    return parts[3]


class AwsKmsClient(OneKeyClient):
    """`client`: boto3's for KMS."""

    def get_aead(self, key_uri: str) -> Aead:
        return _AwsAead(self._client, key_uri.removeprefix(PREFIX))


class _AwsAead:
    def __init__(self, client: Any, key_arn: str) -> None:
        self._client = client
        self._key_arn = key_arn

    def encrypt(self, plaintext: bytes, associated_data: bytes) -> bytes:
        return self._client.encrypt(
            KeyId=self._key_arn, Plaintext=plaintext, EncryptionContext=_context(associated_data)
        )["CiphertextBlob"]

    def decrypt(self, ciphertext: bytes, associated_data: bytes) -> bytes:
        return self._client.decrypt(
            KeyId=self._key_arn, CiphertextBlob=ciphertext, EncryptionContext=_context(associated_data)
        )["Plaintext"]


def _context(associated_data: bytes) -> dict[str, str]:
    return {"associatedData": associated_data.hex()} if associated_data else {}
