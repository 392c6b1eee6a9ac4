"""The TypeScript client in a real browser: its randomness, its database, its tabs."""

from __future__ import annotations

import json

import pytest

from golden import client as golden
from golden import sketches as golden_sketches
from tacit.designs.sketches.messages import MICRO
from tests.support.seen import require_any

VECTORS = {
    "item-table.json": {"rankings": "ranking", "refused": "message"},
    "sketches.json": {"answers": "answer", "recommendations": "recommendation"},
    "sketches-refused.json": {"answers": "answer", "messages": "message"},
    "standard-scheme.json": {"releases": "release", "completions": "completion"},
    "standard-scheme-lives.json": {"lives": "life"},
    "standard-scheme-refused.json": {"releases": "release", "messages": "message"},
}
OUTCOMES = (
    *("report", "recommended", "releases", "predicted", "encoded", "error"),
    *("ranked", "said", "memory"),
)
CAMPAIGNS = [
    golden_sketches.asked(golden_sketches.TITLES, epsilon=1.0, seed=bytes([number]) * 16)
    for number in range(8)
]

ANSWER_ALL = """async ([name, vectors]) => {
  const made = await import("/test/vectors.js");
  return JSON.stringify(await Promise.all(vectors.map((vector) => made[name](vector))));
}"""
VISIT = """async ([campaigns, items, lifetime, shift]) => {
  const client = await import("/src/index.js");
  const { BrowserStore, fromHex, importSecret, newSecret, sketches, toHex } = client;
  const keys = new BrowserStore("ann secret");
  const key = await keys.runExclusively(async () => {
    const kept = (await keys.read()).get("key");
    if (kept !== undefined) return kept;
    const made = await importSecret(newSecret());
    await keys.write(new Map([["key", made]]));
    return made;
  });
  const device = new sketches.Device(key, new BrowserStore("ann sketches"), { lifetime });
  const stars = new Map(items.map((item, number) => [item, 1 + (number + shift) % 5]));
  const sent = await Promise.allSettled(campaigns.map(async (data) => {
    const campaign = sketches.Campaign.decode(fromHex(data));
    return toHex((await device.report(campaign, items, stars)).encode());
  }));
  const read = await crypto.subtle.exportKey("raw", key).then(() => "read", (error) => error.name);
  return { sent: sent.map((one) => one.value ?? one.reason.name), read };
}"""


@pytest.fixture(scope="module")
def chromium(chromium_path):
    """Playwright's handle of the installed browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium, {"executable_path": chromium_path, "args": ["--no-sandbox"]}


@pytest.fixture
def person(chromium, address, tmp_path):
    """Open a browser whose files outlast it; `person()` gives one more tab of a new browser."""
    browser, how = chromium
    opened = []

    def visit(tabs=1):
        context = browser.launch_persistent_context(str(tmp_path / "person"), **how)
        opened.append(context)
        pages = [context.new_page() for _ in range(tabs)]
        for page in pages:
            page.goto(address)
        return context, pages

    yield visit
    for context in opened:
        context.close()


@pytest.fixture(scope="module")
def page(chromium, address):
    """A tab of a browser that forgets."""
    browser, how = chromium
    running = browser.launch(**how)
    opened = running.new_page()
    opened.goto(address)
    yield opened
    running.close()


@pytest.mark.parametrize("name", VECTORS)
def test_golden(page, name):
    """What Python wrote into golden/ is what the client makes of it in the browser."""
    lists = json.loads((golden.FOLDER / name).read_text("ascii"))
    for part, how in VECTORS[name].items():
        found = json.loads(page.evaluate(ANSWER_ALL, [how, lists[part]]))
        for life in lists[part] if how == "life" else ():
            life["said"] = [
                {key: step[key] for key in ("letter", "told")} for step in life["steps"]
            ]
        expected = [{key: one[key] for key in OUTCOMES if key in one} for one in lists[part]]
        for made in found:
            made.pop("says", None)
        assert found == require_any(expected)


def test_two_visits_send_the_same_bytes(person):
    """The key and the answers outlast the browser; no script reads the key; stars have changed."""
    asked = [CAMPAIGNS[0].encode().hex()]
    visits = []
    for shift in range(2):
        context, [tab] = person()
        visits.append(tab.evaluate(VISIT, [asked, golden_sketches.TITLES, 4, shift]))
        context.close()
    assert visits[0] == visits[1]
    assert visits[0]["read"] == "InvalidAccessError"
    assert len(visits[0]["sent"][0]) == 44


def test_tabs_keep_the_limit_together(person):
    """Two tabs, asked for eight times epsilon 1 at the same moment, give the lifetime's 3."""
    assert {campaign.epsilon for campaign in CAMPAIGNS} == {MICRO}
    context, tabs = person(tabs=2)
    every = [campaign.encode().hex() for campaign in CAMPAIGNS]
    halves = [every[:4], every[4:]]
    for tab, half in zip(tabs, halves, strict=True):
        tab.evaluate(
            f"(given) => {{ window.visit = ({VISIT})(given); }}",
            [half, golden_sketches.TITLES, 3, 0],
        )
    sent = [one for tab in tabs for one in tab.evaluate("() => window.visit")["sent"]]
    context.close()
    assert sum(len(one) == 44 for one in sent) == 3
    assert sent.count("Refused") == 5
