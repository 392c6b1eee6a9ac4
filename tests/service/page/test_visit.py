"""A visit from the first star to the receipt, in a real browser at a real service."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tacit.designs.private.device import DeviceLists
from tacit.designs.standard_scheme.device import Device
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.guarantees import ONLY_FOR
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import ItemTable, Release, Scores
from tests.support.seen import require_any

STARS = (5, 4, 1, 3, 5, 2, 4, 5, 4, 1, 3, 5, 2, 4)
"""Of the first films, in the page's order."""


@pytest.fixture(scope="module")
def fetched(served: Any) -> Any:
    def fetch(path: str) -> bytes:
        with urllib.request.urlopen(f"{served.address}/api/disclosures/gender{path}") as answer:
            data: bytes = answer.read()
        return data

    return fetch


@pytest.fixture(scope="module")
def disclosure(fetched: Any) -> Disclosure:
    return Disclosure.decode(fetched(""))


def titles(person: Any, disclosure: Disclosure) -> dict[Any, str]:
    """Of every item, as the page shows them."""
    person.step("Rate")
    films = person.page.locator(".film h2")
    films.first.wait_for()
    while films.count() < len(disclosure.items):
        before = films.count()
        person.page.get_by_role("button", name="Show more").click()
        films.nth(before).wait_for()
    shown = films.all_inner_texts()
    person.step("Your list")
    return dict(zip(disclosure.items, shown, strict=True))


RATED = (5, 4, 1, 3, 5, 2)


def test_the_first_list_is_made_here_of_the_released_model(visit, disclosure, served):
    """Titles in the order of the Python device; its card below; only public things are asked for,
    by addresses that are the same whatever the stars."""
    asked = []
    for stars in (RATED, tuple(6 - given for given in RATED)):
        person = visit()
        person.rate(stars)
        person.page.get_by_role("button", name="Next: your list").click()
        section = person.page.get_by_role("region", name="For you", exact=True)
        section.get_by_text("Nothing leaves this browser").wait_for()
        section.get_by_text("(1, 1e-06)-differentially private").first.wait_for()
        section.locator(".list h2").nth(9).wait_for()
        person.page.wait_for_load_state("networkidle")
        listed = section.locator(".list h2").all_inner_texts()
        with urllib.request.urlopen(f"{served.address}/api/models/lists/device") as answer:
            lists = DeviceLists.decode(answer.read())
        by_item = titles(person, disclosure)
        own = dict(zip(disclosure.items, map(float, stars), strict=False))
        assert listed == [by_item[item] for item, _ in lists.rank(own)]
        assert {request.method for request in person.sent} == {"GET"}
        assert not any(request.post_data_buffer for request in person.sent)
        # A set: the card may be drawn, and so fetched, once more while the page loads.
        asked.append({request.url for request in person.sent})
    assert asked[0] == asked[1]


def test_before_any_star_the_list_is_the_models_popular_films(visit, served):
    """And the page says so."""
    person = visit()
    person.page.wait_for_selector(".films")
    person.step("Your list")
    section = person.page.get_by_role("region", name="For you", exact=True)
    section.get_by_text("These are popular films").wait_for()
    assert section.locator(".list h2").count() == 10


def test_a_damaged_model_leaves_the_other_ways_to_a_list(visit):
    """One byte changed on the way: the model is not used, and the table's list comes first."""
    person = visit()

    def damaged(route: Any) -> None:
        body = bytearray(route.fetch().body())
        body[len(body) // 2] ^= 1
        route.fulfill(body=bytes(body))

    person.page.route("**/api/models/lists/device?*", damaged)
    person.page.reload()
    person.rate(RATED)
    person.step("Your list")
    person.page.get_by_role("heading", name="For you", level=1).wait_for()
    person.page.get_by_text("which films go together").wait_for()
    assert person.page.get_by_role("heading", level=1).count() == 1


def test_a_list_is_made_here_by_the_published_table(visit, disclosure, fetched):
    """Titles in the order of `ItemTable.rank`; nothing but public things was asked for."""
    person = visit()
    person.rate(RATED)
    person.page.get_by_role("button", name="Next: your list").click()
    section = person.page.get_by_role("region", name="By the table of films that go together")
    section.get_by_text("Nothing leaves this browser").wait_for()
    listed = section.locator(".list h3").all_inner_texts()
    levels = {item: given - 1 for item, given in zip(disclosure.items, (5, 4, 1, 3, 5, 2))}  # noqa: B905
    table = ItemTable.decode(fetched("/item-table"))
    by_item = titles(person, disclosure)
    assert listed == [by_item[item] for item, _ in table.rank(disclosure.items, levels)[:10]]
    assert {request.method for request in person.sent} == {"GET"}


def test_without_an_item_table_the_list_comes_with_the_first_letter(visit, disclosure, fetched):
    """Until then there is the one of everybody, less what was rated; no letter is sent for it."""
    person = visit()
    person.page.route("**/api/disclosures", lambda route: without_table(route))
    person.returning()
    person.step("Your list")
    person.page.get_by_role("heading", name="What most people like").wait_for()
    liked = [item for item in json.loads(fetched("/popular"))["items"] if item > len(STARS)]
    section = person.page.get_by_role("region", name="What most people like")
    listed = section.locator(".list h3").all_inner_texts()
    by_item = titles(person, disclosure)
    assert listed == [by_item[item] for item in liked[:10]]
    assert {request.method for request in person.sent} == {"GET"}
    person.step("What leaves")
    person.letters_are_written()
    person.send("stars")
    person.step("Your list")
    person.page.locator("[aria-labelledby=by-letter] .list h3").nth(9).wait_for()


def without_table(route: Any) -> None:
    content = route.fetch().json()
    for one in content["disclosures"]:
        one["item_table"] = False
    route.fulfill(json=content)


def test_the_list_by_letter_is_what_the_python_device_makes_of_the_same_answer(visit, disclosure):
    """Titles by preference, with the stars of `Device.complete`; after a reload it is still there,
    and nothing was asked for it."""
    person = visit()
    person.returning("M")
    answer = person.send("stars").response()
    scores = Scores.decode(answer.body())
    device = Device(disclosure, {"gender": "M"}, State(created=0), bytes(32))
    completed = device.complete(scores)
    ranked = sorted(scores.scores, key=lambda score: -score[2])
    rated = set(disclosure.items[:14])
    expected = [item for item, _, _ in ranked if item not in rated][:10]
    by_item = titles(person, disclosure)
    for _ in range(2):
        listed = person.page.locator("[aria-labelledby=by-letter] .list li")
        assert listed.locator("h3").all_inner_texts() == [by_item[item] for item in expected]
        about = [f"about {completed[item]:.1f}" for item in expected]
        assert listed.locator(".about").all_inner_texts() == about
        person.sent.clear()
        person.page.reload()
        person.page.wait_for_selector("[aria-labelledby=by-letter] .list")
        asked = [request.url for request in person.sent if request.method != "GET"]
        assert all("letters" not in url for url in asked)


@pytest.mark.parametrize("which", ["stars", "answers"])
def test_the_bytes_that_are_shown_are_the_bytes_that_are_sent(visit, which):
    """The hexadecimal digits of a letter, read off the screen, are the request's body."""
    person = visit()
    person.returning()
    person.letter(which).get_by_text("Every byte of it").click()
    shown = "".join(person.letter(which).locator(".hex").all_inner_texts()).replace(" ", "")
    size = len(bytes.fromhex(shown))
    assert f"{size} bytes" in person.letter(which).locator("caption").inner_text()
    assert person.send(which).post_data_buffer == bytes.fromhex(shown)


def test_the_envelope_shows_what_the_page_writes(visit):
    """Name and value of each header but the key, and the token that goes right before."""
    person = visit()
    person.returning()
    letter = person.letter("stars")
    letter.get_by_text("The envelope around it").click()
    envelope = letter.locator(".envelope").inner_text()
    carried = person.send("stars")
    headers = carried.all_headers()
    token = next(r.post_data for r in person.sent if r.url.endswith("/api/visitors"))
    assert token in envelope
    assert carried.url in envelope
    assert headers["idempotency-key"] in envelope
    assert headers["authorization"].removeprefix("Bearer ") not in envelope


def test_what_is_said_of_each_film_is_what_the_release_says(visit):
    """Titles and stars beside the bytes, against the decoded release."""
    person = visit()
    person.returning()
    person.letter("stars").get_by_text("Every byte of it").click()
    rows = person.letter("stars").locator("tbody tr").all_inner_texts()
    release = Release.decode(person.send("stars").post_data_buffer)
    for (item, level), row in zip(require_any(release.ratings), rows[4:-1], strict=True):
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
    budget.get_by_role("button").click()
    budget.locator(".amount").wait_for()
    said = budget.inner_text()
    assert said.index("You have used a quarter") < said.index("1 of 4")


def delete(person: Any) -> str:
    """Everything; gives the receipt."""
    person.step("Your list")
    person.page.get_by_role("button", name="Delete everything").click()
    person.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    person.page.get_by_role("heading", name="Deleted").wait_for()
    receipt: str = person.page.locator(".lead").inner_text()
    return receipt


def test_after_deleting_everything_the_browser_keeps_the_numbers_of_films_alone(visit):
    """No star, no code; the films are frozen, and the next visitor is another one."""
    person = visit()
    person.returning()
    person.send("stars")
    before = person.page.evaluate("localStorage.getItem('tacit.code')")
    receipt = delete(person)
    assert "the ratings that you gave" in receipt
    assert "nothing is ever refunded" in receipt
    kept = person.page.evaluate("({ ...localStorage })")
    assert sorted(json.loads(kept.pop("tacit.frozen"))) == list(range(1, 15))
    assert kept == {}
    assert person.page.evaluate(KEPT) == 0
    person.page.get_by_role("button", name="Begin anew").click()
    person.page.wait_for_selector(".films")
    assert person.page.locator("input:checked").count() == 0
    assert person.page.evaluate("localStorage.getItem('tacit.code')") != before


def test_a_new_visitor_here_never_sends_the_films_of_the_earlier_one(visit):
    """Two first decisions about one film would be two draws."""
    person = visit()
    person.returning()
    person.send("stars")
    delete(person)
    person.page.get_by_role("button", name="Begin anew").click()
    person.to_the_letters(stars=STARS + (5,) * 8)
    assert set(dict(Release.decode(person.send("stars").post_data_buffer).ratings)) <= set(
        range(15, 23)
    )


def test_deleting_where_nothing_was_sent_asks_for_nothing(visit):
    """The service had nothing of this visitor, and hears nothing of the wish."""
    person = visit()
    person.returning()
    receipt = delete(person)
    assert "Nothing was ever sent" in receipt
    assert {request.method for request in person.sent} == {"GET"}
    assert person.page.evaluate("localStorage.length") == 0


def test_a_letter_whose_answer_was_lost_is_deleted_at_the_service(visit):
    """The service took it, and the page never heard of that."""
    person = visit()
    person.returning()
    person.allow()
    person.page.route("**/letters", lose_the_answer)
    person.pass_by()
    person.letter("stars").get_by_role("alert").wait_for()
    person.complaints.clear()  # the browser's own line about the lost answer
    assert "the ratings that you gave" in delete(person)
    assert person.sent[-1].method == "DELETE"


def lose_the_answer(route: Any) -> None:
    assert route.fetch().ok
    route.abort()


def second_tab(person: Any, path: str) -> Any:
    """Of the same browser, at a step."""
    page = person.context.new_page()
    page.goto(f"{person.address}/{path}")
    page.locator("h1:visible").wait_for()
    return page


def test_a_letter_holds_what_was_rated_in_another_tab(visit):
    """Both tabs show it at once, and neither writes its older ratings over it."""
    person = visit()
    person.to_the_letters(stars=STARS[:4])
    other = second_tab(person, "#rate")
    for place in range(4, 14):
        other.get_by_role("radiogroup").nth(place).get_by_role("radio").nth(4).check()
    other.close()
    person.step("Rate")
    person.page.locator("input:checked").nth(13).wait_for(state="attached")
    assert person.page.locator("input:checked").count() == 14
    person.rate(STARS[:4])
    person.step("What leaves")
    person.letters_are_written()
    sent = dict(Release.decode(person.send("stars").post_data_buffer).ratings)
    assert len(set(sent) - {1, 2, 3, 4}) > 5


def test_what_another_tab_forbids_does_not_leave(visit):
    """The permission is read again before each letter."""
    person = visit()
    person.returning()
    person.allow()
    other = second_tab(person, "#send")
    other.get_by_role("switch").uncheck()
    other.close()
    person.letter("stars").get_by_text("Off: nothing leaves.").wait_for()
    person.pass_by("48:00:00")
    assert {request.method for request in person.sent} == {"GET"}


def test_a_code_that_another_tab_takes_is_that_of_every_tab(visit):
    """Else letters would leave under two names from one browser."""
    person = visit()
    person.returning()
    other = second_tab(person, "#list")
    other.get_by_label("I have a code").fill("v" * 42 + "o")
    with person.page.expect_navigation(), other.expect_navigation():
        other.get_by_role("button", name="Use it").click()
    person.step("Your list")
    person.page.get_by_role("button", name="Show my code").click()
    assert person.page.locator(".code").inner_text() == "v" * 42 + "o"


def test_before_deleting_the_page_says_what_a_second_account_shows(visit):
    """Two draws."""
    person = visit()
    person.returning()
    person.step("Your list")
    person.page.get_by_role("button", name="Delete everything").click()
    said = person.page.get_by_role("dialog").inner_text()
    assert "rating the same films again on a new account shows two draws" in said


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


def test_under_another_answer_the_latest_letter_is_repeated(visit):
    """Nothing new is decided, the page says so, and a device that refuses is not seen outside."""
    person = visit()
    person.to_the_letters("female", STARS[:8])
    first = Release.decode(person.send("stars").post_data_buffer)
    person.step("Rate")
    person.rate(STARS)
    person.step("Hide")
    person.page.get_by_role("radio", name="male", exact=True).check()
    person.step("What leaves")
    person.letters_are_written()
    refused = person.letter("stars").get_by_role("alert")
    assert refused.inner_text().startswith("Nothing new is decided")
    with person.page.expect_request("**/letters") as carried:
        person.pass_by("24:00:00")
    second = Release.decode(carried.value.post_data_buffer)
    assert (first.epoch, second.epoch) == (0, 1)
    assert second.ratings == first.ratings


def test_looking_at_a_letter_decides_nothing_that_lasts(visit):
    """Before anything is sent, another answer is as good as the first."""
    person = visit()
    person.to_the_letters("female")
    person.step("Hide")
    person.page.get_by_role("radio", name="male", exact=True).check()
    person.step("What leaves")
    person.letters_are_written()
    assert person.letter("stars").get_by_role("alert").count() == 0
    person.send("stars")


def test_nothing_leaves_before_it_is_allowed_or_before_its_time(visit):
    """Not by rating, nor by waiting, nor in the first half hour; nor after a change of mind."""
    person = visit()
    person.to_the_letters()
    person.pass_by("48:00:00")
    person.allow()
    person.pass_by("29:00")
    person.page.get_by_role("switch").uncheck()
    person.pass_by("48:00:00")
    person.letter("stars").get_by_text("Off: nothing leaves.").wait_for()
    assert {request.method for request in person.sent} == {"GET"}


def test_an_answered_letter_is_not_sent_again(visit):
    """Neither by a reload nor by another tab; the next one is of another epoch."""
    person = visit()
    person.returning()
    person.send("stars")
    person.sent.clear()
    person.page.reload()
    person.letters_are_written()
    other = person.context.new_page()
    other.on("request", lambda request: person.sent.append(request))
    other.goto(f"{person.address}/#send")
    other.locator(".balance").wait_for()
    other.close()
    assert {request.method for request in person.sent} == {"GET"}
    with person.page.expect_request("**/letters") as carried:
        person.pass_by("24:00:00")
    assert Release.decode(carried.value.post_data_buffer).epoch == 1


def test_a_service_that_does_not_answer_is_a_sentence_and_the_same_bytes_are_tried_again(visit):
    """The second try carries the same bytes under the same key, whatever was rated since."""
    person = visit()
    person.returning()
    person.allow()
    person.page.route("**/letters", lambda route: route.abort(), times=1)
    with person.page.expect_request("**/letters") as lost:
        person.pass_by()
    trouble = person.letter("stars").get_by_role("alert")
    trouble.wait_for()
    assert trouble.inner_text().startswith("The service does not answer.")
    person.complaints.clear()  # the browser's own line about the lost request
    with person.page.expect_request("**/letters") as again:
        person.pass_by("05:01")
    trouble.wait_for(state="detached")
    assert again.value.post_data_buffer == lost.value.post_data_buffer
    assert again.value.headers["idempotency-key"] == lost.value.headers["idempotency-key"]


def test_a_problem_of_the_service_is_shown_in_its_own_words(visit):
    """The detail of a problem, as it came; a letter that is not taken is not tried again."""
    person = visit()
    person.returning()
    person.allow()
    problem = {"title": "Not now", "status": 409, "detail": "Not while the sun shines."}
    person.page.route(
        "**/letters",
        lambda route: route.fulfill(
            status=409, content_type="application/problem+json", body=json.dumps(problem)
        ),
    )
    person.pass_by()
    person.letter("stars").get_by_text("Not while the sun shines.").wait_for()
    person.letter("stars").get_by_text("was not taken").wait_for()
    person.complaints.clear()
    person.sent.clear()
    person.pass_by("06:00:00")
    assert not any(request.url.endswith("/letters") for request in person.sent)


def test_where_visitors_are_not_let_in_the_page_says_so(visit):
    """The letters are written and shown; none can be sent."""
    person = visit()
    person.page.route("**/api/visitors", lambda route: route.fulfill(status=404, body="{}"))
    person.returning()
    person.allow()
    person.pass_by()
    trouble = person.letter("stars").get_by_role("alert")
    trouble.wait_for()
    assert trouble.inner_text().startswith("This service gives no keys to visitors")
    person.complaints.clear()


def test_beside_the_switch_stands_who_may_use_it_and_what_was_measured(visit, served):
    """The card's sentence, which holds both, and what tells what was held back."""
    person = visit()
    person.returning()
    with urllib.request.urlopen(f"{served.address}/api/guarantees/disclosures/gender") as answer:
        promised = json.load(answer)
    said = person.page.locator(".consent").inner_text()
    assert promised["sentence"].startswith(ONLY_FOR)
    assert promised["sentence"] in said
    assert "Clicks in a list, looking films up" in said


def test_without_its_card_no_letter_can_be_allowed(visit):
    """Price and promise stand beside the switch, or there is none."""
    person = visit()
    person.page.route("**/api/guarantees/disclosures/*", lambda route: route.abort())
    person.returning()
    person.page.locator(".consent").get_by_role("alert").wait_for()
    assert person.page.get_by_role("switch").count() == 0
    person.complaints.clear()


def test_another_browser_with_the_code_sends_no_letters(visit):
    """The first one decides; the page of the second says so, and has no switch for letters."""
    person = visit()
    person.returning()
    person.step("Your list")
    person.page.get_by_role("button", name="Show my code").click()
    code = person.page.locator(".code").inner_text()
    other = visit()
    other.to_the_letters()
    other.adopt(code)
    other.step("What leaves")
    said = other.letter("stars").get_by_role("alert")
    said.get_by_text("Nothing new is decided or sent: another memory").wait_for()
    assert other.letter("stars").locator(".balance").count() == 0
    assert other.page.get_by_role("switch").count() == 0


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
    """Without a kept code and memory, films would be decided anew at every visit."""
    person = visit()
    script = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"
    person.context.add_init_script(script)
    person.page.reload()
    trouble = person.page.get_by_role("alert")
    trouble.wait_for()
    assert trouble.inner_text().startswith("This browser keeps nothing for this page.")


def test_price_and_promise_stand_beside_what_sends(visit):
    """In words before any number; the letter says whether its hiding was measured, and on what."""
    person = visit(width=390)
    person.returning()
    stars, answers = person.letter("stars"), person.letter("answers")
    assert "without a budget" in stars.locator(".price").inner_text()
    said = stars.locator(".measured").inner_text()
    assert said.startswith("Measured on 600 generated people in 5 folds, never proved: ")
    assert "57 times in 100, with 95 % confidence at most 64" in said
    assert " held back: every byte of it" in stars.inner_text()
    assert not stars.locator(".hex").first.is_visible()
    assert "a quarter of what you can ever spend" in answers.locator(".price").inner_text()
    assert not answers.locator(".hex").first.is_visible()


def test_the_bar_covers_nothing_on_a_phone(visit):
    """It lies below what it follows, at every place of the page."""
    person = visit(width=390)
    person.page.wait_for_selector(".films")
    above = "document.querySelector('.more, .films').getBoundingClientRect().bottom"
    bar = "document.querySelector('.bar').getBoundingClientRect().top"
    assert person.page.evaluate(f"{above} <= {bar}")


def test_the_receipt_begins_with_the_visitors_own_part(visit):
    """What this visitor sent is open; what else is served here is folded away."""
    person = visit()
    person.returning()
    person.send("answers")
    delete(person)
    receipt = person.page.locator(".receipt")
    assert "a report to the campaign taste" in receipt.inner_text()
    assert not receipt.get_by_text("the model 'films'").first.is_visible()
    receipt.locator("summary").click()
    assert receipt.get_by_text("the model 'films'").first.is_visible()
