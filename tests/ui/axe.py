"""What axe says of a page in the browser."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from selenium.webdriver import Chrome

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Rules that are not for this page, with the reason.
LEFT_OUT: dict[str, str] = {}


def faults_of(browser: Chrome, address: str, unfolded: str = "details") -> list[str]:
    """`unfolded`: selects what is unfolded first, so that it is judged as well."""
    browser.get(address)
    browser.execute_script(
        "document.querySelectorAll(arguments[0]).forEach(each => each.open = true)", unfolded
    )
    browser.execute_script(AXE)
    options = {
        "runOnly": {"type": "tag", "values": list(RULES)},
        "resultTypes": ["violations"],
        "rules": {rule: {"enabled": False} for rule in LEFT_OUT},
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
