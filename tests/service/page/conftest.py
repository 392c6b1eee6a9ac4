"""A real Chromium at a real service: `visit()` opens a browser of its own at the first step.

Its clock goes forward when a test says so: the first letter leaves half an hour after it is
allowed.

    def test_mine(visit):
        person = visit(width=360)
        person.to_the_letters()

Whatever a browser complains about in its console, and whatever its content security policy stops,
fails the test at its end.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import build_page
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from tacit.service.demo import Demo

STARS = (5, 4, 1, 3, 5, 2, 4, 5, 4, 1, 3, 5, 2, 4)
"""Of the first films, in the page's order."""
NOTICE = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""


@dataclass
class Served:
    """A running service. operator: its operator's key."""

    address: str
    operator: str


@pytest.fixture(scope="session")
def built_page(missing: Callable[[str], NoReturn]) -> Path:
    """The folder of the page as it is served."""
    if not (build_page.BUILT / "index.html").is_file() or not build_page.up_to_date():
        missing("the page is not built, or not of these sources: run `make page` (needs Node 20)")
    return build_page.BUILT


@pytest.fixture(scope="session")
def served(
    built_page: Path, demo: Demo, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """One service for all tests: visitors do not mind each other."""
    folder = Path(shutil.copytree(demo.folder, tmp_path_factory.mktemp("page") / "shop"))
    with run_service(folder, "--visitors") as (address, _):
        yield Served(address, demo.keys["operator"])


@contextmanager
def run_service(what: Path, *options: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Run `tacit serve WHAT`; yield its address and the keys that it made."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tacit.cli.app", "serve", str(what)),
            *("--port", "0", "--json", *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    try:
        started = json.loads(process.stdout.readline())
        yield started["address"].rstrip("/"), started["keys"]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    """Debian's Chromium, without its sandbox: the tests may run as root, in a container.

    One for each file: while it is open, nothing else in this process has an event loop.
    """
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield opened
        opened.close()


@dataclass
class Visit:
    """One browser of one person. sent: what it asked for, in order. complaints: see above."""

    page: Page
    context: BrowserContext
    address: str
    sent: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def returning(self, value: str = "F", stars: tuple[int, ...] = STARS, code: str = "") -> None:
        """At the letters, as a person who rated and answered at an earlier visit."""
        kept = {
            "tacit.stars": [[item + 1, given] for item, given in enumerate(stars) if given],
            "tacit.values": {"gender": {"gender": value}},
        }
        texts = {name: json.dumps(each, separators=(",", ":")) for name, each in kept.items()}
        self.page.wait_for_selector(".progress")  # no request is under way any more
        self.page.evaluate(
            "([texts, code]) => { Object.assign(localStorage, texts); "
            "if (code) localStorage['tacit.code'] = code; "
            "history.replaceState(null, '', '#send'); }",  # unlike a new hash it shows nothing yet
            [texts, code],
        )
        self.sent.clear()
        self.page.reload()
        self.letters_are_written()

    def rate(self, stars: tuple[int, ...] = STARS) -> None:
        """Stars for the first films."""
        self.page.wait_for_selector(".films")
        groups = self.page.get_by_role("radiogroup")
        for place, given in enumerate(stars):
            groups.nth(place).get_by_role("radio").nth(given - 1).check()

    def step(self, name: str) -> None:
        """To a step, by the list of them."""
        self.page.get_by_role("navigation", name="Steps").get_by_role("link", name=name).click()

    def to_the_letters(self, value: str = "female", stars: tuple[int, ...] = STARS) -> None:
        """Up to the moment before anything is sent."""
        self.rate(stars)
        self.step("Hide")
        self.page.get_by_role("radio", name=value, exact=True).check()
        self.step("What leaves")
        self.letters_are_written()

    def letters_are_written(self) -> None:
        """Both can be read."""
        self.letter("stars").locator(".balance").wait_for()
        self.letter("answers").locator(".bar button:enabled").wait_for()

    def letter(self, which: str) -> Any:
        """The letter with the stars, or the one with the answers."""
        name = {"stars": "Your stars, disguised", "answers": "A few answers, by coin toss"}[which]
        return self.page.get_by_role("article", name=name)

    def button(self) -> Any:
        """What sends the answers."""
        return self.letter("answers").get_by_role("button", name="Send these")

    def allow(self) -> None:
        """Letters with disguised stars may leave from now on."""
        self.page.get_by_role("switch").check()
        self.letter("stars").get_by_text("The next letter leaves on").wait_for()

    def pass_by(self, time: str = "30:01") -> None:
        """Let time go by, at which whatever is due happens."""
        self.page.clock.fast_forward(time)

    def send(self, which: str) -> Request:
        """Send the answers, or wait for the first letter; gives the request that carried it."""
        if which == "stars" and not self.page.get_by_role("switch").is_checked():
            self.allow()
        path = {"stars": "/letters", "answers": "/reports"}[which]
        with self.page.expect_request(lambda request: request.url.endswith(path)) as carried:
            self.pass_by() if which == "stars" else self.button().click()
        request: Request = carried.value
        answer = request.response()
        assert answer is not None
        assert answer.ok
        done = {"stars": "The latest letter left on", "answers": "Sent on"}[which]
        self.letter(which).get_by_text(done).wait_for()
        return request

    def adopt(self, code: str) -> None:
        """Become the visitor of a code."""
        self.step("Your list")
        self.page.get_by_label("I have a code").fill(code)
        with self.page.expect_navigation():
            self.page.get_by_role("button", name="Use it").click()
        self.page.wait_for_selector(".progress")
        self.step("Rate")


Begin = Callable[..., Visit]


@pytest.fixture
def visit(visiting: Callable[[], AbstractContextManager[Begin]]) -> Iterator[Begin]:
    """Opens browsers; what Playwright's `new_context` takes may be given."""
    with visiting() as begin:
        yield begin


@pytest.fixture(scope="module")
def visiting(browser: Browser, served: Served) -> Callable[[], AbstractContextManager[Begin]]:
    """`with visiting() as visit:`, for fixtures that many tests share."""

    @contextmanager
    def opening() -> Iterator[Begin]:
        visits: list[Visit] = []

        def begin(*, width: int = 1280, path: str = "/", **options: Any) -> Visit:
            given = {"reduced_motion": "reduce", "locale": "en-GB", **options}
            context = browser.new_context(viewport={"width": width, "height": 800}, **given)
            visits.append(_open(context, served.address, path))
            return visits[-1]

        yield begin
        complaints = [each for one in visits for each in one.complaints]
        for one in visits:
            one.context.close()
        assert complaints == []

    return opening


def _open(context: BrowserContext, address: str, path: str) -> Visit:
    context.set_default_timeout(300_000)
    context.add_init_script(NOTICE)
    page = context.new_page()
    page.clock.install()
    opened = Visit(page, context, address)
    page.on("request", lambda request: _is_icon(request) or opened.sent.append(request))
    page.on("console", lambda message: opened.complaints.append(message.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.goto(address + path)
    return opened


def _is_icon(request: Request) -> bool:
    """The page's icon, which a browser fetches when it likes, if at all."""
    return "/assets/icon-" in request.url
