"""JSONata's evaluator with functions that cannot take for ever in one step: regular expressions take linear
time, by RE2, and texts are padded to a bounded width.

Imported when a rule is first run: its libraries are an extra.
"""

# The libraries have hardly any types.
# pyright: basic

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonata
import re2
from jsonata.functions import Functions

from barnabas.registry.rules import limits
from barnabas.registry.rules.errors import RuleError

WIDEST_PADDING = 1_000_000
_IN_TEMPLATE = re.compile(r"\\(?:g<([0-9]+)>|(.)|\Z)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "b": "\b", "\\": "\\"}


def compiled(expression: Any) -> Any:
    """Raises: JSONata's errors, RuleError."""
    found = jsonata.Jsonata(expression, _pattern)
    found.environment.bind("pad", jsonata.Jsonata.function("pad", "<s-ns?:s>", _Functions, "pad"))
    # What Avro has besides JSON, such as bytes, may be carried along.
    found.validate_input = False
    found.environment.set_evaluate_entry_callback(lambda _expression, _input, _environment: limits.step())
    return found


class _Functions(Functions):
    @staticmethod
    def pad(string: Any, width: Any, char: Any) -> Any:
        wanted: Any = width
        if isinstance(width, int | float) and abs(width) > WIDEST_PADDING:
            raise RuleError(f"$pad takes widths up to {WIDEST_PADDING}, and this is {width}")
        return Functions.pad(string, wanted, char)


def _pattern(text: str, flags: Any) -> _Pattern:
    return _Pattern(text, f"{'i' * flags.case_insensitive}{'m' * flags.multiline}")


class _Pattern:
    """As Python's own, as far as JSONata uses that."""

    def __init__(self, text: str, flags: str) -> None:
        options = re2.Options()
        options.log_errors = False
        try:
            self._pattern = re2.compile(f"(?{flags}){text}" if flags else text, options)
        except re2.error as error:
            words = error.args[0] if error.args else ""
            words = words.decode(errors="replace") if isinstance(words, bytes) else words
            raise RuleError(
                f"the regular expression /{text:.100}/ is none of RE2's, which have no look-ahead and no "
                f"references to groups: {words}"
            ) from None

    def search(self, string: str) -> Any:
        limits.look_at_clock()
        return self._pattern.search(string)

    def finditer(self, string: str) -> Iterator[Any]:
        limits.look_at_clock()
        for found in self._pattern.finditer(string):
            limits.step()
            yield found

    def split(self, string: str, maxsplit: int = 0) -> list[str]:
        limits.look_at_clock()
        return self._pattern.split(string, maxsplit)

    def sub(self, repl: Any, string: str, count: int = 0) -> str:
        """`repl`: a function of a match, or a template with references to groups."""
        parts: list[str] = []
        end = 0
        for number, found in enumerate(self.finditer(string), 1):
            parts += [
                string[end : found.start()],
                repl(found) if callable(repl) else self._filled(repl, found),
            ]
            end = found.end()
            if number == count:
                break
        return "".join([*parts, string[end:]])

    def _filled(self, template: str, found: Any) -> str:
        def part(reference: re.Match[str]) -> str:
            if reference[1] is not None:
                group = int(reference[1])
                if group > self._pattern.groups:
                    # JSONata looks for these words.
                    raise re.error(f"invalid group reference {group} at position {reference.start()}")
                return found.group(group) or ""
            if reference[2] in _ESCAPES:
                return _ESCAPES[reference[2]]
            raise re.error(f"bad escape {reference[0]} at position {reference.start()}")

        return _IN_TEMPLATE.sub(part, template)
