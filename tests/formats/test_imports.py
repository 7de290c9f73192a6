"""What imports what: schemas and single values are for programs without PyArrow."""

from __future__ import annotations

import subprocess
import sys


def test_single_values_and_schemas_need_no_pyarrow() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from barnabas.formats import AvroValues, SchemaError\n"
        "print(AvroValues('\"string\"').encode('a'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "b'\\x02a'\n"
