"""The operator's page: what it shows, and what it asks for."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit


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
    assert "releases nothing about anyone" in person.page.inner_text("main")
    with person.page.expect_download() as download:
        person.page.get_by_role("button", name="Download the audit log").click()
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == list(range(1, len(lines) + 1))
    hosts = {urlsplit(request.url).netloc for request in person.sent if request.url[:4] == "http"}
    assert hosts == {urlsplit(served.address).netloc}
