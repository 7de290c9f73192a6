"""A reader who has the wheel and nothing else follows the tutorials, line by line."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions as conditions
from selenium.webdriver.support.wait import WebDriverWait
from tests.browser import start_chromium
from tests.docs.page_examples import FOLLOWED_ELSEWHERE, PAGES, ROOT, is_like
from tests.waiting import Patience

from barnabas.testing import free_ports

EXACTLY_ONCE = ROOT / "docs" / "tutorials" / "exactly-once.md"
OTHERS = [page for page in FOLLOWED_ELSEWHERE if page != EXACTLY_ONCE]
BLOCK = re.compile(r"^```(shell|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Of brokers, registries, listeners, the page in the browser, and what the tutorials' programs call.
PORTS_ON_PAGES = ("9092", "8081", "9464", "8080", "8000")
PATIENCE_SECONDS = 400.0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make wheels` builds it, but for this machine alone, out of what is compiled already."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--out", folder]
    subprocess.run(command, cwd=ROOT, check=True, timeout=900)
    [wheel] = folder.glob("*.whl")
    return wheel


class Terminal:
    """A shell that is typed into, in an empty folder, with nothing of the checkout in its environment."""

    def __init__(self, folder: Path, wheel: Path, ports: Mapping[str, str]) -> None:
        self._screen = folder.with_name("screen.txt")
        environment = {name: os.environ[name] for name in ("HOME", "LANG", "JAVA_HOME") if name in os.environ}
        environment |= {
            name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))
        }
        environment |= {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            # In place of a package index that has the wheel.
            "PIP_FIND_LINKS": f"{wheel.parent} {os.environ.get('PIP_FIND_LINKS', '')}",
            "PIP_QUIET": "1",
            "BARNABAS_BOOTSTRAP": f"localhost:{ports['9092']}",
            "BARNABAS_REGISTRY": f"http://localhost:{ports['8081']}",
            "TERM": "dumb",
        }
        with self._screen.open("wb") as screen:
            self._shell = subprocess.Popen(
                ["bash", "-e"],
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=screen,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._read_until = 0

    def enter(self, commands: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(commands.encode())
        self._shell.stdin.flush()

    def wait_for(self, shown: str) -> None:
        """Returns when it is on the screen, below what was waited for before."""
        patience = Patience(PATIENCE_SECONDS)
        while True:
            text = self._screen.read_text()
            found = self._find(shown, text)
            if found is not None:
                self._read_until = found
                return
            missing = f"{shown!r} never came, behind character {self._read_until} of:\n{text}"
            assert self._shell.poll() is None, missing
            patience.pause(missing)

    def _find(self, shown: str, text: str) -> int | None:
        """Whether some lines in a row are what is wanted, by the end of the last of them."""
        height = shown.count("\n")
        lines = list(re.finditer(r".*\n", text[self._read_until :]))
        for first in range(len(lines) - height + 1):
            block = lines[first : first + height]
            if is_like(shown, "".join(line[0] for line in block)):
                return self._read_until + block[-1].end()
        return None

    def finish(self) -> int:
        """The status of the last command, or of the first one that failed."""
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        return self._shell.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """Ends the shell, and what it has left running."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self.finish()


@pytest.fixture
def ports() -> dict[str, str]:
    """In place of those on the pages, which other programs of this machine may have."""
    free = map(str, free_ports(len(PORTS_ON_PAGES)))
    return dict(zip(PORTS_ON_PAGES, free, strict=True))


@pytest.fixture
def terminal(tmp_path: Path, wheel: Path, ports: dict[str, str]) -> Iterator[Terminal]:
    folder = tmp_path / "empty"
    folder.mkdir()
    terminal = Terminal(folder, wheel, ports)
    yield terminal
    terminal.close()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    browser = start_chromium(tmp_path / "chromium")
    yield browser
    browser.quit()


def on_free_ports(block: str, ports: Mapping[str, str]) -> str:
    block = block.replace("barnabas up", "barnabas up --port 9092 --registry-port 8081")
    block = block.replace("barnabas ui ", "barnabas ui --port 8080 ")
    return re.sub("|".join(rf"\b{port}\b" for port in ports), lambda found: ports[found[0]], block)


def follow(
    page: Path,
    terminal: Terminal,
    ports: Mapping[str, str],
    look: Callable[[str], object] = lambda shown: None,
) -> None:
    """`look` is called with each text that the page has, once it is on the screen."""
    for language, block in BLOCK.findall(page.read_text()):
        text = on_free_ports(block, ports)
        if language == "shell":
            terminal.enter(text)
        else:
            terminal.wait_for(text)
            look(text)
    assert terminal.finish() == 0


def see_the_lag(browser: webdriver.Chrome, page: str) -> None:
    """What the tutorial tells of the page in the browser."""
    browser.get(page)
    wait = WebDriverWait(browser, PATIENCE_SECONDS)
    for title, shown in (("Topics", "priced"), ("Queries", "priced")):
        browser.find_element(By.LINK_TEXT, title).click()
        wait.until(conditions.presence_of_element_located((By.LINK_TEXT, shown)))
    browser.find_element(By.LINK_TEXT, "priced").click()
    for partition in range(4):
        row = wait.until(
            conditions.presence_of_element_located((By.XPATH, f"//tr[contains(., 'orders-{partition}')]"))
        )
        assert row.find_elements(By.TAG_NAME, "td")[-1].text.isdigit()


@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_the_tutorial_leads_from_pip_install_to_an_exactly_once_stream_with_its_lag_in_a_browser(
    terminal: Terminal, ports: dict[str, str], browser: webdriver.Chrome
) -> None:
    address = f"http://127.0.0.1:{ports['8080']}"
    seen: list[str] = []

    def look(shown: str) -> None:
        if shown.strip() == address:
            see_the_lag(browser, address)
            seen.append(shown)

    follow(EXACTLY_ONCE, terminal, ports, look)
    assert len(seen) == 1


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.stem)
def test_who_enters_what_a_tutorial_has_sees_what_it_shows(
    page: Path, terminal: Terminal, ports: dict[str, str]
) -> None:
    follow(page, terminal, ports)


def test_each_page_that_begins_with_an_installation_is_followed() -> None:
    tutorials = [page for page in PAGES if page.parent.name == "tutorials"]
    assert [page for page in tutorials if "\n## Install\n" in page.read_text()] == list(FOLLOWED_ELSEWHERE)
