"""The built site in a browser: the page wanted is found first, fits a phone, and is open to all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.long

WANTED = {
    "csv": "own-file",
    "install": "install",
    "own file": "own-file",
    "epsilon": "is-this-number-strong",
    "Private": "private",
    "erasure": "erasure",
    "every week": "year-of-fits",
}
NARROW = 390
AXE = ROOT / "client" / "page" / "node_modules" / "axe-core" / "axe.min.js"
JUDGED = """async () => {
  const { passes, violations } = await axe.run(document);
  const wcag = ({ tags }) => tags.some((tag) => /^wcag2(1|2)?a{1,2}$/.test(tag));
  const loud = ({ impact }) => impact === "serious" || impact === "critical";
  const found = violations.filter((one) => wcag(one) || loud(one)).map((one) => one.id);
  return { passes: passes.length, violations: found };
}"""
CLIPPED = """() => [...document.querySelectorAll("article *")].filter((element) => {
  const { display, overflowX } = getComputedStyle(element);
  const hides = overflowX === "hidden" || overflowX === "clip";
  const wide = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
  return hides && wide && display !== "inline" && element.textContent.trim() !== "";
}).map((element) => element.textContent.slice(0, 60))"""
UNMARKED = """() => [...document.querySelectorAll(".table-wrapper")].filter((wrapper) =>
  wrapper.scrollWidth > wrapper.clientWidth + 1
  && !getComputedStyle(wrapper).backgroundImage.includes("gradient")).length"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "docs", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def browser_page(chromium_path: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


@pytest.mark.parametrize("words", WANTED)
def test_the_page_that_a_reader_wants_comes_first(words, site, browser_page):
    """Before names of the code and the changelog."""
    browser_page.goto(f"{(site / 'search.html').as_uri()}?q={words}")
    first = browser_page.locator("#search-results li a").first
    first.wait_for(timeout=20_000)
    browser_page.wait_for_timeout(1000)
    assert Path(first.get_attribute("href").split("#")[0].split("?")[0]).stem == WANTED[words]


def test_decisions_and_mechanisms_are_left_out(site, browser_page):
    """Their indexes alone are found."""
    browser_page.goto(f"{(site / 'search.html').as_uri()}?q=opendp")
    browser_page.locator("#search-results li a").first.wait_for(timeout=20_000)
    browser_page.wait_for_timeout(1000)
    found = browser_page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
    pages = [address.split("#")[0].split("?")[0] for address in found]
    assert pages
    inner = [page for page in pages if "/decisions/" in page or "/mechanisms/" in page]
    assert all(page.endswith("/index.html") for page in inner)


def test_no_page_is_wider_than_a_phone(site, browser_page):
    """At 390 pixels every page fits; what is wider scrolls within itself, and a shadow shows it."""
    browser_page.set_viewport_size({"width": NARROW, "height": 844})
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    wide, clipped, unmarked = [], {}, []
    for page in pages:
        browser_page.goto(page.as_uri())
        name = str(page.relative_to(site))
        if browser_page.evaluate("document.documentElement.scrollWidth") > NARROW:
            wide.append(name)
        if texts := browser_page.evaluate(CLIPPED):
            clipped[name] = texts
        if browser_page.evaluate(UNMARKED):
            unmarked.append(name)
    assert (wide, clipped, unmarked) == ([], {}, [])


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", NARROW)])
def test_axe_finds_nothing_serious(site, browser_page, missing, scheme, width):
    """WCAG 2.2 AA as far as a program can judge it, on every page."""
    if not AXE.is_file():
        missing("axe-core is not installed: run `make page` (needs Node 20)")
    axe = AXE.read_text(encoding="utf-8")
    browser_page.emulate_media(color_scheme=scheme)
    browser_page.set_viewport_size({"width": width, "height": 844})
    found = {}
    for page in sorted(site.rglob("*.html")):
        browser_page.goto(page.as_uri())
        browser_page.evaluate(axe)
        judged = browser_page.evaluate(JUDGED)
        assert judged["passes"] > 10
        if judged["violations"]:
            found[str(page.relative_to(site))] = judged["violations"]
    assert found == {}
