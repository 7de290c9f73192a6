"""What axe says of a page in the browser."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from selenium.webdriver import Chrome

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Rules that colours decide. They take most of the time, and a theme changes nothing else.
COLOURS = ("color-contrast", "link-in-text-block")


def faults_of(
    browser: Chrome, address: str, *, unfolded: str = "details", without: tuple[str, ...] = ()
) -> list[str]:
    """What all rules find on a page, or all but some.

    `unfolded` selects what is unfolded first, so that it is judged as well.
    """
    browser.get(address)
    browser.execute_script(
        "document.querySelectorAll(arguments[0]).forEach(each => each.open = true)", unfolded
    )
    browser.execute_script(AXE)
    return _found(browser, {"type": "tag", "values": RULES}, without)


def faults_of_colours(browser: Chrome, theme: str) -> list[str]:
    """What the page that is open, and was judged, shows wrong in another theme."""
    browser.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    return _found(browser, {"type": "rule", "values": COLOURS})


def _found(browser: Chrome, rules: dict[str, Any], without: tuple[str, ...] = ()) -> list[str]:
    options = {
        "runOnly": rules,
        "resultTypes": ["violations"],
        "rules": {rule: {"enabled": False} for rule in without},
    }
    found: dict[str, Any] = browser.execute_async_script(
        "const done = arguments[1];"
        "axe.run(document, arguments[0]).then(done, error => done({error: `${error}`}));",
        options,
    )
    assert "error" not in found, found
    return [
        f"{each['id']}: {node['html'][:160]} ({' '.join(node['failureSummary'].split())[:240]})"
        for each in found["violations"]
        for node in each["nodes"]
    ]
