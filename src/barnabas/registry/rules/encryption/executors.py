"""ENCRYPT and ENCRYPT_PAYLOAD: fields, or all of a message's bytes, by data keys that a DEK registry keeps.

Parameters, of a rule or in the schema's metadata: `encrypt.kek.name`, `encrypt.kms.type`,
`encrypt.kms.key.id`, `encrypt.dek.algorithm`, `encrypt.dek.expiry.days`. A key that is not there yet is made
when something is to be written. With expiry days the version of the data key goes before what it encrypted.

Owns which keys are asked for, made and remembered. The registry is waited for when a key is first used, also
on an event loop, as it is by the original.
"""

from __future__ import annotations

import base64
import binascii
import io
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from barnabas.registry.cache import Cache
from barnabas.registry.config import RegistryConfig
from barnabas.registry.kms_hosts import InvalidHostsError, hosts_of, unlisted_address
from barnabas.registry.rules.context import FieldContext, FieldTransform, RuleContext, mapping_of
from barnabas.registry.rules.encryption.ciphers import Cryptor
from barnabas.registry.rules.encryption.dek_registry import LATEST, DekRegistry
from barnabas.registry.rules.encryption.keys import DekAlgorithm
from barnabas.registry.rules.encryption.kms import KmsClient, KmsDriver, registered_or_own_driver
from barnabas.registry.rules.errors import RuleError
from barnabas.registry.rules.executors import FieldRuleExecutor, RuleExecutor
from barnabas.registry.rules.kinds import FieldType, RuleMode

T = TypeVar("T")

log = logging.getLogger(__name__)

KEK_NAME = "encrypt.kek.name"
KMS_KEY_ID = "encrypt.kms.key.id"
KMS_TYPE = "encrypt.kms.type"
DEK_ALGORITHM = "encrypt.dek.algorithm"
DEK_EXPIRY_DAYS = "encrypt.dek.expiry.days"
ALTERNATE_KMS_KEY_IDS = "encrypt.alternate.kms.key.ids"
KMS_HOSTS = "encrypt.kms.hosts"
"""A setting of the rules of serializers: the hosts of KMS addresses in the registry that may be used."""

MILLISECONDS_IN_DAY = 24 * 60 * 60 * 1000
MAGIC = b"\x00"
VERSION_BYTES = 4
REMEMBERED_KEYS = 1000
NOT_FOUND, CONFLICT = 404, 409


class Clock:
    def now(self) -> int:
        """Milliseconds since 1970."""
        return round(time.time() * 1000)


class EncryptionExecutor(RuleExecutor):
    """ENCRYPT_PAYLOAD. `client`: of the DEK registry, with the calls that DekRegistry has; made of what
    `configure` is told."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.client: Any = None
        self.config: dict[str, Any] = {}
        self.clock = Clock() if clock is None else clock
        self._client_conf: Any = None
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._kms_clients: dict[Any, KmsClient] = {}
        # What the KMS decrypted, by what it decrypted it from.
        self._raw_keys: Cache[tuple[str, str], bytes] = Cache(REMEMBERED_KEYS)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._client_conf, self.config, self.clock

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        client_conf, self.config, self.clock = state
        self.client, self._client_conf = None, None
        self._begin()
        self.configure(client_conf, None)

    def type(self) -> str:
        return "ENCRYPT_PAYLOAD"

    def configure(self, client_conf: Any, rule_conf: Mapping[str, Any] | None) -> None:
        """Raises: RuleError, where several serializers tell it what does not go together."""
        with self._lock:
            if client_conf:
                if self.client is None:
                    self.client = self._new_client(client_conf)
                    self._client_conf = client_conf
                elif self._client_conf != client_conf:
                    raise RuleError("executor already configured")
            for key, value in (rule_conf or {}).items():
                if self.config.setdefault(key, value) != value:
                    raise RuleError(f"rule config key already set: {key}")

    def close(self) -> None:
        client, self.client, self._client_conf = self.client, None, None
        if client is not None:
            client.close()

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        return self.new_transform(ctx).transform(ctx, FieldType.BYTES, message)

    def new_transform(self, ctx: RuleContext) -> EncryptionTransform:
        """For the values of one message."""
        return EncryptionTransform(self, _cryptor(ctx), _kek_name(ctx), _expiry_days(ctx))

    def _new_client(self, client_conf: Any) -> Any:
        if isinstance(client_conf, RegistryConfig):
            return DekRegistry.of(client_conf)
        return DekRegistry(**client_conf)

    def _driver(self, key_url: str) -> KmsDriver:
        return registered_or_own_driver(key_url)

    # A KEK at work

    def wrapped(self, kek: Any, raw_key: bytes) -> bytes:
        """A data key, encrypted by `kek`."""
        found = self._tried("encrypt", kek, lambda aead: aead.encrypt(raw_key, Cryptor.EMPTY_AAD))
        self._raw_keys.put((kek.name, base64.b64encode(found).decode()), raw_key)
        return found

    def unwrapped(self, kek: Any, encrypted_key: str) -> bytes:
        """A data key in the clear."""
        raw_key = self._raw_keys.get((kek.name, encrypted_key))
        if raw_key is None:
            data = base64.b64decode(encrypted_key)
            raw_key = self._tried("decrypt", kek, lambda aead: aead.decrypt(data, Cryptor.EMPTY_AAD))
            self._raw_keys.put((kek.name, encrypted_key), raw_key)
        return raw_key

    def _tried(self, what: str, kek: Any, use: Callable[[Any], bytes]) -> bytes:
        """With the KEK's key, or else with those that stand in for it."""
        props = mapping_of(kek.kms_props, "properties")
        others = props.get(ALTERNATE_KMS_KEY_IDS) or self.config.get(ALTERNATE_KMS_KEY_IDS)
        key_ids = [kek.kms_key_id, *_listed(others)]
        reason: Exception | None = None
        for key_id in key_ids:
            key_url = f"{kek.kms_type}://{key_id}"
            try:
                self._check_addresses(kek, key_id, props)
                return use(self._kms_client(key_url, {**self.config, **props}).get_aead(key_url))
            except Exception as error:
                log.warning("failed to %s with kek %s and kms key id %s", what, kek.name, key_id)
                reason = error
        raise RuleError(
            f"failed to {what} with all KEKs for {kek.name}: {reason or 'there is none'}"
        ) from reason

    def _check_addresses(self, kek: Any, key_id: str, props: Mapping[str, Any]) -> None:
        """Whoever writes to the registry names them, and who asks there shows credentials of this process."""
        try:
            hosts = hosts_of(str(self.config.get(KMS_HOSTS) or ""))
        except InvalidHostsError as error:
            raise RuleError(f"{KMS_HOSTS} of the rules' settings: {error}") from None
        own = _listed(self.config.get(ALTERNATE_KMS_KEY_IDS))
        key_url = "" if key_id in own else f"{kek.kms_type}://{key_id}"
        unlisted = unlisted_address(key_url, props, hosts)
        if unlisted is not None:
            raise RuleError(
                f"the registry's key {kek.name} names the address {unlisted!r:.200}, whose host "
                f"{KMS_HOSTS} of the rules' settings does not list"
            )

    def _kms_client(self, key_url: str, conf: Mapping[str, Any]) -> KmsClient:
        key = (key_url, tuple(sorted((name, str(value)) for name, value in conf.items())))
        with self._lock:
            known = self._kms_clients.get(key)
        if known is None:
            known = self._driver(key_url).new_kms_client(conf, key_url)
            with self._lock:
                self._kms_clients[key] = known
        return known


class EncryptionTransform:
    """The values of one message, by one rule."""

    def __init__(
        self, executor: EncryptionExecutor, cryptor: Cryptor, kek_name: str, expiry_days: int
    ) -> None:
        self._executor = executor
        self._cryptor = cryptor
        self._kek_name = kek_name
        self._expiry_days = expiry_days
        self._kek: Any = None

    def transform(self, ctx: RuleContext, field_type: FieldType, field_value: Any) -> Any:
        """Raises: RuleError."""
        if field_value is None:
            return None
        if ctx.rule_mode == RuleMode.WRITE:
            return self._encrypted(ctx, field_type, field_value)
        if ctx.rule_mode == RuleMode.READ:
            return self._decrypted(ctx, field_type, field_value)
        raise RuleError(f"unsupported rule mode {ctx.rule_mode}")

    def _encrypted(self, ctx: RuleContext, field_type: FieldType, value: Any) -> Any:
        plaintext = _bytes_of(field_type, value)
        if plaintext is None:
            raise RuleError(f"type {field_type} not supported for encryption")
        dek, key = self._dek(ctx, LATEST if self._expiry_days else 1)
        ciphertext = self._cryptor.encrypt(key, plaintext, Cryptor.EMPTY_AAD)
        if self._expiry_days:
            ciphertext = MAGIC + dek.version.to_bytes(VERSION_BYTES) + ciphertext
        return base64.b64encode(ciphertext).decode() if field_type == FieldType.STRING else ciphertext

    def _decrypted(self, ctx: RuleContext, field_type: FieldType, value: Any) -> Any:
        if field_type == FieldType.STRING:
            try:
                ciphertext = base64.b64decode(value)
            except (binascii.Error, ValueError) as error:
                raise RuleError(f"the value is not encrypted: it is not Base64 ({error})") from None
        else:
            found = _bytes_of(field_type, value)
            if found is None:
                return value
            ciphertext = found
        version = 1
        if self._expiry_days:
            if len(ciphertext) <= VERSION_BYTES:
                raise RuleError("no version found in ciphertext")
            version = int.from_bytes(ciphertext[1 : 1 + VERSION_BYTES]) or 1
            ciphertext = ciphertext[1 + VERSION_BYTES :]
        _, key = self._dek(ctx, version)
        plaintext = self._cryptor.decrypt(key, ciphertext, Cryptor.EMPTY_AAD)
        if field_type != FieldType.STRING:
            return plaintext
        try:
            return plaintext.decode()
        except UnicodeDecodeError as error:
            raise RuleError(f"what was encrypted is no text: {error}") from None

    # Keys

    def _dek(self, ctx: RuleContext, version: int) -> tuple[Any, bytes]:
        """A data key, and what it is in the clear."""
        kek = self._known_kek(ctx)
        is_read = ctx.rule_mode == RuleMode.READ
        dek = self._dek_of(ctx, kek, version, deleted=is_read)
        is_expired = not is_read and dek is not None and self._is_expired(dek)
        if dek is None or is_expired:
            if is_read:
                raise RuleError(f"no dek found for {self._kek_name} during consume")
            new_version = dek.version + 1 if is_expired and dek is not None else 1
            try:
                dek = self._new_dek(ctx, kek, version, new_version)
            except RuleError as error:
                if dek is None:
                    raise
                log.warning(
                    "failed to create dek for %s, subject %s, version %d, using existing dek: %s",
                    kek.name,
                    ctx.subject,
                    new_version,
                    error,
                )
        if dek.key_material is not None:
            return dek, base64.b64decode(dek.key_material)
        if dek.encrypted_key_material is None:
            raise RuleError("no key material bytes found for dek")
        return dek, self._executor.unwrapped(kek, dek.encrypted_key_material)

    def _is_expired(self, dek: Any) -> bool:
        age = self._executor.clock.now() - (dek.ts or 0)
        return self._expiry_days > 0 and age / MILLISECONDS_IN_DAY > self._expiry_days

    def _new_dek(self, ctx: RuleContext, kek: Any, version: int, new_version: int) -> Any:
        encrypted = None
        if not kek.shared:
            raw_key = self._cryptor.generate_key()
            encrypted = base64.b64encode(self._executor.wrapped(kek, raw_key)).decode()
        dek = self._asked(
            f"could not register dek for kek {kek.name}, subject {ctx.subject}",
            CONFLICT,
            lambda client: client.register_dek(
                kek.name,
                ctx.subject,
                encrypted,
                algorithm=self._cryptor.dek_format,
                version=new_version,
            ),
        )
        if dek is None:
            # Somebody else was faster.
            dek = self._dek_of(ctx, kek, version, deleted=False)
        if dek is None:
            raise RuleError(f"no dek found for {kek.name} during produce")
        return dek

    def _dek_of(self, ctx: RuleContext, kek: Any, version: int, *, deleted: bool) -> Any:
        dek = self._asked(
            f"could not get dek for kek {kek.name}, subject {ctx.subject}",
            NOT_FOUND,
            lambda client: client.get_dek(
                kek.name, ctx.subject, algorithm=self._cryptor.dek_format, version=version, deleted=deleted
            ),
        )
        return dek if dek is not None and dek.encrypted_key_material else None

    def _known_kek(self, ctx: RuleContext) -> Any:
        if self._kek is None:
            self._kek = self._checked_kek(ctx)
        return self._kek

    def _checked_kek(self, ctx: RuleContext) -> Any:
        name, context = self._kek_name, context_of(ctx.subject)
        kms_type, kms_key_id = ctx.get_parameter(KMS_TYPE), ctx.get_parameter(KMS_KEY_ID)
        kek = self._kek_of(name, context)
        if kek is None:
            if ctx.rule_mode == RuleMode.READ:
                raise RuleError(f"no kek found for {name} during consume")
            if not kms_type:
                raise RuleError(f"no kms type found for {name} during produce")
            if not kms_key_id:
                raise RuleError(f"no kms key id found for {name} during produce")
            kek = self._asked(
                f"could not register kek {name}",
                CONFLICT,
                lambda client: client.register_kek(name, kms_type, kms_key_id, shared=False, context=context),
            )
            if kek is None:
                kek = self._kek_of(name, context)
            if kek is None:
                raise RuleError(f"no kek found for {name} during produce")
        if kms_type and kek.kms_type != kms_type:
            raise RuleError(
                f"found {name} with kms type {kek.kms_type} which differs from rule kms type {kms_type}"
            )
        if kms_key_id and kek.kms_key_id != kms_key_id:
            raise RuleError(
                f"found {name} with kms key id {kek.kms_key_id} "
                f"which differs from rule kms key id {kms_key_id}"
            )
        return kek

    def _kek_of(self, name: str, context: str | None) -> Any:
        return self._asked(
            f"could not get kek {name}",
            NOT_FOUND,
            lambda client: client.get_kek(name, deleted=False, context=context),
        )

    def _asked(self, failure: str, expected: int, ask: Callable[[Any], T]) -> T | None:
        """None where the registry says that it is as `expected`."""
        client = self._executor.client
        if client is None:
            raise RuleError("client not configured")
        try:
            return ask(client)
        except Exception as error:
            status = getattr(error, "status", None) or getattr(error, "http_status_code", None)
            if status == expected:
                return None
            raise RuleError(f"{failure}: {error}") from error


class FieldEncryptionExecutor(FieldRuleExecutor):
    """ENCRYPT: of fields that are text or bytes. Text stays text, in Base64."""

    _executor_class = EncryptionExecutor

    def __init__(self, clock: Clock | None = None) -> None:
        self.executor = self._executor_class(clock)

    def configure(self, client_conf: Any, rule_conf: Mapping[str, Any] | None) -> None:
        self.executor.configure(client_conf, rule_conf)

    def type(self) -> str:
        return "ENCRYPT"

    def new_transform(self, ctx: RuleContext) -> FieldTransform:
        values = self.executor.new_transform(ctx)

        def transform(ctx: RuleContext, field_ctx: FieldContext, field_value: Any) -> Any:
            return values.transform(ctx, field_ctx.field_type, field_value)

        return transform

    def close(self) -> None:
        self.executor.close()


def context_of(subject: str | None) -> str | None:
    """Of `:.context:subject`, its `.context`; None for the default one."""
    if subject is None or not subject.startswith(":."):
        return None
    context = subject[1:].partition(":")[0]
    return None if context == "." else context


def _listed(text: str | None) -> list[str]:
    return [each.strip() for each in (text or "").split(",") if each.strip()]


def _cryptor(ctx: RuleContext) -> Cryptor:
    name = ctx.get_parameter(DEK_ALGORITHM)
    if name is None:
        return Cryptor(DekAlgorithm.AES256_GCM)
    try:
        return Cryptor(DekAlgorithm(name))
    except ValueError:
        raise RuleError(f"{DEK_ALGORITHM} is {name!r}, and not one of {', '.join(DekAlgorithm)}") from None


def _kek_name(ctx: RuleContext) -> str:
    name = ctx.get_parameter(KEK_NAME)
    if name is None:
        raise RuleError("no kek name found")
    if not name:
        raise RuleError("empty kek name")
    return name


def _expiry_days(ctx: RuleContext) -> int:
    text = ctx.get_parameter(DEK_EXPIRY_DAYS)
    if text is None:
        return 0
    try:
        days = int(text)
    except ValueError:
        raise RuleError("invalid expiry days") from None
    if days < 0:
        raise RuleError("negative expiry days")
    return days


def _bytes_of(field_type: FieldType, value: Any) -> bytes | None:
    """None for what is not encrypted."""
    if field_type == FieldType.STRING:
        return cast(str, value).encode()
    if field_type == FieldType.BYTES:
        return value.read() if isinstance(value, io.BytesIO) else bytes(value)
    return None
