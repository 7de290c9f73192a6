"""Signing for AWS by AWS's own published example, and where keys are looked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from barnabas.credentials import AwsCredentials
from barnabas.errors import CredentialsError, InvalidSettingError, SaslAuthenticationError
from barnabas.net.sasl.aws_msk_iam import AwsMskIam
from barnabas.net.sasl.sigv4 import presigned_query
from barnabas.settings.table import AdminConfig, load

# "Authenticating Requests: Using Query Parameters" in the reference of Amazon S3.
EXAMPLE = AwsCredentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
HOST = "b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com"


@pytest.fixture(autouse=True)
def _no_keys_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "ACCESS_KEY_ID",
        "SECRET_ACCESS_KEY",
        "SESSION_TOKEN",
        "PROFILE",
        "REGION",
        "DEFAULT_REGION",
    ):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def message(host: str = HOST, **settings: Any) -> dict[str, str]:
    """What a client with these settings says to a broker."""
    config = load(
        AdminConfig,
        {
            "bootstrap_servers": "host:9098",
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "AWS_MSK_IAM",
            **settings,
        },
    )
    return json.loads(asyncio.run(AwsMskIam(config).converse(host).first()))


def test_the_published_example_is_signed_as_printed() -> None:
    query = presigned_query(
        EXAMPLE,
        host="examplebucket.s3.amazonaws.com",
        path="/test.txt",
        parameters={},
        service="s3",
        region="us-east-1",
        at=datetime(2013, 5, 24, tzinfo=UTC),
        expires_seconds=86_400,
        payload_hash="UNSIGNED-PAYLOAD",
    )
    assert query["X-Amz-Credential"] == "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
    assert query["X-Amz-Signature"] == "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"


def test_the_message_has_the_signed_request_and_the_region_of_the_host() -> None:
    said = message(aws_access_key_id="key", aws_secret_access_key="secret", aws_session_token="session")
    assert said["version"] == "2020_10_22"
    assert said["host"] == HOST
    assert said["action"] == "kafka-cluster:Connect"
    assert said["x-amz-algorithm"] == "AWS4-HMAC-SHA256"
    key, day, *scope = said["x-amz-credential"].split("/")
    assert (key, scope) == ("key", ["eu-west-1", "kafka-cluster", "aws4_request"])
    assert said["x-amz-date"].startswith(day)
    assert said["x-amz-expires"] == "900"
    assert said["x-amz-signedheaders"] == "host"
    assert said["x-amz-security-token"] == "session"
    assert len(said["x-amz-signature"]) == 64
    assert "secret" not in json.dumps(said)


def test_a_setting_names_the_region_where_the_host_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    assert "/us-east-2/" in message("broker.internal", aws_region="us-east-2", **keys)["x-amz-credential"]
    with pytest.raises(CredentialsError, match=r"'broker\.internal': give aws_region"):
        message("broker.internal", **keys)
    monkeypatch.setenv("AWS_REGION", "ap-south-1")
    assert "/ap-south-1/" in message("broker.internal", **keys)["x-amz-credential"]


def test_keys_come_from_the_environment_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = from-file\naws_secret_access_key = s%cret\n"
        "[other]\naws_access_key_id = from-other\naws_secret_access_key = s\naws_session_token = t\n"
    )
    assert message()["x-amz-credential"].startswith("from-file/")
    other = message(aws_profile="other")
    assert other["x-amz-credential"].startswith("from-other/")
    assert other["x-amz-security-token"] == "t"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    assert message()["x-amz-credential"].startswith("from-environment/")
    # Who names a profile means it.
    assert message(aws_profile="other")["x-amz-credential"].startswith("from-other/")


def test_keys_come_from_a_callback() -> None:
    async def later() -> AwsCredentials:
        return AwsCredentials("from-callback", "secret")

    assert (
        message(aws_credentials_callback=lambda: AwsCredentials("plain", "s"))["x-amz-credential"][:6]
        == "plain/"
    )
    assert message(aws_credentials_callback=later)["x-amz-credential"].startswith("from-callback/")


@pytest.mark.parametrize(
    ("callback", "text"),
    [
        (lambda: 1 // 0, "raised ZeroDivisionError"),
        (lambda: ("key", "secret"), "gave a tuple, not AwsCredentials"),
    ],
)
def test_a_callback_that_gives_no_keys_is_called_so(callback: Callable[[], Any], text: str) -> None:
    with pytest.raises(CredentialsError, match=text):
        message(aws_credentials_callback=callback)


@pytest.mark.integration
def test_no_keys_at_all_says_where_they_were_looked_for() -> None:
    with pytest.raises(CredentialsError, match=r"aws_credentials_callback.*AWS_ACCESS_KEY_ID.*botocore"):
        message()


def test_a_file_that_cannot_be_read_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("a secret without a section")
    with pytest.raises(CredentialsError, match="credentials' cannot be read") as caught:
        message()
    assert "secret without" not in str(caught.value)


def test_half_a_pair_is_refused() -> None:
    with pytest.raises(InvalidSettingError, match="aws_access_key_id and aws_secret_access_key need each"):
        message(aws_access_key_id="key")


@pytest.mark.parametrize("answer", [b"", b"no", b"{}", b'{"version": "1999"}', b"[]"])
def test_an_answer_that_is_none_is_refused(answer: bytes) -> None:
    config = load(AdminConfig, {"bootstrap_servers": "host:1", "aws_region": "eu-west-1"})

    async def main() -> None:
        await AwsMskIam(config).converse(HOST).reply(answer)

    with pytest.raises(SaslAuthenticationError, match="does not keep to AWS_MSK_IAM"):
        asyncio.run(main())
