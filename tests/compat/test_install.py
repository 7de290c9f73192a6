from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

INSTALL = "from barnabas.compat import install\ninstall('confluent_kafka')\n"


def python(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd)


def output_of(script: str) -> str:
    """What a script prints in a process of its own, where nothing is imported yet."""
    done = python("-c", dedent(script))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_by_itself_barnabas_shadows_nothing() -> None:
    script = """
        import barnabas.compat
        from barnabas.compat import confluent_kafka as ours
        import confluent_kafka
        print(confluent_kafka is ours, "site-packages" in confluent_kafka.__file__)
    """
    assert output_of(script) == "False True"


def test_after_install_the_name_is_the_facades_module_itself() -> None:
    script = INSTALL + dedent("""
        import confluent_kafka
        from barnabas.compat import confluent_kafka as ours
        print(confluent_kafka is ours, confluent_kafka.KafkaError is ours.KafkaError)
        print(ours.__name__, ours.__spec__.name)
    """)
    assert output_of(script).split() == ["True", "True"] + ["barnabas.compat.confluent_kafka"] * 2


@pytest.mark.parametrize("order", [0, 1])
def test_submodules_are_the_same_objects_whichever_name_is_imported_first(order: int) -> None:
    names = ["confluent_kafka.cimpl", "barnabas.compat.confluent_kafka.cimpl"]
    if order:
        names.reverse()
    imports = "".join(f"import {name}\n" for name in names)
    script = f"{INSTALL}{imports}" + dedent("""
        import sys
        import confluent_kafka
        import confluent_kafka._util.conversion_util
        from confluent_kafka import _model
        print(sys.modules["confluent_kafka.cimpl"] is sys.modules["barnabas.compat.confluent_kafka.cimpl"])
        print(confluent_kafka.cimpl is sys.modules["confluent_kafka.cimpl"])
        print(_model.Node is confluent_kafka.Node)
    """)
    assert output_of(script).split() == ["True"] * 3


def test_a_submodule_that_does_not_exist_is_named_as_the_program_knows_it() -> None:
    script = INSTALL + dedent("""
        try:
            import confluent_kafka.nothing
        except ModuleNotFoundError as error:
            print(error, error.name)
    """)
    assert output_of(script) == "No module named 'confluent_kafka.nothing' confluent_kafka.nothing"


def test_packages_within_the_package_are_found_too() -> None:
    script = INSTALL + dedent("""
        import confluent_kafka.avro
        from confluent_kafka.schema_registry import SchemaRegistryClient
        from confluent_kafka.schema_registry.error import SchemaRegistryError
        print(SchemaRegistryClient.__module__, "barnabas" in confluent_kafka.avro.__file__)
    """)
    assert output_of(script) == "confluent_kafka.schema_registry._sync.schema_registry_client True"


def test_pickles_are_the_real_packages_once_installed_and_our_own_before() -> None:
    script = dedent("""
        import pickle
        from barnabas.compat import confluent_kafka
        error = confluent_kafka.KafkaError(1)
        before = pickle.dumps(error)
    """)
    script += INSTALL + dedent("""
        import confluent_kafka.admin
        after = pickle.dumps(error)
        print(b"barnabas" in before, b"barnabas" in after, b"confluent_kafka.cimpl" in after)
        print(pickle.loads(before) == pickle.loads(after) == error)
        print(confluent_kafka.ConsumerGroupState.__module__, confluent_kafka.KafkaException.__module__)
    """)
    assert output_of(script).split() == [
        *("True", "False", "True", "True"),
        *("confluent_kafka._model", "cimpl"),
    ]


def test_installing_twice_is_the_same_as_once_and_without_names_everything_is() -> None:
    script = INSTALL + dedent("""
        install("confluent_kafka")
        install()
        import confluent_kafka, kafka, mapr_streams_python, sys
        install("confluent_kafka")
        print(len([f for f in sys.meta_path if type(f).__module__ == "barnabas.compat"]))
        print(mapr_streams_python.__name__)
    """)
    assert output_of(script).split() == ["1", "barnabas.compat.mapr_streams_python"]


def test_what_is_imported_already_cannot_be_replaced() -> None:
    script = dedent("""
        import confluent_kafka
        from barnabas.compat import install
        try:
            install("confluent_kafka")
        except Exception as error:
            print(type(error).__name__, error)
    """)
    output = output_of(script)
    assert output.startswith("MisuseError confluent_kafka is imported already, from ")
    assert output.endswith("call barnabas.compat.install before anything imports it")


def test_there_is_no_facade_for_anything_else() -> None:
    script = """
        from barnabas.compat import install
        try:
            install("json")
        except Exception as error:
            print(type(error).__name__, error)
    """
    message = (
        "MisuseError there is no facade for 'json': there are confluent_kafka, kafka, mapr_streams_python, "
        "pykafka"
    )
    assert output_of(script) == message


PROGRAM = """
import sys
import helper
import confluent_kafka
print(__name__, helper.NAME, confluent_kafka.__name__, sys.argv[1:])
sys.exit(3)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("NAME = 'helper'\n")
    return path


EXPECTED = "__main__ helper barnabas.compat.confluent_kafka ['-a', 'b']\n"


def test_a_program_runs_on_barnabas_without_being_changed(program: Path) -> None:
    done = python("-m", "barnabas.compat", str(program), "-a", "b")
    assert (done.returncode, done.stdout, done.stderr) == (3, EXPECTED, "")


def test_a_module_runs_on_barnabas_without_being_changed(program: Path) -> None:
    done = python("-m", "barnabas.compat", "-m", "app", "-a", "b", cwd=program.parent)
    assert (done.returncode, done.stdout, done.stderr) == (3, EXPECTED, "")


def test_a_program_may_keep_the_real_package_and_have_another_facade(program: Path) -> None:
    done = python("-m", "barnabas.compat", "--only", "mapr_streams_python", str(program), "-a", "b")
    assert done.stdout == EXPECTED.replace("barnabas.compat.", "")


@pytest.mark.parametrize("arguments", [[], ["-m"], ["--help"], ["--only", "x"]])
def test_a_command_line_without_a_program_says_how_it_is_used(arguments: list[str]) -> None:
    done = python("-m", "barnabas.compat", *arguments)
    assert done.returncode == 2
    assert "usage: python -m barnabas.compat" in done.stderr
