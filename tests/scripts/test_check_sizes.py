from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from scripts.check_sizes import GENERATED, problems


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    return tmp_path


def write(file: Path, lines: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x = 1\n" * lines)


@pytest.mark.parametrize("suffix", ["py", "pyi", "rs"])
def test_a_file_of_more_than_800_lines_is_named(checkout: Path, suffix: str) -> None:
    write(checkout / f"fits.{suffix}", 800)
    write(checkout / "folder" / f"long.{suffix}", 801)
    assert problems(checkout) == [f"folder/long.{suffix} has 801 lines, 800 at most: take it apart"]


def test_a_folder_of_more_than_25_files_is_named_without_those_below_it(checkout: Path) -> None:
    for number in range(25):
        write(checkout / "full" / f"{number}.py", 1)
        write(checkout / "full" / "below" / f"{number}.rs", 1)
    assert problems(checkout) == []
    write(checkout / "full" / "one_more.rs", 1)
    assert problems(checkout) == ["full/ has 26 files, 25 at most: give some of them a folder"]


def test_what_is_generated_or_not_under_version_control_is_passed_over(checkout: Path) -> None:
    (checkout / ".gitignore").write_text("/target/\n")
    write(checkout / "target" / "made.rs", 801)
    write(checkout / "notes.txt", 801)
    for generated in GENERATED:
        path = checkout / generated
        write(path if path.suffix else path / "made.py", 801)
    assert problems(checkout) == []


def test_what_is_generated_below_a_mark_does_not_count(checkout: Path) -> None:
    (checkout / "calls.py").write_text("x = 1\n" * 800 + "# From here on made by codegen/plain_calls.py\n\n")
    assert problems(checkout) == []


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "docs/api.md", "docs/design/net.md"])
def test_a_line_of_a_document_with_more_than_120_characters_is_named(checkout: Path, name: str) -> None:
    document = checkout / name
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(f"{'ö' * 120}\n\n    {'x' * 117}\n")
    assert problems(checkout) == [f"{name}:3 has 121 characters, 120 at most: wrap it"]


def test_the_row_of_a_table_may_be_longer(checkout: Path) -> None:
    (checkout / "README.md").write_text(f"| {'x' * 120} |\n")
    assert problems(checkout) == []


def test_nothing_of_this_checkout_is_too_large() -> None:
    assert problems(Path(__file__).resolve().parents[2]) == []
