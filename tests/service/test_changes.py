"""How much of what costs no budget one person may have stored in a day."""

from __future__ import annotations

import asyncio
import json

import pytest

from tacit.ledger import LedgerUnavailable
from tacit.service import problems
from tacit.service.idempotency import MOST_STORED_BYTES, Reply, answer_once
from tacit.service.keys import Caller, Role
from tacit.service.limits import RateLimits
from tacit.service.problems import Problem


@pytest.fixture
def shop(demo, folder, shops):
    """A service where four free changes of a person are stored at once, and then four a day."""
    with shops(demo, folder, changes_per_day=4) as opened:
        yield opened


def rate(shop, stars: float, *, role: str = "subject", **given):
    rating = {"model": "films", "item": "1001", "stars": stars}
    return shop.post(role, "/api/feedback", json=rating, **given)


def test_beyond_it_nothing_is_stored(shop):
    """A refusal says when to come back and does not grow the ledger; others are answered."""
    assert [rate(shop, 4.0).status_code for _ in range(4)] == [200] * 4
    head = shop.service.ledger.head
    refused = [rate(shop, 4.0) for _ in range(3)]
    assert {answer.status_code for answer in refused} == {429}
    assert 0 < int(refused[0].headers["retry-after"]) <= 6 * 3600
    assert "as many free changes as one person may make at once" in refused[0].json()["detail"]
    assert shop.service.ledger.head == head
    assert rate(shop, 4.0, role="other").status_code == 200


def test_a_retry_is_not_counted(shop):
    """The same request again stores nothing, so it uses nothing up."""
    for _ in range(8):
        assert rate(shop, 4.0, key="the-same-key").status_code == 200
    assert [rate(shop, 4.0).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_what_is_refused_for_its_content_is_not_counted(shop):
    """Whatever is refused before the ledger is asked stores nothing."""
    for _ in range(8):
        assert rate(shop, 400.0).status_code == 422
    assert rate(shop, 4.0).status_code == 200


def test_what_the_ledger_refuses_is_not_counted(shop, monkeypatch):
    """A store that is away for a while uses nobody's changes up."""
    with monkeypatch.context() as patch:
        patch.setattr(type(shop.service.ledger), "release_all", _away)
        assert {rate(shop, 4.0).status_code for _ in range(8)} == {503}
    assert [rate(shop, 4.0).status_code for _ in range(5)] == [200] * 4 + [429]


def test_what_was_too_late_to_begin_is_not_counted(shop, monkeypatch):
    """A busy service that gives a change up before the ledger is asked stores nothing."""

    async def late(*_):
        raise problems.retry_later(problems.LATE)

    with monkeypatch.context() as patch:
        patch.setattr(type(shop.service.commits), "release", late)
        assert {rate(shop, 4.0).status_code for _ in range(8)} == {503}
    assert [rate(shop, 4.0).status_code for _ in range(5)] == [200] * 4 + [429]


def _away(*_: object, **__: object) -> None:
    raise LedgerUnavailable("The store is away.")


def test_what_is_charged_is_not_counted(shop, valid):
    """A budget bounds what is charged to it."""
    for _ in range(4):
        rate(shop, 4.0)
    report = valid("POST /api/campaigns/{name}/reports")
    assert report.ask(shop, "POST").status_code == 200


def test_forgetting_is_counted_apart(demo, folder, shops):
    """Who has changed as much as she may can still have herself forgotten."""
    with shops(demo, folder, changes_per_day=20) as shop:
        while rate(shop, 4.0).status_code == 200:
            pass
        assert shop.delete("subject", "/api/users/ann").status_code == 200
        assert rate(shop, 4.0).status_code == 429


def test_staff_is_not_counted(shop):
    """Whoever runs the service opens as many rounds as she likes."""
    for number in range(6):
        body = {"candidates": [number, number + 100]}
        answer = shop.post("operator", "/api/rounds/films/announce", json=body)
        assert answer.status_code in (200, 409), answer.text


def test_an_answer_has_a_bound(shop):
    """One of more bytes than are stored is a refusal, now and for a retry, and changes no state."""
    ann = Caller("demo", Role.SUBJECT, "ann")

    def ask(key: str, size: int):
        take = lambda *_: (Reply(200, "text/plain", b"x" * size), b"changed")  # noqa: E731
        return asyncio.run(
            answer_once(shop.service, ann, "test", key, b"", state="test", transition=take)
        )

    for _ in range(2):
        refused = ask("too large", MOST_STORED_BYTES + 1)
        assert refused.status_code == 409
        assert len(refused.body) < 1000
        assert shop.service.ledger.state("demo/test") is None
    assert len(ask("as large as may be", MOST_STORED_BYTES).body) == MOST_STORED_BYTES
    assert shop.service.ledger.state("demo/test") == b"changed"


def test_a_day_brings_a_days_worth():
    """Half a day later there is half of it, and never more than all of it."""
    now = [0.0]
    limits = RateLimits.per_day(10, lambda: now[0])

    def let_through() -> int:
        for count in range(100):
            try:
                limits.take("ann")
            except Problem:
                return count
        return 100

    assert let_through() == 10
    now[0] += 43_200
    assert let_through() == 5
    now[0] += 10 * 86_400
    assert let_through() == 10


def test_a_days_worth_is_enough_for_a_day(demo, folder, shops):
    """By default everything that a person may keep can be rated in one sitting, and again."""
    from tacit.service import Settings
    from tacit.service.stored_ratings import MOST_RATINGS

    assert Settings(folder).changes_per_day >= 2 * MOST_RATINGS


def test_the_sentence(shop):
    """What is said names no person, no number and no amount."""
    for _ in range(4):
        rate(shop, 4.0)
    told = json.loads(rate(shop, 4.0).content)
    assert told["type"].endswith("#too-many")
    assert not any(sign.isdigit() for sign in told["detail"])
    assert "ann" not in told["detail"]
