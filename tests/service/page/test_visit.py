"""A visit from the first star to the receipt, in a real browser at a real service."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tacit.recommenders.standard_scheme.device import Device
from tacit.recommenders.standard_scheme.messages import Disclosure, Release, Scores

KNOWN = {
    "tacit.stars": "[[1,5],[2,4],[3,1],[4,2],[5,3]]",
    "tacit.values": '{"gender":{"gender":"F"}}',
}
"""Of somebody who rated and answered before."""


@pytest.fixture(scope="module")
def disclosure(served: Any) -> Disclosure:
    with urllib.request.urlopen(f"{served.address}/api/disclosures/gender") as answer:
        return Disclosure.decode(answer.read())


def test_a_visit_ends_with_a_list_of_films_that_were_not_rated(visit):
    """Ten titles, none of which got stars."""
    person = visit()
    person.rate()
    rated = set(person.page.locator(".film h2").all_inner_texts()[:14])
    person.to_the_letters()
    person.send("stars")
    listed = person.page.locator(".list h2").all_inner_texts()
    assert len(set(listed)) == 10
    assert not rated & set(listed)
    assert not any(title.startswith("Film ") for title in listed)


def test_the_list_is_what_the_python_device_makes_of_the_same_answer(visit, disclosure):
    """Titles in the order of `Device.complete`."""
    person = visit()
    person.returning("M")
    carried = person.send("stars")
    answer = carried.response()
    completed = Device(disclosure, {"gender": "M"}, {}).complete(Scores.decode(answer.body()))
    rated = set(disclosure.items[:14])
    best = sorted((-stars, place) for place, stars in enumerate(completed.values()))
    items = [list(completed)[place] for _, place in best]
    expected = [item for item in items if item not in rated][:10]
    person.step("Rate")
    while person.page.get_by_role("button", name="Show more").count():
        person.page.get_by_role("button", name="Show more").click()
    titles = person.page.locator(".film h2").all_inner_texts()
    person.step("Your list")
    by_item = dict(zip(disclosure.items, titles, strict=True))
    assert person.page.locator(".list h2").all_inner_texts() == [by_item[i] for i in expected]


@pytest.mark.parametrize("which", ["stars", "answers"])
def test_the_bytes_that_are_shown_are_the_bytes_that_are_sent(visit, which):
    """The hexadecimal digits of a letter, read off the screen, are the request's body."""
    person = visit()
    person.returning()
    shown = "".join(person.letter(which).locator(".hex").all_inner_texts()).replace(" ", "")
    size = len(bytes.fromhex(shown))
    assert str(size) in person.button(which).inner_text()
    assert person.send(which).post_data_buffer == bytes.fromhex(shown)


def test_the_envelope_shows_the_headers_that_the_page_writes(visit):
    """Name and value of each, of the key its beginning."""
    person = visit()
    person.returning()
    letter = person.letter("stars")
    letter.get_by_text("The envelope around it").click()
    envelope = letter.locator(".envelope").inner_text()
    carried = person.send("stars")
    headers = carried.all_headers()
    assert carried.url in envelope
    assert headers["idempotency-key"] in envelope
    assert headers["authorization"][:28] in envelope
    assert headers["authorization"] not in envelope


def test_what_is_said_of_each_film_is_what_the_release_says(visit, disclosure):
    """Titles and stars beside the bytes, against the decoded release."""
    person = visit()
    person.returning()
    told = person.letter("stars").locator("tbody tr").all_inner_texts()
    release = Release.decode(person.send("stars").post_data_buffer)
    for (item, level), row in zip(release.ratings, told[3:-1], strict=True):
        stars = 1 + level // 1_000_000
        assert f"[{item},{level}]" in row
        assert f": {stars} star" in row


def test_the_guarantee_is_one_sentence_with_the_card_behind_it(visit, served):
    """The sentence of the interface; what is not covered is told when the card is opened."""
    person = visit()
    person.returning()
    with urllib.request.urlopen(f"{served.address}/api/guarantees/disclosures/gender") as answer:
        promised = json.load(answer)
    shown = person.letter("stars").locator(".guarantee")
    assert shown.locator(".basis").first.inner_text() == promised["first_line"]
    assert shown.locator(".promise").inner_text() == promised["sentence"]
    uncovered = promised["cards"][0]["not_covered"][0]
    assert not shown.get_by_text(uncovered).is_visible()
    shown.locator("summary").click()
    assert shown.get_by_text(uncovered).is_visible()


def test_an_answer_by_coin_toss_is_charged_to_the_visitors_budget(visit):
    """Nothing before, the campaign's epsilon after."""
    person = visit()
    person.returning()
    person.send("answers")
    person.step("Your list")
    budget = person.page.locator(".panel", has_text="Your budget")
    assert "1 of 4" in budget.locator(".amount").inner_text()


def test_deleting_everything_gives_a_receipt_and_leaves_nothing_in_the_browser(visit):
    """After it the browser keeps nothing, and the next visitor is another one."""
    person = visit()
    person.returning()
    person.send("stars")
    before = person.page.evaluate("localStorage.getItem('tacit.code')")
    person.page.get_by_role("button", name="Delete everything").click()
    person.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    person.page.get_by_role("heading", name="Deleted").wait_for()
    receipt = person.page.locator(".receipt").inner_text()
    assert "the ratings that you gave" in receipt
    assert "nothing is ever refunded" in receipt
    assert person.page.evaluate("localStorage.length") == 0
    assert person.page.evaluate(KEPT) == 0
    person.page.get_by_role("button", name="Begin anew").click()
    person.page.wait_for_selector(".films")
    assert person.page.locator("input:checked").count() == 0
    assert person.page.evaluate("localStorage.getItem('tacit.code')") != before


KEPT = """async () => {
  let found = 0;
  for (const { name } of await indexedDB.databases()) {
    const database = await new Promise((done) => {
      const asked = indexedDB.open(name);
      asked.onsuccess = () => done(asked.result);
    });
    for (const store of database.objectStoreNames) {
      found += await new Promise((done) => {
        const asked = database.transaction(store).objectStore(store).count();
        asked.onsuccess = () => done(asked.result);
      });
    }
    database.close();
  }
  return found;
}"""
"""How many entries all of this browser's databases have."""


def test_an_answer_that_is_changed_after_sending_is_refused_in_a_sentence(visit):
    """Two releases under two answers could tell which is true."""
    person = visit()
    person.to_the_letters("female")
    person.send("stars")
    person.step("Hide")
    person.page.get_by_role("radio", name="male", exact=True).check()
    person.step("What leaves")
    refused = person.letter("stars").get_by_role("alert")
    refused.wait_for()
    assert refused.inner_text().startswith("Your device refuses: it has sent these stars")
    assert person.button("stars").count() == 0


def test_looking_at_a_letter_draws_nothing_that_lasts(visit):
    """Before anything is sent, another answer is as good as the first."""
    person = visit()
    person.to_the_letters("female")
    person.step("Hide")
    person.page.get_by_role("radio", name="male", exact=True).check()
    person.step("What leaves")
    person.page.wait_for_selector(".letter .parts")
    person.send("stars")


def test_a_service_that_does_not_answer_is_a_sentence_and_trying_again_works(visit):
    """The second try carries the same bytes under the same key."""
    person = visit()
    person.returning()
    person.page.route("**/profiles", lambda route: route.abort(), times=1)
    with person.page.expect_request("**/profiles") as lost:
        person.button("stars").click()
    trouble = person.letter("stars").get_by_role("alert")
    trouble.wait_for()
    assert trouble.inner_text().startswith("The service does not answer.")
    person.complaints.clear()  # the browser's own line about the lost request
    again = person.send("stars")
    assert again.post_data_buffer == lost.value.post_data_buffer
    assert again.all_headers()["idempotency-key"] == lost.value.headers["idempotency-key"]


def test_a_problem_of_the_service_is_shown_in_its_own_words(visit):
    """The detail of a problem, as it came."""
    person = visit()
    person.returning()
    problem = {"title": "Not now", "status": 409, "detail": "Not while the sun shines."}
    person.page.route(
        "**/profiles",
        lambda route: route.fulfill(
            status=409, content_type="application/problem+json", body=json.dumps(problem)
        ),
    )
    person.button("stars").click()
    trouble = person.letter("stars").get_by_role("alert")
    trouble.wait_for()
    assert trouble.inner_text() == "Not while the sun shines."
    person.complaints.clear()


def test_where_visitors_are_not_let_in_the_page_says_so(visit):
    """The letters are written and shown; none can be sent."""
    person = visit()
    person.page.route("**/api/visitors", lambda route: route.fulfill(status=404, body="{}"))
    person.page.evaluate(
        f"Object.assign(localStorage, {json.dumps(KNOWN)}); location.hash = 'send'"
    )
    person.page.reload()
    trouble = person.letter("stars").get_by_role("alert")
    trouble.wait_for()
    assert trouble.inner_text().startswith("This service gives no keys to visitors")
    assert person.button("stars").is_disabled()
    person.complaints.clear()


def test_over_an_insecure_connection_the_page_says_what_it_needs(visit):
    """Browsers withhold their cryptography there."""
    person = visit()
    script = "Object.defineProperty(window, 'isSecureContext', { value: false })"
    person.context.add_init_script(script)
    person.page.reload()
    trouble = person.page.get_by_role("alert")
    trouble.wait_for()
    assert "over https" in trouble.inner_text()


def test_a_browser_that_keeps_nothing_is_told_so(visit):
    """Without a kept code the same stars would be drawn anew at every visit."""
    person = visit()
    script = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"
    person.context.add_init_script(script)
    person.page.reload()
    trouble = person.page.get_by_role("alert")
    trouble.wait_for()
    assert trouble.inner_text().startswith("This browser keeps nothing for this page.")
