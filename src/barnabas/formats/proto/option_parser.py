"""Reading tokens one after another, and options: their names, and values in text format."""

from __future__ import annotations

from typing import NoReturn

from barnabas.formats.proto.elements import Number, OptionElement, OptionPart, Value, Word
from barnabas.formats.proto.tokens import Token, fail, tokens_of

DEEPEST_VALUE = 64
LONGEST_NAME = 100


class OptionParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0

    def peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def next(self) -> Token:
        token = self._tokens[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def is_at(self, *words: str) -> bool:
        """Whether one of these words or signs is next."""
        token = self._tokens[self._at]
        return token.text in words and token.kind in ("word", "sign")

    def takes(self, word: str) -> bool:
        found = self.is_at(word)
        if found:
            self._at += 1
        return found

    def expect(self, sign: str) -> Token:
        if not self.is_at(sign):
            self.unexpected(repr(sign))
        return self.next()

    def fail(self, problem: str, token: Token) -> NoReturn:
        fail(self._text, token.position, problem)

    def fail_at(self, problem: str, position: int) -> NoReturn:
        fail(self._text, position, problem)

    def unexpected(self, wanted: str) -> NoReturn:
        token = self.peek()
        shown = token.text if token.kind == "end" else f"{token.text!r:.60}"
        self.fail(f"expected {wanted}, found {shown}", token)

    def name(self) -> str:
        if self.peek().kind != "word":
            self.unexpected("a name")
        return self.next().text

    def dotted_name(self) -> str:
        token = self.peek()
        parts = [self.name()]
        while self.takes("."):
            parts.append(self.name())
        if len(parts) > LONGEST_NAME:
            self.fail(f"a name has more than {LONGEST_NAME} parts", token)
        return ".".join(parts)

    def text(self) -> str:
        """Texts that follow each other are one."""
        if self.peek().kind != "text":
            self.unexpected("a text in quotation marks")
        found = self.next().text
        while self.peek().kind == "text":
            found += self.next().text
            # The bytes of one character may be in both.
            found = found.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        return found

    def integer(self) -> int:
        is_negative = self.takes("-")
        token = self.peek()
        try:
            if token.kind != "number":
                raise ValueError
            written = token.text.lower()
            if written.startswith("0x"):
                number = int(written, 16)
            else:
                number = int(written, 8 if written.startswith("0") else 10)
        except ValueError:
            self.unexpected("a whole number")
        self.next()
        return -number if is_negative else number

    def option_statement(self) -> OptionElement:
        self.next()
        found = self._option()
        self.expect(";")
        return found

    def bracketed_options(self) -> list[OptionElement]:
        """Those in brackets behind a declaration, if there are any."""
        found: list[OptionElement] = []
        if not self.takes("["):
            return found
        while not found or self.takes(","):
            found.append(self._option())
        self.expect("]")
        return found

    def _option(self) -> OptionElement:
        position = self.peek().position
        path = [self._option_part()]
        while self.takes("."):
            path.append(self._option_part())
        if len(path) > DEEPEST_VALUE:
            self.fail_at(f"the name of an option has more than {DEEPEST_VALUE} parts", position)
        self.expect("=")
        return OptionElement(tuple(path), self._value(0), position)

    def _option_part(self) -> OptionPart:
        if not self.takes("("):
            return OptionPart(self.name())
        leading = "." if self.takes(".") else ""
        name = leading + self.dotted_name()
        self.expect(")")
        return OptionPart(name, is_extension=True)

    def _value(self, depth: int) -> Value:  # noqa: RET503  it ends with an error
        token = self.peek()
        if depth > DEEPEST_VALUE:
            self.fail(f"the value of an option is deeper than {DEEPEST_VALUE}", token)
        if token.kind == "text":
            return self.text()
        if self.takes("{"):
            return self._mapping("}", depth)
        if depth and self.takes("<"):
            return self._mapping(">", depth)
        if self.takes("["):
            return self._listing(depth)
        sign = self.next().text if self.is_at("-", "+") else ""
        sign = sign.replace("+", "")
        found = self.next()
        if found.kind == "number":
            return Number(sign + found.text)
        if found.kind == "word" and (not sign or found.text.lower() in ("inf", "infinity", "nan")):
            return Word(sign + found.text)
        self.fail(f"expected a value, found {found.text!r:.60}", found)

    def _listing(self, depth: int) -> list[Value]:
        found: list[Value] = []
        while not self.takes("]"):
            found.append(self._value(depth + 1))
            if not self.takes(",") and not self.is_at("]"):
                self.unexpected("',' or ']'")
        return found

    def _mapping(self, closing: str, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        repeated: dict[str, list[Value]] = {}
        while not self.takes(closing):
            key = self._key()
            if not self.takes(":") and not self.is_at("{", "<"):
                self.unexpected("':'")
            value = self._value(depth + 1)
            if key not in found:
                found[key] = value
            else:
                if key not in repeated:
                    earlier = found[key]
                    found[key] = repeated[key] = [*earlier] if isinstance(earlier, list) else [earlier]
                repeated[key] += value if isinstance(value, list) else [value]
            if not self.takes(","):
                self.takes(";")
        return found

    def _key(self) -> str:
        """The name of a field, or in brackets that of an extension or of the type in an Any."""
        if not self.takes("["):
            return self.name()
        name = self.dotted_name()
        if self.takes("/"):
            name += "/" + self.dotted_name()
        self.expect("]")
        return f"[{name}]"
