"""What tests do with a browser: they read it, and wait for what it shows. None waits for a fixed time."""

from __future__ import annotations

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SECONDS = 20


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
