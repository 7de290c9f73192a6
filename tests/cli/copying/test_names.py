from __future__ import annotations

import pytest

from barnabas.cli.copying.names import renamer
from barnabas.errors import MisuseError


def test_a_name_of_its_own_counts_before_expressions_and_the_prefix_stands_before_all() -> None:
    renamed = renamer(None, ["a=b"], [r"a|c=x", r"(.)(.)=\2-\1"], "p.")
    assert [renamed(name) for name in ("a", "c", "de", "fgh")] == ["p.b", "p.x", "p.e-d", "p.fgh"]


@pytest.mark.parametrize("expression", ["(=x", r"a=\1"])
def test_what_is_no_expression_is_told(expression: str) -> None:
    with pytest.raises(MisuseError, match="--rename-regex"):
        renamer(None, None, [expression], "")("a")
