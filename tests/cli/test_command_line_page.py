from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_tells_of_all_commands_as_their_help_does() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "command_line_page.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
