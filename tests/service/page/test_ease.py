"""Whoever comes: with a keyboard alone, a phone, a screen reader, in the dark, without scripts."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

AXE = Path("client/page/node_modules/axe-core/axe.min.js")
LOUD = ("serious", "critical", "of WCAG 2.2 AA")
JUDGED = """async () => {
  const { passes, violations } = await axe.run(document);
  const wcag = ({ tags }) => tags.some((tag) => /^wcag2(1|2)?a{1,2}$/.test(tag));
  const found = violations.map((one) => [one.id, wcag(one) ? "of WCAG 2.2 AA" : one.impact]);
  return { passes: passes.length, violations: found };
}"""
MOVED = """
window.moved = [];
new PerformanceObserver((list) => {
  for (const { sources } of list.getEntries())
    for (const { node, previousRect, currentRect } of sources)
      if (node?.nodeType !== Node.TEXT_NODE && previousRect.y !== currentRect.y)
        window.moved.push(node?.textContent ?? "removed since");
}).observe({ type: "layout-shift", buffered: true });
"""
SLOW = """
const ask = window.fetch;
window.fetch = async (...asked) => {
  const answer = await ask(...asked);
  await document.documentElement.animate([], 200).finished;
  return answer;
};
"""
"""Each answer comes after frames that were shown without it, on any machine."""


@pytest.fixture(scope="module")
def axe(missing: Any, request: pytest.FixtureRequest) -> str:
    """axe-core's script."""
    file = request.config.rootpath / AXE
    if not file.is_file():
        missing("axe-core is not installed: run `make page` (needs Node 20)")
    return file.read_text("utf-8")


def focused(person: Any) -> str:
    """What has the focus: its text, or its label."""
    found: str = person.page.evaluate(
        "document.activeElement.innerText || document.activeElement.closest('label')?.innerText"
    )
    return found.strip()


def headed(person: Any) -> str:
    """The heading that got the focus, when a step has changed."""
    person.page.locator("h1:focus").wait_for()
    return focused(person)


def tab_to(person: Any, text: str) -> None:
    """Press Tab until something with this text has the focus."""
    for _ in range(120):
        person.page.keyboard.press("Tab")
        if text in focused(person):
            return
    raise AssertionError(f"the keyboard does not come to: {text}")


def test_a_visit_needs_no_mouse(visit):
    """Stars by arrow keys, an answer and the switch by the space bar, the answers by Enter."""
    person = visit()
    keyboard = person.page.keyboard
    person.page.wait_for_selector(".films")
    tab_to(person, "1 of 5 stars")
    for place in range(5):
        keyboard.press("Space")
        for _ in range(place):
            keyboard.press("ArrowRight")
        if place < 4:
            tab_to(person, "1 of 5 stars")
    given = person.page.locator(".stars input:checked")
    assert [given.nth(n).get_attribute("value") for n in range(5)] == list("12345")
    tab_to(person, "Next: your list")
    keyboard.press("Enter")
    assert headed(person) == "For you"
    person.page.locator(".list h2").nth(9).wait_for()
    person.page.wait_for_load_state("networkidle")  # a link that is drawn anew loses the focus
    tab_to(person, "what that takes")
    keyboard.press("Enter")
    assert headed(person) == "What should stay yours?"
    tab_to(person, "female")
    keyboard.press("Space")
    tab_to(person, "Next: what leaves")
    keyboard.press("Enter")
    assert headed(person) == "What leaves, if you allow it"
    person.letters_are_written()
    tab_to(person, "Allow this page")
    keyboard.press("Space")
    person.letter("stars").get_by_text("The next letter leaves on").wait_for()
    tab_to(person, "Send these")
    keyboard.press("Enter")
    person.letter("answers").get_by_text("Sent on").wait_for()


def test_a_heading_that_is_drawn_anew_keeps_the_focus(visit):
    """A step that is asked for while everything is still being fetched: the heading of the wait
    has the focus, and hands it to the heading that takes its place."""
    person = visit()
    person.page.wait_for_selector(".films")
    person.page.route("**/api/models", lambda route: None)  # never answered
    person.page.reload()
    person.page.get_by_text("Fetching what is on offer").wait_for()
    person.page.evaluate("location.hash = 'list'")
    assert headed(person) == "One moment"
    person.page.evaluate(
        """() => {
          const old = document.querySelector("h1");
          const made = old.cloneNode(true);
          made.textContent = "Drawn anew";
          old.replaceWith(made);
        }"""
    )
    assert headed(person) == "Drawn anew"


def test_stars_can_be_taken_back(visit):
    """The button that does it hands the focus to the stars, and goes."""
    person = visit()
    person.rate((3,))
    person.page.get_by_role("button", name="Take back your stars").click()
    assert person.page.locator("input:checked").count() == 0
    assert focused(person) == "1 of 5 stars"


def test_the_skip_button_leads_past_the_head_of_the_page(visit):
    """It is the first thing that Tab comes to."""
    person = visit()
    person.page.wait_for_selector(".films")
    person.page.keyboard.press("Tab")
    assert focused(person) == "Skip to the content"
    person.page.keyboard.press("Enter")
    assert headed(person) == "Which films do you know?"


def everywhere(person: Any, operator: str) -> Any:
    """Goes through all views; yields each one's name."""
    person.page.wait_for_selector(".films")
    yield "rate"
    person.returning()
    for summary in person.page.locator("summary").all():
        summary.click()
    yield "send"
    person.send("answers")
    person.step("Hide")
    person.page.wait_for_selector(".traces")
    yield "hide"
    person.step("What leaves")
    person.letters_are_written()
    person.send("stars")
    yield "sent"
    person.step("Your list")
    person.page.wait_for_selector(".by-letter .list")
    person.page.get_by_role("button", name="Show my code").click()
    yield "list"
    person.page.get_by_role("button", name="Delete everything").click()
    yield "dialog"
    person.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    person.page.wait_for_selector(".receipt")
    yield "receipt"
    person.page.get_by_role("link", name="Operator").click()
    person.page.get_by_label("Operator's key").fill(operator)
    yield "door"
    person.page.get_by_role("button", name="Open").click()
    for part in (".health", ".runs"):
        person.page.wait_for_selector(part)
    for summary in person.page.locator("summary").all():
        summary.click()
    yield "operator"


@pytest.mark.parametrize("width", [320, 360])
def test_nothing_is_wider_than_a_phone(visit, served, width):
    """No view scrolls sideways, with everything opened."""
    person = visit(width=width, has_touch=True)
    wide = [
        name
        for name in everywhere(person, served.operator)
        if person.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    ]
    assert wide == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_nothing_serious(visit, served, axe, scheme, width):
    """WCAG 2.2 AA as far as a program can judge it, contrast included, in every view."""
    person = visit(width=width, color_scheme=scheme, bypass_csp=True)
    found = {}
    for name in everywhere(person, served.operator):
        person.page.evaluate(axe)
        judged = person.page.evaluate(JUDGED)
        assert judged["passes"] > 10
        found[name] = [rule for rule, impact in judged["violations"] if impact in LOUD]
    assert found == {name: [] for name in found}


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_jumps_while_the_page_is_read(visit, width):
    """While answers are slow to come, nothing that is shown moves up or down, on a screen that
    shows all of the page."""
    person = visit(width=width)
    person.page.set_viewport_size({"width": width, "height": 6000})
    person.context.add_init_script(SLOW + MOVED)
    person.returning()
    person.send("stars")
    person.send("answers")
    assert person.page.evaluate("window.moved") == []
    person.page.reload()  # letters are allowed by now
    person.letters_are_written()
    person.step("Your list")
    person.page.wait_for_selector(".yours")
    assert person.page.evaluate("window.moved") == []


def test_without_scripts_the_page_says_what_to_do(visit):
    """One sentence instead of an empty page."""
    person = visit(java_script_enabled=False)
    assert "Switch JavaScript on" in person.page.locator("noscript").inner_text()


def test_the_operator_sees_budgets_and_guarantees(visit, served):
    """Budgets as they stand, and every card's sentence."""
    person = visit()
    person.returning()
    person.send("answers")
    person.page.get_by_role("link", name="Operator").click()
    person.page.get_by_label("Operator's key").fill(served.operator)
    person.page.get_by_role("button", name="Open").click()
    table = person.page.get_by_role("region", name="Budgets, a wide table").get_by_role("table")
    table.wait_for()
    assert "epsilon, in nats" in table.inner_text()
    assert "visitor-" in table.inner_text()
    person.page.wait_for_selector(".guarantees > li")
    with urllib.request.urlopen(f"{served.address}/api/guarantees") as answer:
        promised = json.load(answer)["guarantees"]
    shown = person.page.locator(".guarantees > li > .promise").all_inner_texts()
    assert shown == [one["sentence"] for one in promised]


def test_the_operators_key_is_kept_nowhere(visit, served):
    """Not by the browser, and not in the page after a reload."""
    person = visit(path="/#operator")
    person.page.get_by_label("Operator's key").fill(served.operator)
    person.page.get_by_role("button", name="Open").click()
    person.page.wait_for_selector(".health")
    kept = person.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert served.operator not in kept
    assert person.context.cookies() == []
    person.page.reload()
    assert person.page.get_by_label("Operator's key").input_value() == ""


def test_a_key_that_nobody_has_is_refused_in_a_sentence(visit):
    """In the words of the service, where the key is asked for."""
    person = visit(path="/#operator")
    person.page.get_by_label("Operator's key").fill("tacit_operator_none")
    person.page.get_by_role("button", name="Open").click()
    trouble = person.page.get_by_role("alert")
    trouble.wait_for()
    assert trouble.inner_text() == "Nobody is known by this key."
    person.complaints.clear()  # the browser's own line about the 401


def test_the_operator_is_told_whether_the_log_agrees_with_its_tables(visit, served):
    """What the service's replay of the log found, in a sentence."""
    person = visit(path="/#operator")
    person.page.get_by_label("Operator's key").fill(served.operator)
    person.page.get_by_role("button", name="Open").click()
    person.page.locator(".health", has_text="the log agrees with every table").wait_for()
