from __future__ import annotations

import pickle
import ssl
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError, UnknownSettingError
from barnabas.registry.config import RegistryConfig, RegistryKeywords, load_registry_config

URL = "http://one:8081"


def test_urls_are_a_text_or_a_list_without_what_ends_them() -> None:
    assert load_registry_config("http://one:8081/, https://two/sr/", {}).url == (URL, "https://two/sr")
    assert load_registry_config([URL], {}).url == (URL,)


@pytest.mark.parametrize(
    ("url", "settings", "words"),
    [
        ("", {}, "url is missing: give at least one, http://host:8081"),
        ("one:8081", {}, "url: 'one:8081' is not like http://host:8081"),
        ("http://", {}, "url: 'http:' is not like|url: 'http://' is not like"),
        (URL, {"retries": -1}, "retries must be at least 0"),
        (URL, {"basic_auth_user_info": "ann"}, "basic_auth_user_info must be user:password"),
        (
            URL,
            {"basic_auth_user_info": "a:b", "bearer_auth_token": "t"},
            "basic_auth_user_info and bearer_auth_token are both given",
        ),
        ("http://a:b@one", {"bearer_auth_token": "t"}, "basic_auth_user_info and bearer_auth_token are both"),
        (
            URL,
            {"bearer_auth_issuer_endpoint_url": "http://issuer", "bearer_auth_client_id": "me"},
            "bearer_auth_issuer_endpoint_url needs bearer_auth_client_id and bearer_auth_client_secret",
        ),
        (URL, {"ssl_key_location": "key.pem"}, "ssl_key_location needs ssl_certificate_location"),
        (URL, {"bearer_auth_callback": 3}, "bearer_auth_callback must be a function"),
        (URL, {"ssl_context": 3}, "ssl_context must be an ssl.SSLContext"),
    ],
)
def test_what_cannot_work_is_refused_by_name(url: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSettingError, match=words):
        load_registry_config(url, settings)


@pytest.mark.parametrize(
    "url", ["ann:secret@one:8081", "http://ann:secret@one:port", "http://ann:secret/x@one"]
)
def test_an_address_that_is_refused_is_shown_without_user_and_password(url: str) -> None:
    with pytest.raises(InvalidSettingError, match=r"url: 'one.*' is not like") as raised:
        load_registry_config(url, {})
    assert "secret" not in str(raised.value)


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(UnknownSettingError, match="did you mean 'basic_auth_user_info'"):
        load_registry_config(URL, {"basic_auth_userinfo": "a:b"})


def test_every_setting_says_what_it_is_and_is_among_the_typed_keywords() -> None:
    assert all(each.metadata["doc"].endswith(".") for each in fields(RegistryConfig))
    assert {"url", *get_type_hints(RegistryKeywords)} == {each.name for each in fields(RegistryConfig)}


def test_secrets_are_not_shown_and_travel() -> None:
    for config in (
        load_registry_config(URL, {"basic_auth_user_info": "ann:swordfish"}),
        load_registry_config("http://ann:swordfish@one:8081", {}),
    ):
        assert config.basic_auth_user_info == Secret("ann:swordfish")
        assert config.url == (URL,)
        assert "swordfish" not in repr(config)
        assert pickle.loads(pickle.dumps(config)) == config


def test_a_context_is_taken_as_it_is() -> None:
    context = ssl.create_default_context()
    assert load_registry_config(URL, {"ssl_context": context}).ssl_context is context
