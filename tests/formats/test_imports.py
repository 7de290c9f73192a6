"""What imports what: schemas and single values are for programs without PyArrow."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_single_values_and_schemas_need_no_pyarrow() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from barnabas.formats import AvroValues, SchemaError\n"
        "print(AvroValues('\"string\"').encode('a'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "b'\\x02a'\n"


@pytest.mark.parametrize(
    ("name", "missing"), [("avro", "pyarrow"), ("json", "pyarrow"), ("Codec", "pyarrow"), ("Codec", "numpy")]
)
def test_columns_without_their_extra_name_it(name: str, missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None\nfrom barnabas.formats import {name}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    told = f"barnabas.formats.{name} needs an extra that is not installed: pip install 'barnabas[arrow]'"
    assert done.stderr.splitlines()[-1].endswith(told)
