"""Takes the pictures that docs/ui.md shows from those that the browser's tests have made of the page.

    pytest tests/ui/test_p*_in_browser.py && python scripts/screenshots.py

Tests leave out of them what differs each time, so that a picture changes with the page alone.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MADE = ROOT / "build" / "screenshots"
SHOWN = ROOT / "docs" / "pictures" / "page"
PAGE = ROOT / "docs" / "ui.md"


def main() -> int:
    made = sorted(MADE.glob("*.png"))
    if not made:
        print("there are no pictures: run pytest tests/ui/test_p*_in_browser.py", file=sys.stderr)
        return 1
    SHOWN.mkdir(parents=True, exist_ok=True)
    text = PAGE.read_text()
    for picture in made:
        if f"/{picture.name})" not in text:
            continue
        shown = SHOWN / picture.name
        if not shown.exists() or shown.read_bytes() != picture.read_bytes():
            shutil.copyfile(picture, shown)
            print(f"{picture.name} is new")
    return 0


if __name__ == "__main__":
    sys.exit(main())
