"""Crates of a few lines, in which the check of Rust imports is to find what is wrong, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.check_rust_imports import LAYERS, Crate, problems

ONE_LAYER = [[["one", "two", "three", "folder"]]]


def crate(folder: Path, **sources: str) -> Path:
    """Files by their paths, in which two underscores stand for a slash."""
    for name, source in {"lib": "", **sources}.items():
        file = folder / f"{name.replace('__', '/')}.rs"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(source)
    return folder


@pytest.mark.parametrize(
    "import_of_one",
    [
        "use crate::one::Thing;",
        "use super::one::Thing;",
        "use crate::{one::{self, Thing as Alias}, three};",
        "pub(crate) use crate::one::*;",
        "fn make() -> u8 { crate::one::Thing::new(1) }",
        "use crate::one;\nfn make() { one::make() }",
        "mod tests { use super::super::one::Thing; }",
        "mod tests { mod deeper { fn f() { super::super::super::one::make() } } }",
    ],
)
def test_a_circle_is_found_whatever_way_it_is_written(tmp_path: Path, import_of_one: str) -> None:
    sources = {"one": "use crate::two::Other;\npub struct Thing;", "two": import_of_one, "three": ""}
    found = problems(crate(tmp_path, **sources), ONE_LAYER)
    assert found[0] == "a circle of 2 files:"
    assert "    one.rs -> two.rs (Other)" in found
    assert any(line.startswith("    two.rs -> one.rs") for line in found)


def test_a_circle_goes_through_what_a_folder_re_exports(tmp_path: Path) -> None:
    sources = {
        "folder__mod": "mod part;\npub use part::Part;",
        "folder__part": "use crate::one::Thing;\npub struct Part;",
        "one": "use crate::folder::Part;\npub struct Thing;",
    }
    assert problems(crate(tmp_path, **sources), ONE_LAYER) == [
        "a circle of 2 files:",
        "    folder/part.rs -> one.rs (Thing)",
        "    one.rs -> folder/part.rs (Part)",
    ]


def test_a_folder_and_its_part_that_know_each_other_are_a_circle(tmp_path: Path) -> None:
    sources = {
        "folder__mod": "mod part;\npub struct Whole;\nfn f() { part::run() }",
        "folder__part": "use super::Whole;\npub fn run() {}",
    }
    assert problems(crate(tmp_path, **sources), ONE_LAYER) == [
        "a circle of 2 files:",
        "    folder/mod.rs -> folder/part.rs (run)",
        "    folder/part.rs -> folder/mod.rs (Whole)",
    ]


def test_words_in_comments_and_literals_are_no_imports(tmp_path: Path) -> None:
    sources = {
        "one": "use crate::two::Other;\npub struct Thing;",
        "two": "// use crate::one::Thing;\n/* crate::one::make() */\n"
        'const TEXT: &str = "crate::one::\\"Thing"; const RAW: &str = r#"use crate::one::Thing;"#;\n'
        "fn f<'a>(quote: char) -> bool { quote == '\"' || quote == '\\'' }",
    }
    assert problems(crate(tmp_path, **sources), ONE_LAYER) == []


def test_tests_in_a_file_are_part_of_it(tmp_path: Path) -> None:
    sources = {
        "one": "pub struct Thing;\nmod tests { use super::*; use super::Thing; use crate::one::Thing; }"
    }
    assert problems(crate(tmp_path, **sources), ONE_LAYER) == []


def test_an_import_that_runs_up_a_layer_names_both_files_and_what_is_imported(tmp_path: Path) -> None:
    sources = {
        "one": "use crate::two::{Other, Third};",
        "two": "pub struct Other;",
        "three": "use crate::one;",
    }
    layers = [[["one"]], [["two"], ["three"]]]
    assert problems(crate(tmp_path, **sources), layers) == ["up a layer: one.rs -> two.rs (Other, Third)"]


def test_parts_of_a_layer_know_nothing_of_each_other(tmp_path: Path) -> None:
    sources = {"one": "use crate::two::Other;", "two": "pub struct Other;"}
    found = problems(crate(tmp_path, **sources), [[["one"], ["two"]]])
    assert found == ["between parts of a layer: one.rs -> two.rs (Other)"]


def test_a_module_that_no_layer_lists_is_named(tmp_path: Path) -> None:
    found = problems(crate(tmp_path, one="", unheard_of=""), ONE_LAYER)
    assert found == ["unheard_of.rs is in no layer: list its module in LAYERS of check_rust_imports.py"]


def test_the_kernel_has_no_circles_and_its_core_knows_nothing_of_librdkafka() -> None:
    folder = Path(__file__).resolve().parents[2] / "kernel" / "src"
    assert problems(folder, LAYERS) == []
    imports = Crate(folder).imports
    users = {file for file, others in imports.items() if any("librdkafka" in other for other in others)}
    assert users
    assert {user for user in users if not user.startswith("python/librdkafka/")} == {"python/mod.rs"}
