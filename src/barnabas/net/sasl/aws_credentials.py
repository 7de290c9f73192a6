"""Where keys of AWS are found: settings, environment, shared credentials file, botocore.

The order is that of AWS's own tools. Machines and containers that get keys from AWS's metadata services,
single sign-on and assumed roles are botocore's, which is used where it is installed.
"""

from __future__ import annotations

import configparser
import importlib
import os
from pathlib import Path
from typing import Any

from barnabas.credentials import AwsCredentials, AwsCredentialsCallback
from barnabas.errors import CredentialsError, InvalidSettingError
from barnabas.net.addresses import in_thread
from barnabas.net.sasl.user_callback import call
from barnabas.settings.table import CommonConfig


class AwsCredentialsFinder:
    """Raises: InvalidSettingError where the settings have half of a pair."""

    def __init__(self, config: CommonConfig) -> None:
        self._callback = config.aws_credentials_callback
        self._profile = config.aws_profile
        self._fixed: AwsCredentials | None = None
        key, secret, session = (
            config.aws_access_key_id,
            config.aws_secret_access_key,
            config.aws_session_token,
        )
        if (key is None) != (secret is None):
            raise InvalidSettingError("aws_access_key_id and aws_secret_access_key need each other")
        if key is not None and secret is not None:
            self._fixed = AwsCredentials(key, secret.reveal(), None if session is None else session.reveal())

    async def find(self) -> AwsCredentials:
        """Looks anew each time: keys may be temporary. Raises: CredentialsError."""
        if self._callback is not None:
            return await _keys_from(self._callback)
        if self._fixed is not None:
            return self._fixed
        found = await in_thread(lambda: self._in_environment() or self._in_file() or self._from_botocore())
        if found is None:
            raise CredentialsError(
                "AWS_MSK_IAM finds no keys: give aws_access_key_id and aws_secret_access_key, or "
                "aws_credentials_callback, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or have them "
                "in the shared credentials file; on a machine with a role of its own, install botocore"
            )
        return found

    def _in_environment(self) -> AwsCredentials | None:
        key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
        if self._profile is not None or not key or not secret:
            return None
        return AwsCredentials(key, secret, os.environ.get("AWS_SESSION_TOKEN") or None)

    def _in_file(self) -> AwsCredentials | None:
        default = Path.home() / ".aws" / "credentials"
        path = Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", default)).expanduser()
        profile = self._profile or os.environ.get("AWS_PROFILE", "default")
        # Values may hold a per cent sign.
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):
            # The parser's own error would quote the line.
            raise CredentialsError(f"the shared credentials file {str(path)!r} cannot be read") from None
        if not parser.has_section(profile):
            return None
        section = parser[profile]
        key, secret = section.get("aws_access_key_id"), section.get("aws_secret_access_key")
        if not key or not secret:
            return None
        return AwsCredentials(key, secret, section.get("aws_session_token") or None)

    def _from_botocore(self) -> AwsCredentials | None:
        try:
            session_module: Any = importlib.import_module("botocore.session")
        except ImportError:
            return None
        try:
            found: Any = session_module.Session(profile=self._profile).get_credentials()
            frozen: Any = None if found is None else found.get_frozen_credentials()
        except Exception as error:
            raise CredentialsError(f"botocore finds no keys of AWS: {error}") from error
        return None if frozen is None else AwsCredentials(frozen.access_key, frozen.secret_key, frozen.token)


async def _keys_from(callback: AwsCredentialsCallback) -> AwsCredentials:
    given = await call("aws_credentials_callback", callback)
    if not isinstance(given, AwsCredentials):
        raise CredentialsError(f"aws_credentials_callback gave a {type(given).__name__}, not AwsCredentials")
    return given
