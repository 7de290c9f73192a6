from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import griffe
import pytest
from tests.scripts.loading import ROOT, script


@pytest.fixture(scope="module")
def site() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return script("site")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture(scope="module")
def public_names(site: ModuleType) -> ModuleType:
    return site.public_names


def broken(site: ModuleType, folder: Path, **pages: str) -> list[str]:
    (folder / "sub").mkdir()
    (folder / "style.css").touch()
    for name, text in pages.items():
        (folder / f"{name.replace('_', '/')}.html").write_text(text)
    return site.broken_links(folder, site.read_site(folder))


@pytest.mark.timeout(600)
def test_the_documentation_is_a_site_without_a_broken_link_or_a_name_without_a_docstring() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "site.py"],
        capture_output=True,
        text=True,
        timeout=560,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    built = ROOT / "build" / "site"
    listed = re.findall(r"^- \[.+\]\((.+)\)$", (built / "llms.txt").read_text(), re.MULTILINE)
    assert len(listed) > 50
    assert [page for page in listed if not (built / page).is_file()] == []


def test_links_that_lead_somewhere_are_fine(site: ModuleType, tmp_path: Path) -> None:
    first = (
        '<link rel="stylesheet" href="style.css"><a href="sub/b.html#here"></a><a href="#top" id="top"></a>'
    )
    second = '<h2 id="here"></h2><a href="../a.html"></a><a href="https://kafka.apache.org/x#y"></a>'
    assert broken(site, tmp_path, a=first, sub_b=second) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<a href="sub/c.html"></a>', "sub/c.html leads nowhere: there is no sub/c.html"),
        ('<a href="sub/b.html#there"></a>', "sub/b.html#there leads nowhere: sub/b.html has no #there"),
        ('<a href="#there"></a>', "#there leads nowhere: a.html has no #there"),
        ('<img src="lag.svg">', "lag.svg leads nowhere: there is no lag.svg"),
        ('<script src="https://cdn.example/x.js"></script>', "https://cdn.example/x.js comes from elsewhere"),
    ],
)
def test_a_link_or_a_part_that_is_broken_is_told(
    site: ModuleType, tmp_path: Path, text: str, problem: str
) -> None:
    [found] = broken(site, tmp_path, a=text, sub_b='<h2 id="here"></h2>')
    assert found.startswith(f"a.html: {problem}")


def test_the_version_at_the_foot_of_pages_is_the_packages(site: ModuleType) -> None:
    assert site.wrong_version({"copyright": "Barnabas 0.0.1, Apache-2.0"}) != []


def test_a_page_that_the_navigation_lacks_is_told_and_so_is_an_entry_without_a_page(
    site: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "lost.md").touch()
    navigation = [{"Home": [{"Start": "gone.md"}]}]
    assert site.pages_without_a_place(tmp_path, navigation) == [
        "docs/lost.md is not in the navigation of zensical.toml",
        "zensical.toml names gone.md, which docs/ has not",
    ]


SOURCE = '''
__all__ = ["Told", "Untold"]

class Told:
    """A class."""
    def untold(self): ...
    def _own(self): ...
    @property
    def size(self): ...

class Untold(Told): ...
'''


def test_names_without_a_docstring_or_a_page_are_told(
    public_names: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    with griffe.temporary_visited_package("some_package", {"__init__.py": SOURCE}) as package:
        monkeypatch.setattr(public_names, "MODULES", ("some_package",))
        found = [line.partition(":")[0] for line in public_names.problems(package, {"some_package.Told"})]
    assert found == [
        "some_package.Told.untold has no docstring",
        "some_package.Told.size has no docstring",
        "some_package.Untold is on no page of docs/reference/",
        "some_package.Untold has no docstring",
        "some_package.Untold.untold has no docstring",
        "some_package.Untold.size has no docstring",
    ]


def test_the_pages_of_settings_and_options_are_as_their_tables_say() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference_pages.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_names_in_tables_may_break_behind_each_of_their_words(site: ModuleType) -> None:
    row = "<tr><td><code>retry_backoff_ms</code></td><td>as <code>startingOffsets &lt;= a.b</code></td></tr>"
    assert site.with_breaks(f"<code>client_id</code>{row}") == (
        "<code>client_id</code><tr><td><code>retry_<wbr>backoff_<wbr>ms</code></td>"
        "<td>as <code>starting<wbr>Offsets &lt;= a.<wbr>b</code></td></tr>"
    )
