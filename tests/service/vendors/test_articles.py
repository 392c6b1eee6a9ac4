"""Articles come and go through the service and by age, without a restart."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tacit.designs.pdap.serve.articles import MOST_VIDEOS
from tacit.designs.pdap.serve.demo import KEYS_FILE
from tacit.designs.pdap.serve.state import VendorState
from tacit.service import idempotency
from tacit.service.keys import Role, add_key
from tests.service.vendors.conftest import One, Pair

HERE = np.array([0.2, 0.7])
DAY = 86_400


@pytest.fixture
def newspaper(pairs: Any) -> Iterator[One]:
    """A vendor whose articles leave after two days, and whose epochs are short."""
    for pair in pairs(lifetime=1e6, article_days=2.0, horizon=1000):
        yield add_editor(pair)


def add_editor(pair: Pair) -> One:
    """Give the first vendor a key of the role editor."""
    home = pair.home
    home.keys["editor"] = add_key(
        home.service.settings.folder / KEYS_FILE, "newsroom", Role.EDITOR, "demo"
    )
    return home


def join(paper: One, *articles: str, key: str | None = None) -> Any:
    return paper.post("editor", "/articles", key, json={"articles": list(articles)})


def leave(paper: One, article: str) -> Any:
    headers = {
        "authorization": f"Bearer {paper.keys['editor']}",
        "idempotency-key": secrets.token_hex(8),
    }
    return paper.client.delete(f"{paper.path}/articles/{article}", headers=headers)


def listed(paper: One) -> dict[str, int | None]:
    headers = {"authorization": f"Bearer {paper.keys['editor']}"}
    answer = paper.client.get(f"{paper.path}/articles", headers=headers)
    assert answer.status_code == 200, answer.text
    return {article["name"]: article["joined"] for article in answer.json()["articles"]}


def shown(paper: One, visits: int) -> list[str]:
    """What so many visits are shown."""
    found = []
    for number in range(visits):
        answer = paper.visit(at=(0.1 * (number % 10), 0.5))
        assert answer.status_code == 200, answer.text
        found.append(answer.json()["video"])
    return found


def state_of(paper: One) -> VendorState:
    """The stored state, opened."""
    state = paper.served.cache.open_state(paper.kept())
    assert state is not None
    return state


def test_an_article_joins_at_the_end_of_the_epoch(newspaper: One) -> None:
    """Until the first epoch of five visits ends it is not shown; later it is, without a restart."""
    shown(newspaper, 1)
    answer = join(newspaper, "Breaking: rain", "cinema-1")
    assert answer.json() == {"joined": ["Breaking: rain"]}
    ends = state_of(newspaper).vendor.policy.epochs.ends_at
    arrivals = state_of(newspaper).vendor.policy.epochs.arrivals
    assert ends - arrivals > 0
    assert "Breaking: rain" not in shown(newspaper, ends - arrivals)
    assert "Breaking: rain" in shown(newspaper, 120)


def test_an_article_leaves_at_once(newspaper: One) -> None:
    """The next visit is not shown it, whatever was learned; a click on it then changes nothing."""
    join(newspaper, "Old news")
    # Which video a visit is shown is drawn: it takes as many visits as it takes.
    assert any("Old news" in shown(newspaper, 120) for _ in range(20))
    assert leave(newspaper, "Old news").json() == {"removed": True}
    assert "Old news" not in shown(newspaper, 60)
    assert "Old news" not in listed(newspaper)


def test_articles_leave_by_age(newspaper: One, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two days after it joined an article is shown no more; one that joined later still is."""
    now = time.time()
    join(newspaper, "Monday")
    monkeypatch.setattr(time, "time", lambda: now + DAY)
    join(newspaper, "Tuesday")
    assert {"Monday", "Tuesday"} <= set(listed(newspaper))  # a visit may be shown either
    assert len(set(shown(newspaper, 150))) > 2
    monkeypatch.setattr(time, "time", lambda: now + 2 * DAY + 2)
    assert set(listed(newspaper)) & {"Monday", "Tuesday"} == {"Tuesday"}
    seen = set(shown(newspaper, 60))
    assert "Monday" not in seen
    assert "Monday" not in state_of(newspaper).articles


def test_a_hundred_new_articles_a_day(newspaper: One, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five days of a hundred joins each: two hundred stand at a time, and the state stays small."""
    start = time.time()
    sizes = []
    for day in range(5):
        now = start + day * DAY
        monkeypatch.setattr(time, "time", lambda now=now: now)
        names = [f"day {day} article {number}" for number in range(100)]
        assert join(newspaper, *names).json() == {"joined": names}
        seen = set(shown(newspaper, 80))
        live = {name for name in listed(newspaper) if name.startswith("day ")}
        assert len(live) == min(200, 100 * (day + 1))
        assert all(name in live for name in seen if name.startswith("day "))
        sizes.append(len(newspaper.kept() or b""))
    assert sizes[4] < 1.2 * sizes[2]


def test_joins_and_leaves_are_repeated_not_done_again(newspaper: One) -> None:
    """A retry gets the stored answer; of an article that is not there nothing is removed."""
    first = join(newspaper, "Once", key="a-key-of-mine")
    again = join(newspaper, "Once", key="a-key-of-mine")
    assert first.content == again.content == b'{"joined":["Once"]}'
    assert join(newspaper, "Once").json() == {"joined": []}
    assert leave(newspaper, "Never was").status_code == 404


def test_articles_survive_a_restart(tmp_path: Any, pairs: Any, again: Any) -> None:
    """They are stored with what was learned, and stand beside those of the settings."""
    for pair in pairs(lifetime=1e6):
        home = add_editor(pair)
        join(home, "Stays")
        shown(home, 1)
        for new in again(pair):
            new.home.keys["editor"] = home.keys["editor"]
            assert "Stays" in listed(new.home)
            assert "Stays" in state_of(new.home).vendor.videos


def test_a_long_name_of_a_vendor_hides_no_article(
    newspaper: One, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Articles are listed where the state's name is a digest, because the plain one is too long."""
    monkeypatch.setattr(idempotency, "_MOST_STATE_NAME", 10)
    assert newspaper.served.state_name.startswith("vendors/long/")
    assert join(newspaper, "Stays").status_code == 200
    assert "Stays" in listed(newspaper)


def test_what_the_settings_name_stays(newspaper: One) -> None:
    """An article of tacit.toml is removed there; too many are refused, and none joins."""
    answer = leave(newspaper, "cinema-1")
    assert answer.status_code == 409
    assert "tacit.toml" in answer.json()["detail"]
    names = [f"article {number}" for number in range(MOST_VIDEOS)]
    refused = join(newspaper, *names)
    assert refused.status_code == 409
    assert json.loads(refused.content)["detail"].startswith("A vendor shows at most 1,000")
    assert not set(names) & set(listed(newspaper))
