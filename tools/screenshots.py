"""Take the screenshots of the documentation: `make screenshots` writes them into docs/figures.

The commands of the README make a model, its page for an officer, a report and a service, in a
temporary folder; Debian's Chromium takes the pictures. Noise and ports are new each time, so the
pictures are taken by hand when a page changes, and are not compared in a test.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from tracked import ROOT

FOLDER = ROOT / "docs" / "figures"
CHROMIUM = "/usr/bin/chromium"
WIDTH = 900
PORT = 8765
LONGEST_START = 120.0
"""Seconds that a service may take until it answers."""
COMMANDS = (
    "data generate shop.csv --seed 1 --users 2000 --items 300 --ratings 60000 --labels 6",
    "fit private shop.csv --format shop-format.json --catalogue shop-items.csv --epsilon 1",
    "guarantee shop.tacit --for-officer -o officer.html",
    "compare shop.csv --items shop-items.csv --epsilon 1,3 --no-attacks --report comparison.html",
)


def main() -> int:
    """Run the commands, then write one picture for each page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for command in COMMANDS:
            run_tacit(command, folder)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            take_file(browser, folder / "officer.html", "officer-card", height=1000)
            take_file(browser, folder / "comparison.html", "comparison-report", height=1000)
            with serve_model(folder) as address:
                take_list(browser, address, "page-list", height=900)
            browser.close()
    return 0


def run_tacit(command: str, folder: Path) -> None:
    """Run one command of tacit in a folder; an error ends the program."""
    subprocess.run([*tacit(), *command.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def tacit() -> list[str]:
    """Return the words that start tacit with this interpreter."""
    return [sys.executable, "-c", "from tacit.cli.app import main; main()"]


def take_file(browser: Browser, page: Path, name: str, *, height: int) -> None:
    """Write a picture of the top of a page that is a file."""
    tab = browser.new_page(viewport={"width": WIDTH, "height": height})
    tab.goto(page.as_uri())
    tab.screenshot(path=FOLDER / f"{name}.png")
    tab.close()


def take_list(browser: Browser, address: str, name: str, *, height: int) -> None:
    """Choose three items on the served page, and write a picture of the list."""
    tab = browser.new_page(viewport={"width": WIDTH, "height": height})
    tab.goto(address)
    tab.wait_for_selector(".offered li")
    for number in (0, 3, 5):
        tab.locator(".offered button.like").nth(number).click()
    tab.get_by_role("button", name="Next: your list").click()
    tab.locator(".made li").nth(9).wait_for()
    tab.screenshot(path=FOLDER / f"{name}.png")
    tab.close()


@contextmanager
def serve_model(folder: Path) -> Iterator[str]:
    """Serve the fitted model while the block runs; yield the address of its page."""
    command = [*tacit(), "serve", "shop.tacit", "--port", str(PORT), "--json"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{PORT}/"
    try:
        wait_for(address)
        yield address
    finally:
        process.terminate()
        process.wait()


def wait_for(address: str) -> None:
    """Return once the address answers; TimeoutError after `LONGEST_START`."""
    end = time.monotonic() + LONGEST_START
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}healthz"):
                return
        except urllib.error.HTTPError:
            return
        except urllib.error.URLError:
            time.sleep(0.5)
    raise TimeoutError(f"{address} does not answer")


if __name__ == "__main__":
    sys.exit(main())
