"""Uses what an extra is for, where that alone is installed: `python try_extra.py avro`. Fails loudly.

Nothing of the checkout, and no import of an extra above its function. `all` is every one of them.
"""

from __future__ import annotations

import http.server
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from barnabas import Consumer, Producer, Registry
from barnabas.testing import EmbeddedBroker

BIN = Path(sys.executable).parent
AVRO = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
PROTO = 'syntax = "proto3"; message R { int64 id = 1; }'
JSON_SCHEMA = '{"type": "object", "properties": {"id": {"type": "integer"}}}'
KMS_KEYS = {
    "aws": "aws-kms://arn:aws:kms:eu-central-1:1:key/k",
    "azure": "azure-kms://https://v.vault.azure.net/keys/k/" + "0" * 32,
    "gcp": "gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k",
    "vault": "hcvault://https://127.0.0.1:1/transit/keys/k",
}


def arrow() -> None:
    import pyarrow as pa

    from barnabas import formats
    from barnabas.formats.codec import error_column

    with EmbeddedBroker() as broker, Producer(broker.bootstrap) as producer:
        producer.send_arrow("t", pa.table({"value": [b'{"id": 1}', b"broken"]})).result()
        with Consumer(broker.bootstrap, topics=["t"], auto_offset_reset="earliest") as consumer:
            values: list[Any] = []
            while len(values) < 2:
                values += consumer.poll_arrow(1.0).column("value")
    codec = formats.Codec(formats.json(pa.struct([("id", pa.int64())])))
    column, errors = codec.decode(pa.array([value.as_py() for value in values]))
    assert column.to_pylist() == [{"id": 1}, None], column
    assert len(errors) == 1
    assert error_column(pa.array([b"", b"broken"]), errors).null_count == 1


def avro() -> None:
    from barnabas.formats import AvroValues

    values = AvroValues(AVRO)
    assert values.decode(values.encode({"id": 7})) == {"id": 7}
    _round_trip_of_codec("avro", AVRO)


def protobuf() -> None:
    from barnabas.formats import protobuf_schema

    assert "message R" in protobuf_schema.ProtobufSchema(PROTO).normalized_text
    _round_trip_of_codec("protobuf", PROTO, "R")


def json_schema() -> None:
    from barnabas.formats import JsonValues

    values = JsonValues(JSON_SCHEMA)
    assert values.decode(values.encode({"id": 7})) == {"id": 7}


def spark(remote: bool = False) -> None:
    from pyspark.sql import SparkSession

    importlib.import_module("barnabas.spark")
    if not shutil.which("java"):
        print("there is no Java here: Spark was imported, and not started")
        return
    # Spark's own Pythons would be the python3 of PATH, where none of this is installed.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[1]") if remote else SparkSession.builder.master("local[1]")
    with EmbeddedBroker() as broker, Producer(broker.bootstrap) as producer:
        producer.send("t", b"1").result()
        session = builder.getOrCreate()
        try:
            options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "t"}
            rows = session.read.format("barnabas").options(**options).load().collect()
        finally:
            session.stop()
    assert [bytes(row.value) for row in rows] == [b"1"], rows


def spark_connect() -> None:
    importlib.import_module("pyspark.sql.connect.session")
    spark(remote=True)


def pipelines() -> None:
    importlib.import_module("pyspark.pipelines.cli")
    importlib.import_module("barnabas.spark")


def openlineage() -> None:
    importlib.import_module("barnabas.spark.lineage")


def prometheus() -> None:
    from prometheus_client import CollectorRegistry, generate_latest

    from barnabas.observe.prometheus import ClientCollector

    with EmbeddedBroker() as broker, Producer(broker.bootstrap) as producer:
        producer.send("t", b"1").result()
        registry = CollectorRegistry()
        registry.register(ClientCollector(producer))
        assert b"barnabas_producer_records_total{" in generate_latest(registry)


def otel() -> None:
    from barnabas.observe.opentelemetry import ClientMetrics, Tracing

    with EmbeddedBroker() as broker, Producer(broker.bootstrap) as producer:
        ClientMetrics(producer)
        Tracing().send(producer, "t", b"1").result()


def cli() -> None:
    with EmbeddedBroker() as broker:
        where = ["-b", broker.bootstrap]
        _run("barnabas", "produce", "t", *where, input="a\n")
        assert _run("barnabas", "consume", "t", *where, "-g", "g", "--from-beginning", "-n", "1") == "a\n"
        assert "LAG" in _run("barnabas", "groups", "describe", "g", *where)


def keyring() -> None:
    importlib.import_module("keyring").get_keyring()


def gssapi() -> None:
    from barnabas.net.sasl.gssapi import Gssapi
    from barnabas.settings.table import ProducerConfig

    Gssapi(ProducerConfig(sasl_kerberos_service_name="kafka"))


def oauthbearer_aws() -> None:
    importlib.import_module("botocore.session").get_session()


def crypto() -> None:
    from barnabas.net.keystores import trusted_certificates
    from barnabas.testing.certificates import Certificates

    x509 = importlib.import_module("cryptography.x509")
    serialization = importlib.import_module("cryptography.hazmat.primitives.serialization")
    pkcs12 = importlib.import_module("cryptography.hazmat.primitives.serialization.pkcs12")
    with tempfile.TemporaryDirectory() as folder:
        made = Certificates.in_folder(Path(folder))
        certificate = x509.load_pem_x509_certificate(made.ca.read_bytes())
        store = Path(folder) / "trust.p12"
        store.write_bytes(
            pkcs12.serialize_key_and_certificates(
                b"ca", None, None, [certificate], serialization.NoEncryption()
            )
        )
        assert "BEGIN CERTIFICATE" in trusted_certificates("ssl_truststore_location", str(store), None)


def registry() -> None:
    with _registry() as found:
        assert found.schema(1).text == found.latest("s").schema.text == AVRO


def registry_server() -> None:
    from barnabas.registry import Schema
    from barnabas.testing import EmbeddedRegistry

    with EmbeddedRegistry() as server, Registry(server.url) as found:
        for type, text in (("AVRO", AVRO), ("PROTOBUF", PROTO), ("JSON", JSON_SCHEMA)):
            id = found.register(type, Schema(text, type)).id
            assert found.register(type, Schema(text, type)).id == id
            assert found.latest(type).id == id


def legacy_avro() -> None:
    from barnabas.compat.confluent_kafka import avro as legacy

    assert legacy.loads(AVRO).name == "R"
    importlib.import_module("fastavro").parse_schema(json.loads(AVRO))


def rules() -> None:
    from barnabas.registry import Rule, RuleSet, Schema
    from barnabas.registry.rules import RuleMode, RulePhase, RuleRegistry
    from barnabas.registry.rules.cel import CelExecutor
    from barnabas.registry.rules.engine import RuleEngine
    from barnabas.registry.rules.jsonata import JsonataExecutor

    engine = RuleEngine(RuleRegistry())
    engine.registry.register_executor(CelExecutor())
    engine.registry.register_executor(JsonataExecutor())
    doubled = Rule("a", kind="TRANSFORM", mode="UPGRADE", type="JSONATA", expr="{'id': id * 2}")
    known = Rule("b", kind="TRANSFORM", mode="UPGRADE", type="CEL", expr="{'id': message.id + 1}")
    schema = Schema("{}", rule_set=RuleSet(migration_rules=[doubled, known]))
    phase = RulePhase.MIGRATION
    found = engine.run(None, "s", RuleMode.UPGRADE, schema, schema, {"id": 3}, rule_phase=phase)
    assert found == {"id": 7}, found


def encryption() -> None:
    from barnabas.registry.rules.encryption.ciphers import Cryptor
    from barnabas.registry.rules.encryption.dek_registry import DekAlgorithm

    for algorithm in DekAlgorithm:
        cryptor = Cryptor(algorithm)
        key = cryptor.generate_key()
        assert cryptor.decrypt(key, cryptor.encrypt(key, b"secret", b""), b"") == b"secret"


def kms(name: str) -> Callable[[], None]:
    def tried() -> None:
        from barnabas.registry.rules.encryption.kms import registered_or_own_driver

        rsa = importlib.import_module("cryptography.hazmat.primitives.asymmetric.rsa")
        serialization = importlib.import_module("cryptography.hazmat.primitives.serialization")
        pem = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        conf = {
            **dict.fromkeys(("access.key.id", "secret.access.key", "token.id", "tenant.id"), "x"),
            **dict.fromkeys(("client.id", "client.secret", "client.email", "private.key.id"), "x"),
            "private.key": pem.decode(),
        }
        url = KMS_KEYS[name]
        driver = registered_or_own_driver(url)
        driver.new_kms_client(conf, url).get_aead(url)

    return tried


def ui() -> None:
    with EmbeddedBroker() as broker, Producer(broker.bootstrap) as producer:
        producer.send("seen", b"1").result()
        command = [BIN / "barnabas", "ui", "-b", broker.bootstrap, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
            try:
                assert page.stdout is not None
                url = page.stdout.readline().strip()
                with urllib.request.urlopen(url, timeout=30) as answer:
                    assert answer.status == 200
            finally:
                page.terminate()
        assert page.returncode == 0, page.returncode


def pykafka() -> None:
    with EmbeddedBroker() as broker, Producer(broker.bootstrap) as producer:
        producer.send("seen", b"1").result()
        assert "seen" in _run("barnabas-kafka-tools", "-b", broker.bootstrap, "print_topics")
    importlib.import_module("kazoo.client")


def testing() -> None:
    importlib.import_module("jwt")
    with tempfile.TemporaryDirectory() as folder:
        test = Path(folder) / "test_one.py"
        test.write_text("def test_one(kafka):\n    assert kafka.bootstrap\n")
        _run("python", "-m", "pytest", "-q", str(test))
    crypto()


TRIALS: dict[str, Callable[[], None]] = {
    "arrow": arrow,
    "avro": avro,
    "protobuf": protobuf,
    "spark": spark,
    "prometheus": prometheus,
    "otel": otel,
    "openlineage": openlineage,
    "spark-connect": spark_connect,
    "pipelines": pipelines,
    "cli": cli,
    "keyring": keyring,
    "gssapi": gssapi,
    "oauthbearer-aws": oauthbearer_aws,
    "crypto": crypto,
    "registry": registry,
    "pykafka": pykafka,
    "legacy-avro": legacy_avro,
    "json-schema": json_schema,
    "registry-rules": rules,
    "registry-encryption": encryption,
    "registry-encryption-aws": kms("aws"),
    "registry-encryption-azure": kms("azure"),
    "registry-encryption-gcp": kms("gcp"),
    "registry-encryption-vault": kms("vault"),
    "registry-server": registry_server,
    "ui": ui,
    "testing": testing,
}


@contextmanager
def _registry() -> Iterator[Registry]:
    """A registry's client, and what answers it: one schema, with the id 1."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = json.dumps({"schema": AVRO, "subject": "s", "version": 1, "id": 1}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with Registry(f"http://127.0.0.1:{server.server_port}") as found:
                yield found
        finally:
            server.shutdown()


def _round_trip_of_codec(name: str, *schema: str) -> None:
    import pyarrow as pa

    from barnabas import formats

    codec = formats.Codec(getattr(formats, name)(*schema))
    column, errors = codec.decode(codec.encode(pa.array([{"id": 7}, None])))
    assert column.to_pylist() == [{"id": 7}, None], column
    assert len(errors) == 0
    assert len(codec.decode(pa.array([b"\xff"]))[1]) == 1


def _run(*command: str, input: str | None = None) -> str:
    program = [str(BIN / command[0]), *command[1:]]
    done = subprocess.run(program, input=input, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def main() -> None:
    (extra,) = sys.argv[1:]
    for name, tried in TRIALS.items():
        if name == extra or (extra == "all" and name != "gssapi"):
            tried()


if __name__ == "__main__":
    main()
