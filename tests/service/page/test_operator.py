"""The operator's page: what it shows, and what it asks for."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tacit.service.resources.splits import describe_split
from tacit.service.splits import DayFigures, Split, SplitSettings


def opened(person, served):
    """The page with the key typed in."""
    person.page.get_by_label("Operator's key").fill(served.operator)
    person.page.get_by_role("button", name="Open").click()
    for part in (".health", ".runs"):
        person.page.wait_for_selector(part)


def panel(person, name):
    return person.page.get_by_role("region", name=name, exact=True).inner_text()


def test_what_an_operator_sees(visit, served):
    """Spending, refusals, the ledger, rounds and campaigns; before the key nothing is asked for,
    and afterwards the service alone, whose answers nobody may keep."""
    person = visit(path="/#operator", accept_downloads=True)
    person.page.get_by_label("Operator's key").wait_for()
    assert not any("/api/" in request.url for request in person.sent)
    person.page.get_by_label("Operator's key").fill("tacit_operator.wrong")
    person.page.get_by_role("button", name="Open").click()
    person.page.get_by_role("alert").wait_for()
    person.complaints.clear()  # the browser's own line about the 401
    opened(person, served)
    assert "an unknown address or key" in panel(person, "Refused, and why")
    assert "401: " in panel(person, "Refused, and why")
    assert "on the device or server of the ledger" in panel(person, "The ledger")
    assert "of 12 rounds opened" in panel(person, "Rounds and campaigns")
    assert "charged when a day is over" in person.page.inner_text("main")
    comparison = panel(person, "Private lists beside popular items")
    assert "The first figures come when the first day (UTC) is over." in comparison
    assert "epsilon 0.2 of one person a day, 5 in all, 25 days left" in comparison
    with person.page.expect_download() as download:
        person.page.get_by_role("button", name="Download the audit log").click()
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == list(range(1, len(lines) + 1))
    hosts = {urlsplit(request.url).netloc for request in person.sent if request.url[:4] == "http"}
    assert hosts == {urlsplit(served.address).netloc}


FIGURES = (
    ((1000, 240, 1000, 120), "Private lists are clicked by more people: 24.0 %"),
    ((1000, 120, 1000, 240), "Popular items are clicked by more people: 12.0 %"),
    ((1000, 121, 1000, 120), "No difference shows yet"),
    ((9, 2, -3, 1), "Too few people yet"),
)
"""Figures of a day, and how the page's sentence begins."""


@pytest.mark.parametrize(("figures", "sentence"), FIGURES)
def test_the_page_of_a_comparison_says_which_lists_are_clicked(visit, served, figures, sentence):
    """One sentence with rates and interval, and the figures of the day in a table."""
    day = DayFigures(date(2030, 5, 1), figures)
    split = Split("demo", "home", SplitSettings("lists"), Path())
    view = describe_split(split, [day]).model_dump()
    person = visit(path="/#operator")
    person.page.route("**/api/splits", lambda route: route.fulfill(json={"splits": [view]}))
    opened(person, served)
    person.page.get_by_text("2030-05-01").wait_for()
    comparison = panel(person, "Private lists beside popular items")
    assert sentence in comparison
    rows = person.page.get_by_role("region", name="Figures of home, a wide table")
    assert [int(cell) for cell in rows.locator("td").all_inner_texts()] == list(figures)
