"""Keys in management systems: drivers by their URLs, and fields encrypted with a key of Vault or AWS."""

from __future__ import annotations

import base64
import copy
import http.server
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tests.compat.differential.recording_client import recording_client
from tests.compat.differential.script import script
from tests.compat.differential.scripts.registry.avro import UNREGISTERED, context
from tests.compat.differential.scripts.registry.rules import TAGGED, VALUE
from tests.compat.differential.stage import Stage

ENCRYPTION = "schema_registry.rules.encryption"
DRIVERS = {
    "aws-kms://": ("awskms.aws_driver", "AwsKmsDriver"),
    "azure-kms://": ("azurekms.azure_driver", "AzureKmsDriver"),
    "gcp-kms://": ("gcpkms.gcp_driver", "GcpKmsDriver"),
    "hcvault://": ("hcvault.hcvault_driver", "HcVaultKmsDriver"),
    "local-kms://": ("localkms.local_driver", "LocalKmsDriver"),
}
ARN = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd"

Answer = Callable[[str, Any, dict[str, Any]], dict[str, Any]]


@contextmanager
def _serving(answer: Answer) -> Iterator[str]:
    """The URL of a system of which `answer(path, headers, body)` gives the answers."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(answer(self.path, self.headers, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@script(alone=True)
def drivers_are_found_by_the_urls_of_their_keys(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module(f"{ENCRYPTION}.kms_driver_registry")
    registry.reset_kms_drivers()
    for prefix, (module, name) in DRIVERS.items():
        stage.attempt(f"{prefix} before", registry.get_kms_driver, f"{prefix}key")
        driver = getattr(stage.module(f"{ENCRYPTION}.{module}"), name)
        stage.record(f"{prefix} is registered", driver.register())
        found = registry.get_kms_driver(f"{prefix}key")
        stage.record(f"{prefix} after", [type(found).__name__, found.get_key_url_prefix()])
        stage.record(f"{prefix} is a driver", isinstance(found, registry.KmsDriver))
    stage.attempt("of nobody", registry.get_kms_driver, "other-kms://key")


@script(alone=True)
def keys_of_vault_encrypt_fields(kafka: ModuleType, stage: Stage) -> None:
    for name in [name for name in os.environ if name.startswith("VAULT_")]:
        del os.environ[name]
    asked: list[Any] = []

    def answer(path: str, headers: Any, body: dict[str, Any]) -> dict[str, Any]:
        asked.append([path, headers["X-Vault-Token"], headers["X-Vault-Namespace"], sorted(body)])
        if "/encrypt/" in path:
            return {"data": {"ciphertext": f"vault:v1:{body['plaintext']}"}}
        return {"data": {"plaintext": body["ciphertext"].removeprefix("vault:v1:")}}

    with _serving(answer) as url:
        secrets = {"token.id": "t", "namespace": "n"}
        _encrypt(stage, "hcvault", f"{url}/transit/keys/my-key", secrets, asked)


@script(alone=True)
def keys_of_aws_encrypt_fields(kafka: ModuleType, stage: Stage) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    asked: list[Any] = []

    def answer(path: str, headers: Any, body: dict[str, Any]) -> dict[str, Any]:
        scope = headers["Authorization"].split("Credential=")[1].split("/")
        asked.append([path, headers["X-Amz-Target"], scope[0], scope[2:4], body["KeyId"], sorted(body)])
        if headers["X-Amz-Target"].endswith("Encrypt"):
            return {"CiphertextBlob": body["Plaintext"], "KeyId": ARN}
        plain = base64.b64decode(body["CiphertextBlob"])
        return {"Plaintext": base64.b64encode(plain).decode(), "KeyId": ARN}

    with _serving(answer) as url:
        os.environ["AWS_ENDPOINT_URL_KMS"] = url
        os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
        secrets = {"access.key.id": "OWNKEY", "secret.access.key": "s"}
        _encrypt(stage, "aws-kms", ARN, secrets, asked)


def _encrypt(stage: Stage, system: str, key: str, secrets: dict[str, str], asked: list[Any]) -> None:
    """Writes and reads a value with a field that a key of a `system` encrypts; records what was `asked`."""
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    drivers = stage.module(f"{ENCRYPTION}.kms_driver_registry")
    drivers.reset_kms_drivers()
    module, name = DRIVERS[f"{system}://"]
    getattr(stage.module(f"{ENCRYPTION}.{module}"), name).register()
    rules = stage.module("schema_registry.rule_registry").RuleRegistry()
    rules.register_executor(stage.module(f"{ENCRYPTION}.encrypt_executor").FieldEncryptionExecutor())
    params = {"encrypt.kek.name": "kek", "encrypt.kms.type": system, "encrypt.kms.key.id": key}
    words = {"name": "r", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "ENCRYPT", "tags": ["PII"]}
    rule_set = registry.RuleSet(None, [registry.Rule.from_dict({**words, "params": params})], None)
    client = recording_client(registry, stage)
    client.register_schema("t-value", registry.Schema(TAGGED, "AVRO", [], None, rule_set))
    latest = {**UNREGISTERED, "use.latest.version": True}
    serializer = avro.AvroSerializer(client, None, None, latest, secrets, rules)
    data = serializer(copy.deepcopy(VALUE), context(stage))
    stage.record("bytes", len(data))
    deserializer = avro.AvroDeserializer(client, None, None, False, None, secrets, rules)
    stage.attempt("read", deserializer, data, context(stage))
    # A key that has just been made need not be asked for, and only the original does.
    del asked[1:]
    key_url = f"{system}://{key}"
    aead = drivers.get_kms_driver(key_url).new_kms_client(secrets, key_url).get_aead(key_url)
    stage.record("both ways", aead.decrypt(aead.encrypt(b"data key", b""), b""))
    stage.record("asked", asked)
