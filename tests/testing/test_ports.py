from __future__ import annotations

import sys

import pytest

from barnabas.testing import EmbeddedBroker, free_ports, process
from barnabas.testing.process import KeptPorts


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no server can bind where another socket is")
def test_the_port_of_a_broker_that_is_down_is_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedBroker() as broker:
        address = broker.bootstrap
        broker.kill()
        monkeypatch.setattr(process, "LOWEST_PORT", broker.port - 8)
        monkeypatch.setattr(process, "HIGHEST_PORT", broker.port + 8)
        assert broker.port not in [free_ports()[0] for _ in range(200)]
        broker.start()
        assert broker.bootstrap == address


def test_a_port_that_was_let_go_of_is_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptPorts()
    [port] = kept.take()
    kept.release()
    monkeypatch.setattr(process, "LOWEST_PORT", port)
    monkeypatch.setattr(process, "HIGHEST_PORT", port)
    assert free_ports() == [port]
