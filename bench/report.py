"""docs/benchmarks.md: what `make bench` writes, and sections that others write by themselves."""

from __future__ import annotations

from pathlib import Path

REPORT = Path("docs/benchmarks.md")


def write_section(text: str) -> None:
    """Puts it in the place of the one with its heading, or at the end."""
    heading = text.partition("\n")[0]
    before, _, old = REPORT.read_text().partition(heading)
    _, following, after = old.partition("\n## ")
    REPORT.write_text(f"{before.rstrip()}\n\n{text}{following}{after}")


def write_all_but(heading: str, text: str) -> None:
    """Writes the whole, and leaves the section with this heading."""
    _, _, old = REPORT.read_text().partition(heading)
    kept = old.partition("\n## ")[0].rstrip()
    REPORT.write_text(text if not kept else f"{text.rstrip()}\n\n{heading}{kept}\n")
