"""Where the registry shows the credentials of its process, when KEKs that are shared name the address."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.registry_server.conftest import asking

from barnabas.errors import InvalidSettingError
from barnabas.registry_server.settings import settings_from

KEKS = "/dek-registry/v1/keks"


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A key of Vault's transit engine: its `key_id`, its `host`, and the tokens that were shown to it."""
    tokens: list[str | None] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            tokens.append(self.headers["X-Vault-Token"])
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = {"plaintext": given.get("ciphertext", ""), "ciphertext": given.get("plaintext", "")}
            data = json.dumps({"data": found}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    monkeypatch.setenv("VAULT_TOKEN", "the registry's own")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        host = f"127.0.0.1:{server.server_address[1]}"
        yield SimpleNamespace(key_id=f"http://{host}/transit/keys/k", host=host, tokens=tokens)
        server.shutdown()
        thread.join()


def shared(vault: Any, **changes: Any) -> dict[str, Any]:
    return {"name": "k", "kmsType": "hcvault", "kmsKeyId": vault.key_id, "shared": True, **changes}


@pytest.mark.parametrize("hosts", [(), ("other.example.com",)], ids=["none", "another"])
@pytest.mark.integration
def test_no_host_that_is_not_listed_is_shown_credentials(vault: Any, hosts: tuple[str, ...]) -> None:
    with asking(kms_hosts=hosts) as ask:
        assert ask(f"POST {KEKS}?testSharing=true", shared(vault))[1]["error_code"] == 50070
        assert ask(f"POST {KEKS}", shared(vault))[0] == 200
        # A type that holds the beginning of the address, which the checks of key ids do not know.
        begun, _, rest = vault.key_id.partition("://")
        odd = shared(vault, name="odd", kmsType=f"hcvault://{begun}", kmsKeyId=rest)
        assert ask(f"POST {KEKS}", odd)[0] == 200
        for line, body in (
            (f"POST {KEKS}/k/test", None),
            (f"PUT {KEKS}/k?testSharing=true", {"doc": "x"}),
            (f"POST {KEKS}/k/deks/s", {}),
            (f"POST {KEKS}/k/deks/s", {"encryptedKeyMaterial": "YQ=="}),
            (f"POST {KEKS}/odd/deks/s", {}),
        ):
            status, said = ask(line, body)
            assert (status, said["error_code"]) == (500, 50070), line
            assert f"names the address '{vault.key_id}'" in said["message"]
            assert "dek.registry.kms.hosts does not list" in said["message"]
    assert vault.tokens == []


@pytest.mark.integration
def test_a_data_key_is_not_opened_at_an_address_that_is_not_listed(vault: Any) -> None:
    with asking() as ask:
        ask(f"POST {KEKS}", shared(vault, shared=False))
        assert ask(f"POST {KEKS}/k/deks/s", {"encryptedKeyMaterial": "YQ=="})[0] == 200
        ask(f"PUT {KEKS}/k", {"shared": True})
        assert ask(f"GET {KEKS}/k/deks/s")[1]["error_code"] == 50070
    assert vault.tokens == []


@pytest.mark.integration
def test_a_listed_host_makes_and_opens_data_keys(vault: Any) -> None:
    with asking(kms_hosts={vault.host}) as ask:
        assert ask(f"POST {KEKS}?testSharing=true", shared(vault))[0] == 200
        made = ask(f"POST {KEKS}/k/deks/s", {})[1]
        assert ask(f"GET {KEKS}/k/deks/s")[1]["keyMaterial"] == made["keyMaterial"]
    assert set(vault.tokens) == {"the registry's own"}


def test_the_list_is_a_setting_and_empty_by_default() -> None:
    bootstrap = {"kafkastore.bootstrap.servers": "a:1"}
    assert settings_from(bootstrap).kms_hosts == frozenset()
    listed = settings_from({**bootstrap, "dek.registry.kms.hosts": "Vault:8200, b"})
    assert listed.kms_hosts == {"vault:8200", "b"}
    with pytest.raises(InvalidSettingError, match=r"dek\.registry\.kms\.hosts=http://a cannot be read"):
        settings_from({**bootstrap, "dek.registry.kms.hosts": "http://a"})
