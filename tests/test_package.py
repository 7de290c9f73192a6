from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import barnabas
from barnabas import aio, registry


def run_python(code: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("name", barnabas.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(barnabas, name) is not None


@pytest.mark.parametrize("name", aio.__all__)
def test_the_asyncio_clients_have_the_names_of_the_others(name: str) -> None:
    plain = barnabas if hasattr(barnabas, name) else registry
    assert getattr(aio, name) is not getattr(plain, name)


@pytest.mark.parametrize("module", [barnabas, aio])
def test_a_name_that_is_not_exported_is_an_attribute_error(module: object) -> None:
    with pytest.raises(AttributeError, match="NoSuchThing"):
        _ = module.NoSuchThing  # type: ignore[attr-defined]


def test_the_version_is_the_kernels() -> None:
    manifest = Path(__file__).parent.parent / "kernel" / "Cargo.toml"
    stated = tomllib.loads(manifest.read_text())["package"]["version"]
    assert barnabas.__version__ == metadata.version("barnabas") == stated


@pytest.mark.integration
def test_importing_the_package_loads_hardly_anything() -> None:
    code = "import sys; before = set(sys.modules); import barnabas; print(sorted(set(sys.modules) - before))"
    loaded = run_python(code)
    assert "barnabas.client" not in loaded
    assert "asyncio" not in loaded


NOT_FOR_A_PRODUCER = [
    # Of consumers, administration and transactions.
    "barnabas.client.admin",
    "barnabas.client.consume",
    "barnabas.client.groups",
    "barnabas.client.produce.transaction_coordinator",
    "barnabas.client.produce.transactions",
    "barnabas.client.share",
    # Of single settings.
    "barnabas.http",
    "barnabas.net.sasl",
    "barnabas.net.tls",
    "barnabas.registry",
    "datetime",
    "http",
    "urllib",
    # Met when a broker answers an error, and by servers.
    "barnabas.broker_errors",
    "barnabas.net.server",
    "barnabas.protocol.api_key",
    "barnabas.protocol.registry",
    "json",
]


@pytest.mark.integration
def test_a_producer_is_imported_without_what_few_producers_use() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from barnabas import Producer\n"
        "print(*sorted(set(sys.modules) - before), sep='\\n')"
    )
    loaded = set(run_python(code).split())
    assert "barnabas.client.produce.producer" in loaded
    assert loaded & set(NOT_FOR_A_PRODUCER) == set()


@pytest.mark.integration
def test_importing_a_producer_reads_the_fields_of_no_class() -> None:
    code = (
        "import dataclasses\n"
        "described = []\n"
        "dataclass = dataclasses.dataclass\n"
        "dataclasses.dataclass = lambda *args, **given: described.append(args) or dataclass(*args, **given)\n"
        "from barnabas import Producer\n"
        "print(len(described))"
    )
    assert run_python(code).strip() == "0"


@pytest.mark.integration
def test_the_clients_need_no_other_package() -> None:
    site_packages = str(Path(pytest.__file__).parent.parent)
    code = (
        "import sys; before = set(sys.modules)\n"
        "from barnabas import Producer, Consumer, Admin, aio\n"
        "aio.Producer, aio.Consumer, aio.Admin\n"
        "new = set(sys.modules) - before\n"
        "files = {name: getattr(sys.modules[name], '__file__', None) or '' for name in new}\n"
        f"print([name for name, file in files.items() if file.startswith({site_packages!r})])"
    )
    assert run_python(code).strip() == "[]"


OF_CHECKOUTS = {"bench", "demo", "dev", "docs"}
NEED_LIBRARIES_OF_THE_SYSTEM = {"gssapi"}


def test_the_extra_all_has_what_every_extra_has() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]

    def requirements(extra: str) -> set[str]:
        found: set[str] = set()
        for each in extras[extra]:
            own = re.fullmatch(r"barnabas\[(.+)\]", each)
            found |= set().union(*map(requirements, own[1].split(","))) if own else {each}
        return found

    apart = {"all", *OF_CHECKOUTS, *NEED_LIBRARIES_OF_THE_SYSTEM}
    missing = {extra for extra in extras.keys() - apart if not requirements(extra) <= requirements("all")}
    assert missing == set()
    assert not requirements("gssapi") & requirements("all")
