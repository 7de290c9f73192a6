"""Connections by way of a proxy reach the broker, and say what went wrong where they do not."""

from __future__ import annotations

import traceback

import pytest
from tests.proxy_server import ProxyServer

from barnabas import Admin, NewTopic
from barnabas.errors import BarnabasError, InvalidSettingError
from barnabas.net.proxies import proxy_of
from barnabas.testing import EmbeddedBroker

SCHEMES = ["socks5", "socks5h", "http"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.integration
def test_all_connections_are_made_by_the_proxy(scheme: str) -> None:
    with EmbeddedBroker() as broker, ProxyServer(scheme) as proxy:
        with Admin(bootstrap_servers=broker.bootstrap, proxy_url=proxy.url()) as admin:
            admin.create_topics([NewTopic("orders")])
            assert "orders" in admin.list_topics()
        host, port = broker.bootstrap.split(":")
        assert set(proxy.asked) == {(host, int(port))}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.integration
def test_user_and_password_of_the_proxy_are_told_to_it(scheme: str) -> None:
    with EmbeddedBroker() as broker, ProxyServer(scheme, "me", "p@ss") as proxy:
        url = proxy.url(user="me:p%40ss@")
        with Admin(bootstrap_servers=broker.bootstrap, proxy_url=url) as admin:
            assert admin.list_topics() is not None


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.integration
def test_a_proxy_that_refuses_the_password_is_named_in_the_error(scheme: str) -> None:
    with EmbeddedBroker() as broker, ProxyServer(scheme, "me", "right") as proxy:
        url = proxy.url(user="me:wrong@")
        with (
            Admin(bootstrap_servers=broker.bootstrap, proxy_url=url, default_api_timeout_ms=300) as admin,
            pytest.raises(BarnabasError, match=f"the proxy 127.0.0.1:{proxy.port}"),
        ):
            admin.list_topics()


@pytest.mark.parametrize("scheme", ["socks5h", "http"])
@pytest.mark.integration
def test_names_that_only_the_proxy_knows_are_left_to_it(scheme: str) -> None:
    with EmbeddedBroker() as broker, ProxyServer(scheme) as proxy:
        proxy.names["broker.invalid"] = "127.0.0.1"
        port = broker.bootstrap.split(":")[1]
        with Admin(bootstrap_servers=f"broker.invalid:{port}", proxy_url=proxy.url()) as admin:
            assert admin.list_topics() is not None
        assert proxy.asked[0] == ("broker.invalid", int(port))


@pytest.mark.integration
def test_a_broker_that_the_proxy_does_not_reach_is_an_error_with_its_reason() -> None:
    with (
        ProxyServer("socks5") as proxy,
        Admin(bootstrap_servers="127.0.0.1:1", proxy_url=proxy.url(), default_api_timeout_ms=300) as admin,
        pytest.raises(BarnabasError, match="the connection was refused"),
    ):
        admin.list_topics()


@pytest.mark.integration
def test_a_server_that_is_no_proxy_is_an_error() -> None:
    with (
        EmbeddedBroker() as broker,
        Admin(
            bootstrap_servers=broker.bootstrap,
            proxy_url=f"socks5://{broker.bootstrap}",
            default_api_timeout_ms=1000,
            socket_connection_setup_timeout_ms=300,
        ) as admin,
        pytest.raises(BarnabasError, match="the proxy"),
    ):
        admin.list_topics()


@pytest.mark.parametrize("url", ["localhost:1080", "ftp://localhost:1", "socks5://", "socks5://host:99999"])
def test_a_url_that_is_no_proxys_is_refused(url: str) -> None:
    with pytest.raises(InvalidSettingError, match="proxy_url"):
        proxy_of(url)


@pytest.mark.parametrize("credentials", [f"{'u' * 256}:p", f"u:{'p' * 256}", f"u:{'%C3%A9' * 128}"])
def test_a_user_or_password_too_long_for_socks_is_refused(credentials: str) -> None:
    with pytest.raises(InvalidSettingError, match="255 bytes"):
        proxy_of(f"socks5://{credentials}@host")
    assert proxy_of(f"http://{credentials}@host").host == "host"


@pytest.mark.parametrize("host", ["a..b", ".".join(["a" * 63] * 5)])
@pytest.mark.integration
def test_a_name_that_socks_does_not_take_is_an_error(host: str) -> None:
    with (
        ProxyServer("socks5h") as proxy,
        Admin(
            f"{host}:9092",
            proxy_url=proxy.url(),
            default_api_timeout_ms=1000,
            socket_connection_setup_timeout_ms=300,
        ) as admin,
        pytest.raises(BarnabasError, match="the proxy"),
    ):
        admin.list_topics()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://user:secret@host:1",
        "user:secret@host:1",
        "socks5://user:secret@host:port",
        "socks5://user:secret/more@host:1",
        "socks5://user:more#secret@host:1",
        "http://user:pass@host:secret",
    ],
)
def test_a_url_that_is_refused_is_not_shown(url: str) -> None:
    with pytest.raises(InvalidSettingError, match="proxy_url") as raised:
        proxy_of(url)
    assert "secret" not in "".join(traceback.format_exception(raised.value, limit=0))


def test_the_text_of_a_proxy_leaves_out_user_and_password() -> None:
    assert repr(proxy_of("socks5://user:secret@host:1")) == "Proxy(scheme='socks5', host='host', port=1)"


def test_a_url_without_a_port_has_the_usual_one() -> None:
    assert proxy_of("socks5://me@host").port == 1080
    assert proxy_of("http://host").port == 8080
