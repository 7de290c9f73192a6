"""What tests do with a browser: they read it, and wait for what it shows. None waits for a fixed time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SECONDS = 20
PICTURES = Path(__file__).parents[2] / "build" / "screenshots"


def text_of(browser: Chrome, selector: str = "main") -> str:
    """As it is at this moment: htmx may put another element in its place at any time."""
    return str(
        browser.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
    )


def until_text(browser: Chrome, text: str, selector: str = "main") -> None:
    WebDriverWait(browser, SECONDS, 0.05).until(
        lambda _: text in text_of(browser, selector), f"no {text!r} in {selector}"
    )


def press_button(browser: Chrome, label: str) -> None:
    browser.find_element(By.XPATH, f"//button[text()='{label}']").click()


@contextmanager
def phone(browser: Chrome) -> Iterator[None]:
    """The page is 360 wide: Chromium's window is no narrower than 500, the page in it may be."""
    browser.set_window_size(500, 800)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def take_picture(browser: Chrome, name: str) -> None:
    """For the documentation, by scripts/screenshots.py; without what differs each time."""
    browser.execute_script(
        "document.querySelectorAll('.where').forEach(each => each.textContent = 'localhost:9092');"
        "document.querySelectorAll('.age').forEach(each => each.textContent = 'as of now');"
    )
    PICTURES.mkdir(parents=True, exist_ok=True)
    assert browser.save_screenshot(str(PICTURES / f"{name}.png"))
