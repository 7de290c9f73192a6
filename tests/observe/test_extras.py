"""What happens where an extra is not installed."""

from __future__ import annotations

import importlib
import sys

import pytest

from barnabas.errors import MissingExtraError


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("barnabas.observe.prometheus", "prometheus_client", "prometheus"),
        ("barnabas.observe.opentelemetry", "opentelemetry", "otel"),
        ("barnabas.spark.lineage", "openlineage", "openlineage"),
    ],
)
def test_an_adapter_without_its_extra_names_it(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name == module or name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'barnabas\[{extra}\]'"):
        importlib.import_module(module)
