"""The list of hosts at which a KMS may be asked: what it lets through, and what no spelling gets through."""

from __future__ import annotations

import pytest

from barnabas.registry.kms_hosts import InvalidHostsError, hosts_of, unlisted_address

HOSTS = hosts_of("Vault.example.com, vault:8200,[::1]")


@pytest.mark.parametrize(
    "address",
    [
        "https://vault.example.com/transit/keys/k",
        "HTTPS://VAULT.example.COM:8200/transit/keys/k",
        "http://vault:8200/transit/keys/k",
        "https://[::1]:8200/transit/keys/k",
    ],
)
def test_a_listed_host_may_be_asked(address: str) -> None:
    assert unlisted_address(f"hcvault://{address}", {}, HOSTS) is None
    assert unlisted_address("gcp-kms://projects/p", {"token.uri": address}, HOSTS) is None


@pytest.mark.parametrize(
    "address",
    [
        "https://elsewhere/transit/keys/k",
        "https://vault/transit/keys/k",
        "https://vault:82000/transit/keys/k",
        "https://vault.example.com.elsewhere/transit/keys/k",
        "https://not-vault.example.com/transit/keys/k",
        "https://vault.example.com@elsewhere/transit/keys/k",
        "https://elsewhere@vault.example.com/transit/keys/k",
        "https://elsewhere\\@vault.example.com/transit/keys/k",
        "https://elsewhere#@vault.example.com/transit/keys/k",
        "https:/\t/elsewhere/transit/keys/k",
        "https://else\nwhere/transit/keys/k",
        "ftp://vault.example.com/k",
        "//elsewhere/transit/keys/k",
        "https://[::2]/k",
        "https://[vault/k",
    ],
)
def test_no_other_host_is_asked_however_its_address_is_written(address: str) -> None:
    assert unlisted_address(f"hcvault://{address}", {}, HOSTS) == address
    assert unlisted_address(f"hcvault://{address}", {}, ()) == address
    assert unlisted_address("aws-kms://arn:aws:kms:a:b:key/c", {"url": address}, HOSTS) == address


def test_what_has_no_address_needs_no_list() -> None:
    properties = {"secret": "a/b//c", "token.uri": "https://oauth2.googleapis.com/token"}
    for key in ("local-kms://my key", "aws-kms://arn:aws:kms:a:1:key/c", "gcp-kms://projects/p/locations/l"):
        assert unlisted_address(key, properties, ()) is None


def test_each_of_several_keys_in_a_property_is_looked_at() -> None:
    first, second = "https://vault.example.com/a/keys/b", "https://elsewhere/c/keys/d"
    several = {"encrypt.alternate.kms.key.ids": f"{first}, {second}"}
    assert unlisted_address("local-kms://x", several, HOSTS) == second


@pytest.mark.parametrize(
    "text", ["https://vault", "vault/path", "a b", "vault:port", "*", "u@vault", "vault:"]
)
def test_an_entry_that_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(InvalidHostsError, match="is neither a host nor host:port"):
        hosts_of(f"good, {text}")


def test_an_empty_list_has_no_hosts() -> None:
    assert hosts_of("") == hosts_of(" , ") == frozenset()
