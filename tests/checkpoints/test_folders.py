from __future__ import annotations

import sys
from pathlib import Path

import pytest

from barnabas.checkpoints.folders import CheckpointError, folder_at
from barnabas.errors import MissingExtraError


def test_an_address_is_read_as_a_path_is(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("v1\n{}")
    for place in (str(tmp_path), tmp_path.as_uri(), tmp_path.as_uri() + "/"):
        folder = folder_at(place)
        offsets = folder / "offsets"
        assert (offsets.is_dir(), offsets.is_file(), offsets.exists(), offsets.name) == (
            *(True, False, True),
            "offsets",
        )
        assert [each.name for each in offsets.iterdir()] == ["0"]
        assert (offsets / "0").is_file()
        assert (offsets / "0").read_text() == "v1\n{}"
        assert (offsets / "0").read_bytes() == b"v1\n{}"
        assert not (offsets / "1").exists()
        assert str(offsets / "0") == f"{place.rstrip('/')}/offsets/0"


def test_an_address_of_no_known_file_system_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"carrier://pigeon is on no file system that pyarrow reads"):
        folder_at("carrier://pigeon")


def test_an_address_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    with pytest.raises(MissingExtraError, match=r"barnabas\[arrow\]"):
        folder_at("s3://bucket/delays")
