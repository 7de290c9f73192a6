"""Chromium as a program of the machine, without a window."""

from __future__ import annotations

from pathlib import Path

from selenium import webdriver


def start_chromium(profile: Path) -> webdriver.Chrome:
    """`profile` is an empty folder, for what the browser keeps. The caller quits it."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--no-proxy-server",
        "--force-device-scale-factor=1",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    # The 30 s that there are else are too few for axe on a page while other processes are busy.
    driver.set_script_timeout(240)
    return driver
