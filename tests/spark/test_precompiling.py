"""PySpark's archives with compiled modules in them, on archives of a few modules of our own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path
from zipimport import zipimporter

import pytest

from barnabas.spark.precompiling import (
    LIBRARIES,
    Archive,
    NoArchiveError,
    archives,
    compile_archive,
    restore_archive,
    this_python,
)

SOURCES = {
    "made/__init__.py": "def where():\n    raise ValueError('here')\n",
    "made/module.py": "NAME = __name__\nodd = 1 is 1\n",
    "made/tests/test_it.py": "this is no Python",
    "made/data.json": "{}",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / LIBRARIES).mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / LIBRARIES / "made.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in SOURCES.items():
            archive.writestr(name, text)
    return tmp_path


@pytest.fixture
def archive(home: Path) -> Archive:
    [found] = archives(home)
    return found


def imported(path: Path, statement: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(path)!r}); {statement}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def module_file(archive: Archive) -> str:
    importer = zipimporter(str(archive.path))
    importer.invalidate_caches()
    return Path(importer.get_filename("made")).name


def test_python_imports_the_compiled_modules_and_errors_still_show_their_source(archive: Archive) -> None:
    assert module_file(archive) == "__init__.py"
    assert archive.compiled_for is None
    compiled = compile_archive(archive)
    assert (compiled.compiled_for, compiled.modules) == (this_python(), 2)
    assert module_file(archive) == "__init__.pyc"
    assert imported(archive.path, "import made.module; print(made.module.NAME)") == "made.module\n"
    failing = "import made, sys; sys.excepthook = __import__('traceback').print_exception; made.where()"
    assert "    raise ValueError('here')" in imported(archive.path, failing)


def test_undo_leaves_the_archive_as_it_was_byte_for_byte(archive: Archive) -> None:
    before, mode = archive.path.read_bytes(), archive.path.stat().st_mode
    compile_archive(archive)
    again = compile_archive(archive)
    assert again.modules == 2
    assert archive.path.stat().st_mode == mode
    assert restore_archive(archive) == archive
    assert archive.path.read_bytes() == before
    assert restore_archive(archive) == archive
    assert list(archive.path.parent.iterdir()) == [archive.path]


def test_another_python_takes_the_source(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "MAGIC_NUMBER", b"\x01\x02\r\n")
        compile_archive(archive)
    # Python warns of it whenever it compiles it.
    assert "SyntaxWarning" in imported(archive.path, "import made.module; print(made.module.NAME)")
    compile_archive(archive)
    assert imported(archive.path, "import made.module; print(made.module.NAME)") == "made.module\n"


def test_an_archive_that_cannot_be_compiled_stays(home: Path, archive: Archive) -> None:
    with zipfile.ZipFile(archive.path, "a") as opened:
        opened.writestr("made/broken.py", "this is no Python")
    before = archive.path.read_bytes()
    with pytest.raises(SyntaxError):
        compile_archive(archive)
    assert archive.path.read_bytes() == before
    assert list(archive.path.parent.iterdir()) == [archive.path]


def test_where_no_spark_is_that_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoArchiveError, match="no archive of PySpark"):
        archives(tmp_path)


def test_an_archive_that_is_a_link_stays_one(tmp_path: Path, archive: Archive) -> None:
    folder = tmp_path / "linked" / LIBRARIES
    folder.mkdir(parents=True)
    (folder / "made.zip").symlink_to(archive.path)
    [linked] = archives(tmp_path / "linked")
    compile_archive(linked)
    assert linked.path.is_symlink()
    assert module_file(archive) == "__init__.pyc"
