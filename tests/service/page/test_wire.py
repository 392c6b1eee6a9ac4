"""What the network sees of a visit: two letters, and otherwise the same for everybody."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from typing import Any

import pytest

from tacit.designs.standard_scheme.device import Device
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import MICRO, Release

CODE = "v" * 42 + "o"
"""A visitor whose device holds films back and moves stars, when they are rated as below."""
STARS = (5, 4, 1, 3, 5, 2, 4, 5, 4, 1, 3, 5, 2, 4)
LETTERS = ("/letters", "/reports")


def everything(person: Any) -> list[tuple[str, str, str, bytes]]:
    """Each request: method, address, headers and body; in an order that timing does not change."""
    return sorted(
        (
            request.method,
            request.url,
            json.dumps(dict(sorted(request.all_headers().items()))),
            request.post_data_buffer or b"",
        )
        for request in person.sent
    )


def answer_letters(person: Any, scores: bytes) -> None:
    """In the service's place, as if this account had sent no letter yet."""
    person.page.route("**/latest", lambda route: route.fulfill(json={"latest": -1}))
    person.page.route("**/letters", lambda route: route.fulfill(body=scores))


def whole_visit(
    visit: Any, value: str = "F", stars: tuple[int, ...] = STARS, *, scores: bytes | None = None
) -> Any:
    """Loading the page, both letters, the lists and the budget, as the visitor of CODE.

    scores: the answer to the letter with stars, where it and the report do not come to the service:
    that takes one of each from each person.
    """
    person = visit()
    if scores is not None:
        person.page.route("**/reports", lambda route: route.fulfill(json={"counted": True}))
        answer_letters(person, scores)
    person.returning(value, stars, CODE)
    person.send("answers")
    person.send("stars")
    person.step("Your list")
    budget = person.page.locator(".panel", has_text="Your budget")
    budget.get_by_role("button").click()
    budget.locator(".amount, .none").wait_for()
    return person


def letter(person: Any) -> Any:
    """The request that carried the stars."""
    return next(request for request in person.sent if request.url.endswith("/letters"))


@pytest.fixture(scope="module")
def other_stars() -> tuple[int, ...]:
    return tuple(6 - given for given in STARS)


@pytest.fixture(scope="module")
def person(visiting):
    """After a whole visit."""
    with visiting() as visit:
        yield whole_visit(visit)


def test_only_the_service_itself_is_asked(person):
    """Every request of a whole visit goes to the page's own address."""
    assert {request.url.startswith(person.address + "/") for request in person.sent} == {True}


@pytest.fixture(scope="module")
def scores(person: Any) -> bytes:
    """The service's answer to the letter."""
    answer = letter(person).response()
    assert answer is not None
    body: bytes = answer.body()
    return body


def test_whatever_the_attribute_and_the_stars_all_but_the_letters_is_equal(
    visit, other_stars, scores
):
    """Addresses, headers and bodies of all other requests, compared between four visits."""
    visits = [
        everything(whole_visit(visit, value, stars, scores=scores))
        for value in ("F", "M")
        for stars in (STARS, other_stars)
    ]
    rest = [[one for one in each if not one[1].endswith(LETTERS)] for each in visits]
    assert len(rest[0]) > 10
    assert rest[0] == rest[1] == rest[2] == rest[3]
    # And of the letters, all but their bytes and the digest that names them.
    heads = [
        [
            (method, url, {**json.loads(headers), "idempotency-key": "", "content-length": ""})
            for method, url, headers, _ in each
            if url.endswith(LETTERS)
        ]
        for each in visits
    ]
    assert len(heads[0]) == 2
    assert heads[0] == heads[1] == heads[2] == heads[3]


def held_back(disclosure: Disclosure) -> set[Any]:
    """Films that this visitor's device holds back, of all that it may decide."""
    key = base64.urlsafe_b64decode(CODE + "=")
    secret = hmac.new(key, b"tacit page standard scheme", hashlib.sha256).digest()
    state = State(created=0)
    every = dict.fromkeys(disclosure.items, 3.0)
    Device(disclosure, {"gender": "F"}, state, secret).release(every, 0)
    return {item for item, record in state.records.items() if record.level is None}


def test_ratings_that_are_held_back_change_no_request_and_no_moment(visit, disclosure, scores):
    """Bytes of every request, its order and when it leaves, with and without them."""
    held = held_back(disclosure)
    few = tuple(0 if item + 1 in held else given for item, given in enumerate(STARS * 3))
    many = tuple(5 if item + 1 in held else given for item, given in enumerate(STARS * 3))
    assert sum(map(bool, many)) >= sum(map(bool, few)) + 3, "take another CODE"
    found = []
    for stars in (few, many):
        person = visit()
        answer_letters(person, scores)
        person.returning("F", stars, CODE)
        person.send("stars")
        said = person.letter("stars").locator(".schedule").inner_text()
        stars_alone = [one for one in everything(person) if not one[1].endswith("/reports")]
        # But for the time of day, and so for the day that this time falls on.
        found.append((stars_alone, re.sub(r"(?:\w+day, \d+ \w+ )?\d+", "#", said)))
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def disclosure(person: Any) -> Disclosure:
    asked = next(r for r in person.sent if r.url.endswith("/api/disclosures/gender"))
    answer = asked.response()
    assert answer is not None
    return Disclosure.decode(answer.body())


def spellings(secret: bytes) -> set[bytes]:
    """A secret as it is, in hexadecimal and in base64, wherever in a longer text it stands."""
    found = {secret, secret.hex().encode(), secret.hex().upper().encode()}
    for before in range(3):
        text = base64.b64encode(b"\0" * before + secret + b"\0\0")
        own = text[-(-8 * before // 6) : 8 * (before + len(secret)) // 6]  # no neighbour's bits
        found |= {own, own.replace(b"+", b"-").replace(b"/", b"_")}
    return {spelled for spelled in found if len(spelled) >= 6 or spelled == secret}


def histories() -> list[bytes]:
    """The true stars, in every form that a page would write them."""
    pairs = [[item + 1, given] for item, given in enumerate(STARS)]
    levels = [[item, (given - 1) * MICRO] for item, given in pairs]
    forms: list[Any] = [pairs, levels, dict(pairs), list(STARS), [given for _, given in levels]]
    texts = [json.dumps(form, separators=(",", ":")) for form in forms]
    texts += [json.dumps(form) for form in forms]
    return [text.strip("[]{}").encode() for text in texts] + [bytes(STARS)]


def test_neither_the_attribute_nor_the_true_stars_are_in_any_request(person):
    """Plain, in hexadecimal and in base64, in addresses, headers and bodies."""
    kept = person.page.evaluate("[localStorage['tacit.stars'], localStorage['tacit.values']]")
    secrets = [
        *histories(),
        *(text.encode() for text in kept),
        *(b"female", b'"F"', b'gender":"', b"gender=", CODE.encode()),
    ]
    wire = [
        b"\n".join((method.encode(), url.encode(), headers.encode(), body))
        for method, url, headers, body in everything(person)
    ]
    for secret in secrets:
        for spelled in spellings(secret):
            assert not any(spelled in one for one in wire), (secret, spelled)


def test_the_search_for_true_stars_would_find_them(person):
    """The control: the release itself is found by what it really holds."""
    body = letter(person).post_data_buffer
    shown = json.dumps(Release.decode(body).ratings, separators=(",", ":")).strip("[]").encode()
    padded = b"x" + base64.b64encode(b"ab" + body)
    assert any(spelled in body for spelled in spellings(shown))
    assert any(spelled in padded for spelled in spellings(shown))
    assert any(spelled in body.hex().encode() for spelled in spellings(shown))


def test_films_that_are_held_back_are_in_no_letter(person):
    """This visitor's device holds some back and moves stars: so the tests are about something."""
    body = letter(person).post_data_buffer
    release = dict(Release.decode(body).ratings)
    true = {item + 1: (given - 1) * MICRO for item, given in enumerate(STARS)}
    assert set(release) < set(true), "take another CODE"
    assert any(true[item] != level for item, level in release.items()), "take another CODE"


def test_the_next_visit_sends_the_same_answers(visit):
    """After a reload, under the same key: the service sees a repetition."""
    person = visit()
    person.returning()
    first = person.send("answers")
    person.page.reload()
    person.letters_are_written()
    second = person.send("answers")
    assert second.post_data_buffer == first.post_data_buffer
    assert second.all_headers()["authorization"] == first.all_headers()["authorization"]
    answer = second.response()
    assert answer is not None
    assert answer.headers["idempotency-replayed"] == "true"


def test_another_browser_with_the_code_sends_the_same_answers(visit):
    """It has no memory of what was drawn, and rates the same films alike."""
    person = visit()
    person.returning()
    first = person.send("answers")
    person.step("Your list")
    person.page.get_by_role("button", name="Show my code").click()
    code = person.page.locator(".code").inner_text()
    other = visit()
    other.to_the_letters()
    other.adopt(code)
    other.step("What leaves")
    other.letter("answers").locator(".bar button:enabled").wait_for()
    second = other.send("answers")
    assert second.post_data_buffer == first.post_data_buffer
    assert second.all_headers()["authorization"] == first.all_headers()["authorization"]


def test_another_visitor_with_the_same_stars_draws_other_chances(visit):
    """Else the secret would not matter: the control of the two tests above."""
    letters = set()
    for _ in range(2):
        person = visit()
        person.returning()
        letters.add(person.letter("answers").locator(".hex").nth(3).text_content())
    assert len(letters) == 2


def test_before_a_letter_leaves_only_public_things_are_fetched(visit):
    """No visitor's token, no key: the service does not know that the same visitor is back."""
    person = visit()
    person.to_the_letters()
    person.allow()
    person.step("Your list")
    person.page.wait_for_selector(".list")
    assert person.page.locator(".panel", has_text="Your budget").get_by_role("button").count() == 0
    assert {request.method for request in person.sent} == {"GET"}
    headers = [request.all_headers() for request in person.sent]
    assert not any({"authorization", "cookie"} & set(each) for each in headers)


def test_the_token_goes_right_before_the_letter(visit):
    """Once; and the public tables are fetched without it, also then."""
    person = visit()
    person.returning()
    person.send("stars")
    paths = [request.url.removeprefix(person.address) for request in person.sent]
    sent = [path for path, one in zip(paths, person.sent, strict=True) if one.method == "POST"]
    assert sent == ["/api/visitors", "/api/disclosures/gender/letters"]
    person.step("Your list")
    person.page.wait_for_selector(".by-letter .list")
    own = "/api/disclosures/gender/latest"  # which of this person's letters is the latest
    assert paths.index("/api/visitors") < paths.index(own) < paths.index(sent[-1])
    public = [
        request
        for request in person.sent
        if request.method == "GET" and not request.url.endswith(own)
    ]
    assert not any("authorization" in request.all_headers() for request in public)
