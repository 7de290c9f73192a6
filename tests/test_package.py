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


@pytest.mark.integration
@pytest.mark.parametrize("name", ["aio", "formats", "serializers"])
def test_modules_are_there_with_the_package(name: str) -> None:
    assert run_python(f"import barnabas; print(barnabas.{name}.__name__)").strip() == f"barnabas.{name}"


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


NOT_FOR_A_CONSUMER = [
    "barnabas.client.admin",
    "barnabas.client.produce.transaction_coordinator",
    "barnabas.client.produce.transactions",
    "barnabas.client.share",
    # Of groups by the classic protocol, which Kafka 4 divides by its own.
    "barnabas.client.groups.assignors",
    "barnabas.client.groups.classic_group",
    "barnabas.protocol.messages.join_group",
    # Of single settings.
    "barnabas.http",
    "barnabas.net.sasl",
    "barnabas.net.tls",
    "barnabas.registry",
    "http",
    "urllib",
    # Met by few arguments, and by servers.
    "barnabas.net.server",
    "barnabas.protocol.registry",
    "json",
    "numbers",
]


@pytest.mark.integration
def test_both_clients_are_imported_without_what_few_programs_use() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from barnabas import Consumer, Producer\n"
        "print(*sorted(set(sys.modules) - before), sep='\\n')"
    )
    loaded = set(run_python(code).split())
    assert "barnabas.client.consume.consumer" in loaded
    assert loaded & set(NOT_FOR_A_CONSUMER) == set()


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


def test_the_documentation_tells_of_every_extra() -> None:
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    page = (root / "docs" / "reference" / "extras.md").read_text()
    told = re.findall(r"^\| `(.+?)` \| ", page, re.MULTILINE)
    assert sorted(told) == sorted(set(project["optional-dependencies"]) - OF_CHECKOUTS)


def test_every_extra_is_tried_alone_and_every_error_names_one_that_exists() -> None:
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"]) - OF_CHECKOUTS
    trials = (root / "scripts" / "try_extra.py").read_text().partition("TRIALS")[2].partition("}")[0]
    assert set(re.findall(r'^    "(.+?)": ', trials, re.MULTILINE)) == extras - {"all"}
    named = {
        extra
        for path in (root / "src" / "barnabas").rglob("*.py")
        for text in re.findall(r"barnabas\[([a-z,-]+)\]", path.read_text())
        + re.findall(r"""MissingExtraError\([^()]+?, ["']([a-z-]+)["']\)""", path.read_text())
        for extra in text.split(",")
    }
    assert {"cli", "arrow", "registry-rules"} <= named <= extras


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


@pytest.mark.integration
@pytest.mark.parametrize("module", ["barnabas.spark", "barnabas.spark.listener", "pyspark_barnabas"])
def test_the_spark_source_without_its_extra_names_that(module: str) -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from importlib import import_module\n"
        "from barnabas.errors import MissingExtraError\n"
        "try:\n"
        f"    import_module({module!r})\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    assert run_python(code).strip().endswith("pip install 'barnabas[spark]'")


@pytest.mark.integration
@pytest.mark.parametrize("name", ["avro", "json_schema", "protobuf"])
def test_the_facades_serializers_need_no_columns(name: str) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = sys.modules['numpy'] = None\n"
        f"import barnabas.compat.confluent_kafka.schema_registry.{name}\n"
    )
    run_python(code)
