"""Runs what a page of the documents shows, block by block, as a reader would who copies it.

A block is fenced, and its language says what it is: `python` is run in one namespace for the whole page, or
by pytest where it has tests; `shell` is a script that has to succeed; `console` has commands after `$ `, each
with what it prints, where `...` stands for any text. A block of any language that has a title
(`python title="app.py"`) is a file of that name, for the blocks behind it. Other languages are no examples.
What cannot be run says why, right above it:

    <!-- not run: it needs a cluster in Kerberos -->

Addresses on the pages (localhost:9092, localhost:8081) become those of the broker and the registry at hand,
so that `barnabas up &` is not run: what it starts is there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from barnabas.testing import EmbeddedBroker, EmbeddedRegistry

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
# By test_tutorial.py, in an environment of its own.
FOLLOWED_ELSEWHERE = tuple(
    ROOT / "docs" / "tutorials" / f"{name}.md"
    for name in ("exactly-once", "old-program", "schemas", "service")
)
TIMEOUT_SECONDS = 120
FENCE = re.compile(
    r"""(?:(?P<language>\w+) title="(?P<title>[^"\n]+)"|(?P<run>python|shell|console))$\n""", re.MULTILINE
)
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>[^>]+?) -->\s*\Z")
STARTS_A_BROKER = re.compile(r"barnabas up [^|]*&$")
PLUGIN = "barnabas.testing.pytest_plugin"


def examples_of(document: Document) -> Iterator[tuple[Region, str | None]]:
    """Each block that is an example, and why it is not to be run, if the page says so."""
    for region in RawFencedCodeBlockLexer(FENCE)(document):
        found = NOT_RUN.search(document.text[: region.start])
        yield region, None if found is None else " ".join(found["reason"].split())


def pages_with_examples() -> list[Path]:
    return [
        page
        for page in PAGES
        if page not in FOLLOWED_ELSEWHERE
        and any(reason is None for _, reason in examples_of(Sybil([]).parse(page)))
    ]


def needs_spark(page: Path) -> bool:
    return "from pyspark" in page.read_text()


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


class PageRunner:
    """Runs the examples of a page in `folder`, which is the current one."""

    def __init__(self, broker: EmbeddedBroker, registry: EmbeddedRegistry, folder: Path) -> None:
        own_registry = registry.url.removeprefix("http://")
        self.at_hand_for = {
            "localhost:9092": broker.bootstrap,
            "127.0.0.1:9092": broker.bootstrap,
            "localhost:8081": own_registry,
            # The current folder of Spark's JVM is another one.
            '"checkpointLocation", "': f'"checkpointLocation", "{folder}/',
        }
        self.folder = folder
        # As in an activated environment: Spark, for one, takes the python3 of PATH.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {
            "PATH": path,
            "BARNABAS_BOOTSTRAP": broker.bootstrap,
            "BARNABAS_REGISTRY": registry.url,
            "COLUMNS": "120",
            "TERM": "dumb",
        }
        self.environment = {**os.environ, **own}

    def run(self, page: Path) -> None:
        """Raises: whatever an example raises, with the page's lines in its traceback; SybilFailure."""
        for example in Sybil([self.regions]).parse(page).examples():
            example.evaluate()

    def regions(self, document: Document) -> Iterator[Region]:
        """As a parser of Sybil's."""
        for region, reason in examples_of(document):
            if reason is None:
                region.parsed = region.lexemes["source"]
                language = region.lexemes["run"]
                region.evaluator = getattr(self, f"run_{language}") if language else self.write_file
                yield region

    def write_file(self, example: Example) -> None:
        path = self.folder / example.region.lexemes["title"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.at_hand(example.parsed))

    def run_python(self, example: Example) -> str | None:
        program = self.at_hand(example.parsed)
        if re.search(r"^def test_", program, re.MULTILINE):
            return self.run_tests(program)
        # So that lines in a traceback are those of the page.
        program = "\n" * example.line + program
        example.namespace.setdefault("__name__", "__main__")
        exec(compile(program, example.path, "exec"), example.namespace)
        return None

    def run_tests(self, program: str) -> str | None:
        (self.folder / "test_program.py").write_text(program)
        status, output = self.run_script(
            f"{sys.executable} -m pytest -p {PLUGIN} -p no:cacheprovider -q test_program.py"
        )
        return output if status else None

    def run_shell(self, example: Example) -> str | None:
        status, output = self.run_script("set -e\n" + self.at_hand(example.parsed))
        return f"status {status}:\n{output}" if status else None

    def run_console(self, example: Example) -> str | None:
        for command, expected in dialogue(example.parsed):
            if STARTS_A_BROKER.fullmatch(command):
                continue
            status, output = self.run_script(self.at_hand(command))
            if not is_like(self.at_hand(expected), output):
                return f"$ {command}\n{output}(status {status}), where this was expected:\n{expected}"
        return None

    def run_script(self, script: str) -> tuple[int, str]:
        """Its status, and all that it printed."""
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return done.returncode, done.stdout

    def at_hand(self, text: str) -> str:
        for on_pages, at_hand in self.at_hand_for.items():
            text = text.replace(on_pages, at_hand)
        return text


def dialogue(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a `console` block, each with what it prints. A line that ends in `\\` goes on."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield re.sub(r"\s+# .*$", "", command), printed


def is_like(expected: str, printed: str) -> bool:
    """Whether it was printed, but for `...` and spaces that line columns up."""
    pattern = ".*?".join(
        r"\s+".join(re.escape(word) for word in re.split(r"[ \t]+", part)) for part in expected.split("...")
    )
    printed = re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE)
    return re.fullmatch(pattern.rstrip("\n").rstrip("\\") + r"\s*", printed, re.DOTALL) is not None
