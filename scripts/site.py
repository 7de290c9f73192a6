"""Builds the documentation as a site into build/site, and fails for whatever is wrong with it.

    .venv/bin/python scripts/site.py

What zensical and its --strict do not see is looked for here: links and anchors of the built pages that lead
nowhere, pictures and scripts that are not there or come from elsewhere, pages that the navigation lacks, and
public names without a docstring or a place in the reference (scripts/public_names.py). Names in tables get
places where a line may break.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urljoin, urlsplit

import public_names

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "site"
# A page of its own for whatever is not there has links from the site's root.
LEFT_OUT = {"404.html"}


class Page(HTMLParser):
    """What a built page offers to links, and what it wants: of `links` where they lead, of `parts` what a
    browser loads for the page itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.parts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon"):
            self.parts.append(given["href"])
        elif "src" in given:
            self.parts.append(given["src"])


def read_site(site: Path) -> dict[str, Page]:
    """The pages by their paths in the site."""
    return {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }


def broken_links(site: Path, pages: dict[str, Page]) -> list[str]:
    """Links within the site that lead nowhere, and parts that are not there, a line each."""
    found: dict[str, None] = {}
    for name, page in pages.items():
        if name in LEFT_OUT:
            continue
        for link in [*page.links, *page.parts]:
            target = urlsplit(urljoin(name, link))
            if target.scheme or target.netloc:
                if link in page.parts and target.scheme != "data":
                    found[f"{name}: {link} comes from elsewhere; the site has to be whole without it"] = None
                continue
            path, anchor = unquote(target.path) or name, unquote(target.fragment)
            if not (site / path).is_file():
                found[f"{name}: {link} leads nowhere: there is no {path}"] = None
            elif anchor and path in pages and anchor not in pages[path].ids:
                found[f"{name}: {link} leads nowhere: {path} has no #{anchor}"] = None
    return list(found)


def pages_without_a_place(docs: Path, navigation: list[dict[str, object]]) -> list[str]:
    """Pages that nobody finds by the navigation, and entries of it without a page."""
    named = set(re.findall(r"'([\w./-]+\.md)'", repr(navigation)))
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    return [
        *(f"docs/{name} is not in the navigation of zensical.toml" for name in sorted(there - named)),
        *(f"zensical.toml names {name}, which docs/ has not" for name in sorted(named - there)),
    ]


def entries(navigation: list[dict[str, object]]) -> Iterator[tuple[str, str]]:
    """Title and page of each entry, in their order."""
    for entry in navigation:
        for title, found in entry.items():
            if isinstance(found, str):
                yield title, found
            else:
                yield from entries(cast("list[dict[str, object]]", found))


def index_for_models(project: dict[str, Any]) -> str:
    """The text of llms.txt (llmstxt.org): what the site is, and a line for each page."""
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}", "", "## Pages", ""]
    for title, page in entries(project["nav"]):
        built = re.sub(r"(README)?\.md$", lambda found: f"{'index' if found[1] else ''}.html", page)
        lines.append(f"- [{title}]({built})")
    return "\n".join(lines) + "\n"


def wrong_version(project: dict[str, Any]) -> list[str]:
    """Each page shows the version below."""
    version = tomllib.loads((ROOT / "kernel" / "Cargo.toml").read_text())["package"]["version"]
    if project["copyright"].startswith(f"Barnabas {version},"):
        return []
    return [f"zensical.toml: copyright is {project['copyright']!r}, and the version is {version}"]


def with_breaks(page: str) -> str:
    """The HTML, where the code in cells of tables may break behind each word of a name: a narrow column would
    otherwise be as wide as its longest name, or break it anywhere."""
    return re.sub(r"<td\b.*?</td>", _cell_with_breaks, page, flags=re.DOTALL)


def _cell_with_breaks(cell: re.Match[str]) -> str:
    place = r"(?<=\w[_.,:/=])(?=\w)|(?<=[a-z])(?=[A-Z])"
    return re.sub(
        r"<code>([^<]+)</code>",
        lambda code: f"<code>{re.sub(place, '<wbr>', code[1])}</code>",
        cell[0],
    )


def build() -> list[str]:
    """Raises nothing for a site that is wrong, but says so."""
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return [done.stdout] if done.returncode else []


def main() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    found = pages_without_a_place(ROOT / "docs", project["nav"])
    found += wrong_version(project)
    found += public_names.all_problems()
    found += build() or broken_links(SITE, read_site(SITE))
    if found:
        sys.exit("\n".join(found))
    for path in SITE.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        path.write_text(with_breaks(page), encoding="utf-8")
    (SITE / "llms.txt").write_text(index_for_models(project))
    print(f"site: {SITE.relative_to(ROOT)}/index.html")


if __name__ == "__main__":
    main()
