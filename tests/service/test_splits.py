"""Private lists compared with popular items: daily figures of people, with noise, paid for."""

from __future__ import annotations

import asyncio
import math
import os
import time
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ConfigError, TacitError
from tacit.ledger import Cost, Holder
from tacit.service import split_releases, splits
from tacit.service.deployment import Deployment
from tacit.service.idempotency import SALT_BYTES
from tacit.service.keys import LISTS, Role, add_key
from tacit.service.kinds import installed_kinds
from tacit.service.served_things import Section
from tacit.service.split_releases import release_all
from tacit.service.splits import (
    DayFigures,
    Split,
    SplitSettings,
    add_noise,
    compare,
    count_day,
    encode_days,
    encode_lines,
    join_lines,
    noise_scale,
    noise_variance,
)

HOLDER = Holder.dataset("demo", "splits/home")
START = date(2030, 5, 1)
RECORDS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 1)), max_size=30)


def written(rows: Any) -> bytes:
    """Records of people by number, kind of list and event."""
    lines = []
    for person, kind, event in rows:
        new_lines = encode_lines([bytes([person]) * 16], LISTS[kind], splits.EVENTS[event])
        lines.append(join_lines(new_lines))
    return b"".join(lines)


def test_people_are_counted_and_not_clicks() -> None:
    """Twice served and three clicks are one person; a click without a list is a list, too."""
    rows = [(1, 0, 0), (1, 0, 0), (1, 0, 1), (1, 0, 1), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
    assert count_day(written(rows)).tolist() == [1, 1, 2, 1]


def test_a_person_counts_in_the_kind_that_they_met_first() -> None:
    """A person with lists of both kinds adds to one of them alone."""
    assert count_day(written([(1, 1, 0), (1, 0, 0), (1, 0, 1)])).tolist() == [0, 0, 1, 0]


@given(rows=RECORDS, person=st.integers(0, 4))
def test_one_person_changes_two_figures_by_one(rows: Any, person: int) -> None:
    """The sensitivity that the noise is made for: at most 2, whatever all records are."""
    others = [row for row in rows if row[0] != person]
    change = np.abs(count_day(written(rows)) - count_day(written(others)))
    assert change.max() <= 1
    assert change.sum() <= splits.MOST_OF_A_PERSON


@given(rows=RECORDS, person=st.integers(0, 4), cut=st.integers(1, 38))
def test_a_cut_write_makes_no_other_people(rows: Any, person: int, cut: int) -> None:
    """A full disk cut the first write: whoever came later still changes two figures by one."""
    torn = written([(9, 0, 0)])[:-cut]
    others = [row for row in rows if row[0] != person]
    counted = count_day(torn + written(rows))
    assert np.abs(counted - count_day(torn + written(others))).sum() <= splits.MOST_OF_A_PERSON
    assert np.abs(counted - count_day(written(rows))).sum() <= 1


def test_the_noise_is_that_of_its_scale() -> None:
    """Mean and variance of 4,000 draws lie within 5 standard errors: false alarm below 1e-5."""
    epsilon, draws = 0.5, 4000
    assert noise_scale(epsilon) == 4.0
    noise = add_noise(np.zeros(draws, dtype=np.int64), epsilon)
    variance = noise_variance(epsilon)
    assert abs(noise.mean()) < 5 * math.sqrt(variance / draws)
    # Fourth moment of Laplace noise: 6 times the squared variance, so a square's sd is 5^.5 of it.
    assert abs((noise**2).mean() / variance - 1) < 5 * math.sqrt(5.5 / draws)


@given(thousandths=st.integers(1, 5000))
def test_what_is_charged_covers_the_noise(thousandths: int) -> None:
    """Scale times the charge is at least 2, exactly: 0.017 as a float is above its decimals."""
    epsilon = thousandths / 1000
    charged = Fraction(Cost.pure(str(epsilon)).amount, 10**6)
    assert Fraction(noise_scale(epsilon)) * charged >= splits.MOST_OF_A_PERSON


def test_a_difference_has_the_interval_of_noise_and_chance() -> None:
    """Rates of 20 and 10 percent: the interval holds their difference, and shrinks with days."""
    one = DayFigures(START, (1000, 200, 1000, 100))
    short, long = compare([one], 0.2), compare([one] * 9, 0.2)
    for found in (short, long):
        assert found.rates == (0.2, 0.1)
        assert found.low is not None
        assert found.high is not None
        assert found.low < 0.1 < found.high
        assert found.low + found.high == pytest.approx(0.2)
    assert long.high - long.low < 0.5 * (short.high - short.low)  # type: ignore[operator]


def test_few_people_say_nothing() -> None:
    """Below four deviations of noise there is no rate; without a day there is none either."""
    assert compare([DayFigures(START, (20, 3, 30, 1))], 0.2).rates is None
    assert compare([], 0.2).difference is None


class Clock:
    """A day that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.day = START
        monkeypatch.setattr(splits, "today", lambda: self.day)
        monkeypatch.setattr("tacit.service.resources.splits.today", lambda: self.day)

    def move(self, days: int = 1) -> None:
        self.day += timedelta(days=days)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def no_background_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the service's own look for days, which may come after a test moved the day."""

    async def look_at_nothing(*_: object) -> None:
        """Release no day."""

    monkeypatch.setattr("tacit.service.split_releases.release_all", look_at_nothing)


@pytest.fixture
def arms(clock: Clock, no_background_release: None, shop: Any) -> Any:
    """A shop that splits its customers between two keys; its figures begin on START."""
    (split,) = shop.service.deployment.find_all(Split).values()
    (split.folder / "since").write_text(START.isoformat())
    file = shop.folder / "keys.json"
    shop.keys["popular"] = add_key(file, "arm-b", Role.RECOMMEND, "demo", lists="popularity")
    return shop


def serve(shop: Any, who: str, customers: list[str]) -> None:
    """Ask for lists for customers."""
    people = [{"customer": customer, "history": ["12"]} for customer in customers]
    answer = shop.post(who, "/api/recommend-many", json={"model": "lists", "people": people})
    assert answer.status_code == 200, answer.text


def click(shop: Any, who: str, customers: list[str]) -> None:
    """Report clicks of customers."""
    answer = shop.post(who, "/api/splits/home/clicks", json={"customers": customers})
    assert (answer.status_code, answer.json()) == (200, {"received": True})


def release(shop: Any) -> list[BaseException]:
    """Release the days that are due, as the clock does; what went wrong."""
    faults: list[BaseException] = []
    shop.client.portal.call(release_all, shop.service, faults.append)
    return faults


def seen(shop: Any) -> Any:
    """The comparison as its page gets it."""
    (view,) = shop.get("auditor", "/api/splits").json()["splits"]
    return view


def only_split(shop: Any) -> Split:
    (split,) = shop.service.deployment.find_all(Split).values()
    assert isinstance(split, Split)
    return split


def section(folder: Path, epsilon: float = 0.2) -> Section:
    values = {"model": "lists", "epsilon": epsilon, "lifetime": 5000.0}
    return Section("demo", "home", folder, values)


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 1e-17, 9e-7, 1000.5, 2000.0, math.inf, math.nan])
def test_an_epsilon_out_of_bounds_is_a_sentence(tmp_path: Path, epsilon: float) -> None:
    """Noise of an epsilon within the bounds has a variance, and a cost that the ledger charges."""
    with pytest.raises(ConfigError, match=r"splits\.home\.epsilon must be 1e-06 to 1000"):
        Split.from_section(section(tmp_path, epsilon))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("epsilon", [1e-6, 1000.0])
def test_an_epsilon_at_a_bound_can_be_used(tmp_path: Path, epsilon: float) -> None:
    """Days are charged, noise is drawn, and its variance is above 0."""
    split = Split.from_section(section(tmp_path, epsilon))
    assert len(split.count_with_noise(b"")) == 4
    assert split.cost.amount == round(epsilon * 10**6)
    assert 0 < noise_variance(epsilon) < math.inf


def test_nobody_served_says_nothing_without_noise() -> None:
    """There is no rate of no people."""
    found = compare([DayFigures(START, (0, 0, 0, 0))], 2000.0)
    assert (found.rates, found.difference, found.low) == (None, None, None)


@pytest.mark.parametrize("content", [b"", b"yesterday", b"2030-05-", b"\xff"])
def test_a_first_day_that_is_none_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    """At the start. A running service calls it its own fault, not one of the request."""
    split = Split.from_section(section(tmp_path))
    file = split.folder / "since"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="since: holds no day"):
        Split.from_section(section(tmp_path))
    with pytest.raises(ValueError, match=r"isoformat|decode") as raised:
        split.due_days([])
    assert not isinstance(raised.value, TacitError)
    file.write_text("2030-05-01\n")
    assert Split.from_section(section(tmp_path)).folder == split.folder


def test_a_first_day_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk at the first start leaves no first day; the next start writes it."""

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("os.fsync", fail)
        with pytest.raises(ConfigError, match="No space left"):
            Split.from_section(section(tmp_path))
    assert not list((tmp_path / "splits" / "home").iterdir())
    split = Split.from_section(section(tmp_path))
    assert (split.folder / "since").read_text() == splits.today().isoformat()


def test_a_day_is_released_once_when_it_is_over(arms: Any, clock: Clock) -> None:
    """Four noisy figures, near the true ones; charged once; the file of the day is gone."""
    personal = [f"Customer {number}@example.com" for number in range(150)]
    serve(arms, "recommend", personal)
    serve(arms, "popular", [f"other {number}" for number in range(100)])
    click(arms, "recommend", personal[:60])
    click(arms, "recommend", personal[:60])
    click(arms, "popular", ["other 1"])
    day_file = only_split(arms).folder / START.isoformat()
    kept = day_file.read_bytes()
    assert b"example" not in kept
    assert b"Customer" not in kept
    assert count_day(kept).tolist() == [150, 60, 100, 1]
    assert seen(arms)["days"] == []
    clock.move()
    assert not release(arms)
    first = seen(arms)
    assert not release(arms)
    assert seen(arms) == first
    (day,) = first["days"]
    found = [day[f"{kind}_{event}"] for kind, event in splits.FIGURES]
    # Scale 10: beyond 200 with chance 2e-9 for each of four.
    for figure, true in zip(found, (150, 60, 100, 1), strict=True):
        assert abs(figure - true) < 200
    assert arms.service.ledger.balance(HOLDER).spent == 200_000
    assert not day_file.exists()
    assert first["days_left"] == 24


def test_an_id_and_its_pseudonym_are_one_person(arms: Any) -> None:
    """A backend names a customer in an address, by pseudonym and in clicks: they count once."""
    customer = "Ann.Lee@example.com"
    name = arms.service.keys.person_name(customer)
    assert arms.get("recommend", f"/api/recommend/{customer}").status_code == 200
    serve(arms, "recommend", [customer, name])
    click(arms, "recommend", [customer])
    click(arms, "recommend", [name])
    records = only_split(arms).read_records(START)
    assert count_day(records).tolist() == [1, 1, 0, 0]


def test_a_request_over_midnight_is_of_one_day(arms: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a person would stand in the next day's file under the hashes of both days."""
    days = iter([START, START + timedelta(days=1)])
    monkeypatch.setattr("tacit.service.resources.splits.today", lambda: next(days))
    monkeypatch.setattr(splits, "today", lambda: START + timedelta(days=1))
    split = only_split(arms)
    serve(arms, "recommend", ["Ann"])
    serve(arms, "recommend", ["Ann"])
    for day in (START, START + timedelta(days=1)):
        assert count_day(split.read_records(day)).tolist() == [1, 0, 0, 0]


def test_the_clock_releases_days_and_removes_their_files(arms: Any, clock: Clock) -> None:
    """Nobody looks and nobody clicks any more: what people did is not kept for that."""
    serve(arms, "recommend", ["Ann"])
    clock.move()
    assert not release(arms)
    assert [path.name for path in only_split(arms).folder.iterdir()] == ["since"]
    assert arms.service.ledger.balance(HOLDER).spent == 200_000


def test_a_service_releases_past_days_when_it_starts(demo: Any, folder: Any, shops: Any) -> None:
    """Two days ended while it stood still: they are released though nobody asks."""
    place = folder / "splits" / "home"
    place.mkdir(parents=True)
    start = splits.today() - timedelta(days=2)
    (place / "since").write_text(start.isoformat())
    (place / start.isoformat()).write_bytes(written([(1, 0, 0)]))
    with shops(demo, folder) as shop:
        until = time.monotonic() + 20
        while shop.service.ledger.balance(HOLDER).spent < 400_000 and time.monotonic() < until:
            time.sleep(0.02)
        assert shop.service.ledger.balance(HOLDER).spent == 400_000
        while (place / start.isoformat()).exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert not (place / start.isoformat()).exists()


def test_the_clock_survives_any_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is reported, and the next look comes."""

    async def fail(*_: object) -> None:
        raise AttributeError

    monkeypatch.setattr(split_releases, "release_all", fail)
    monkeypatch.setattr(split_releases, "SECONDS_BETWEEN_RELEASES", 0.001)
    faults: list[BaseException] = []

    async def look_three_times() -> None:
        async with split_releases.release_by_clock(cast(Any, None), faults.append):
            async with asyncio.timeout(20):
                while len(faults) < 3:
                    await asyncio.sleep(0.001)

    asyncio.run(look_three_times())


def test_requests_release_nothing(arms: Any, clock: Clock) -> None:
    """The log's time of a release does not say when somebody clicked, or looked.

    Nor does the time of an answer to staff depend on how many lines the file of a day has.
    """
    serve(arms, "recommend", ["Ann"])
    clock.move()
    click(arms, "recommend", ["Ann"])
    assert seen(arms)["days"] == []
    assert arms.service.ledger.balance(HOLDER).spent == 0
    assert only_split(arms).read_records(START)


def test_a_day_that_cannot_be_read_costs_nothing(
    arms: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails is reported; once it is mended the day is released, with its people."""

    def fail(_: Split, __: date) -> bytes:
        raise OSError(5, "Input/output error")

    serve(arms, "recommend", [f"customer {number}" for number in range(150)])
    clock.move()
    with monkeypatch.context() as broken:
        broken.setattr(Split, "read_records", fail)
        faults = release(arms)
    assert [type(fault) for fault in faults] == [OSError]
    assert arms.service.ledger.balance(HOLDER).spent == 0
    assert not release(arms)
    (day,) = seen(arms)["days"]
    assert day["personal_served"] > 0  # noise of scale 10: below with chance 2e-7


def test_a_day_without_requests_is_released_too(arms: Any, clock: Clock) -> None:
    """Otherwise the days themselves would tell that no one came."""
    clock.move(3)
    assert not release(arms)
    expected = [(START + timedelta(days=number)).isoformat() for number in range(3)]
    assert [day["day"] for day in seen(arms)["days"]] == expected
    assert arms.service.ledger.balance(HOLDER).spent == 600_000


def test_nothing_is_counted_beyond_the_lifetime(arms: Any, clock: Clock) -> None:
    """After 25 days of 0.2 out of 5 the figures stop, and reports are taken and not kept."""
    clock.move(40)
    assert not release(arms)
    view = seen(arms)
    assert (len(view["days"]), view["days_left"]) == (25, 0)
    assert arms.service.ledger.balance(HOLDER).spent == 5_000_000
    click(arms, "recommend", ["Ann"])
    assert [path.name for path in only_split(arms).folder.iterdir()] == ["since"]
    clock.move(5)
    assert not release(arms)
    assert len(seen(arms)["days"]) == 25


def test_only_backends_and_the_operator_report(arms: Any) -> None:
    """A person's key is refused; an unknown comparison is not there."""
    report = {"customers": ["Ann"]}
    assert arms.post("subject", "/api/splits/home/clicks", json=report).status_code == 403
    assert arms.post("recommend", "/api/splits/away/clicks", json=report).status_code == 404


def test_the_card_says_the_day_and_the_lifetime(arms: Any) -> None:
    """Epsilon of a day and of all days, for a person; the budget has the same."""
    (card,) = only_split(arms).guarantees()
    assert (card.epsilon, card.lifetime_epsilon) == (0.2, pytest.approx(5.0))
    assert card.adjacency.unit == "user"
    assumptions = " ".join(card.assumptions)
    assert "413, 429, 503" in assumptions  # such requests count for nobody in them
    assert "keeps its secret" in assumptions
    assert arms.service.ledger.balance(HOLDER).cap.amount == 5_000_000


def test_a_model_that_is_not_served_is_refused(arms: Any) -> None:
    """A misspelt name would charge every day, and count nobody."""
    path = arms.folder / "tacit.toml"
    before, section, after = path.read_text().partition("[splits.home]\n")
    assert 'model = "lists"' in after
    path.write_text(before + section + after.replace('model = "lists"', 'model = "list"', 1))
    with pytest.raises(ConfigError, match=r"no \[models\.list\]"):
        Deployment.read(arms.folder, installed_kinds())


def test_another_epsilon_is_refused_after_the_first_day(arms: Any, clock: Clock) -> None:
    """Figures of two noises would be compared as if they had one."""
    clock.move()
    assert not release(arms)
    split = only_split(arms)
    other = Split("demo", "home", SplitSettings("lists", 0.1, 5.0), split.folder)
    with pytest.raises(ConfigError, match=r"epsilon was 0\.2"):
        other.check_stored_states(arms.service.read_state)
    split.check_stored_states(arms.service.read_state)


def test_a_line_is_written_once(arms: Any) -> None:
    """The file of a day does not grow with the repetitions of one person."""
    split = only_split(arms)
    for _ in range(3):
        serve(arms, "recommend", ["Ann", "Ann", "Bob"])
        click(arms, "recommend", ["Ann"])
    lines = split.read_records(START).split()
    assert len(lines) == 3 * 3  # three lines of three words
    assert count_day(split.read_records(START)).tolist() == [2, 1, 0, 0]
    (split.folder / START.isoformat()).unlink()  # by hand: what was in it is not remembered
    serve(arms, "recommend", ["Ann"])
    assert count_day(split.read_records(START)).tolist() == [1, 0, 0, 0]


def test_a_line_that_was_cut_off_is_written_again(
    arms: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was full when Ann came first: her next list counts."""
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(splits.os, "write", lambda file, content: write(file, content[:20]))
        serve(arms, "recommend", ["Ann"])
    serve(arms, "recommend", ["Ann"])
    assert count_day(only_split(arms).read_records(START)).tolist() == [1, 0, 0, 0]


def test_lines_are_forgotten_beyond_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded; a person whose line is written again counts once."""
    monkeypatch.setattr(splits, "MOST_REMEMBERED_LINES", 10)
    split = Split.from_section(section(tmp_path))
    for _ in range(2):
        for number in range(25):
            split.record_people(START, [bytes([number]) * 16], "personal", "served")
    assert count_day(split.read_records(START)).tolist() == [25, 0, 0, 0]


REFUSED_IDS = (
    *(b'""', b"1", b"true", b"NaN", b'["Ann"]', b'{"id": "Ann"}'),
    b'"' + b"x" * 300 + b'"',
    b'"' + b"x" * 5000 + b'"',
    b'"\\u0007"',
    b'"\x07"',
    b'"\\ud800"',
    b'"\xff"',
    '"e\u0301"'.encode(),
    b"9" * 5000,
    b"[" * 3000 + b"]" * 3000,
    b'{"x": 1, "x": 2}',
)
"""Values in JSON that are no customer's id."""
REFUSED_HISTORIES = (
    *(b"null", b"1", b'"12"', b"[true]", b'{"12": 99}', b'{"12": NaN}', b'{"12": 1e999}'),
    *(b'{"12": 5, "12": 4}', b'[{"item": "12", "quantity": -1}]', b'[{"item": "12", "x": 1}]'),
    *(b'["\\u0007"]', b'["\x07"]', b'["\\ud800"]', b'["\xff"]', '["e\u0301"]'.encode()),
    b'["' + b"x" * 5000 + b'"]',
    b"[" + b"9" * 5000 + b"]",
    b"[" * 3000 + b"]" * 3000,
    b'{"x": ' * 3000 + b"1" + b"}" * 3000,
)
"""Values in JSON that are no history, or none of the model."""
HISTORIES = (b"[]", b'["12"]', b'{"12": 5, "NEW-1": 3}')


def many_people(people: list[tuple[bytes, bytes]]) -> bytes:
    """A body for the lists of many people, of customers and histories in JSON."""
    entries = []
    for customer, history in people:
        entries.append(b'{"customer": ' + customer + b', "history": ' + history + b"}")
    return b'{"model": "lists", "n": 3, "people": [' + b", ".join(entries) + b"]}"


def reported(customers: list[bytes]) -> bytes:
    """A body of a report of clicks."""
    return b'{"customers": [' + b", ".join(customers) + b"]}"


def send(shop: Any, who: str, path: str, body: bytes) -> int:
    """Send a body; the status."""
    headers = {"content-type": "application/json"}
    status: int = shop.post(who, path, content=body, headers=headers).status_code
    return status


def count_and_forget(shop: Any) -> Any:
    """The four counts of the day, whose file is removed."""
    split = only_split(shop)
    counts = count_day(split.read_records(START))
    (split.folder / START.isoformat()).unlink(missing_ok=True)
    return counts


OTHERS = [b'"customer %d"' % number for number in range(20)]


@pytest.mark.parametrize("history", REFUSED_HISTORIES)
def test_a_history_that_refuses_a_request_stops_no_one(arms: Any, history: bytes) -> None:
    """The others of the request count, and so does the person, whose id is well-formed."""
    people = [(other, HISTORIES[1]) for other in OTHERS]
    body = many_people([*people[:7], (b'"Ann"', history), *people[7:]])
    assert send(arms, "recommend", "/api/recommend-many", body) in (400, 422)
    assert count_and_forget(arms).tolist() == [21, 0, 0, 0]


@pytest.mark.parametrize("customer", REFUSED_IDS)
def test_an_id_that_refuses_a_request_stops_no_one(arms: Any, customer: bytes) -> None:
    """The others of the request count as served, and those of the report as having clicked."""
    people = [(other, HISTORIES[1]) for other in OTHERS]
    body = many_people([*people[:7], (customer, HISTORIES[1]), *people[7:]])
    assert send(arms, "popular", "/api/recommend-many", body) in (400, 422)
    assert count_and_forget(arms).tolist() == [0, 0, 20, 0]
    body = reported([*OTHERS[:7], customer, *OTHERS[7:]])
    assert send(arms, "popular", "/api/splits/home/clicks", body) in (400, 422)
    assert count_and_forget(arms).tolist() == [0, 0, 20, 20]


def test_one_person_too_many_stops_no_one(arms: Any) -> None:
    """With 201 people the request is refused, and all of them count."""
    people = [(b'"customer %d"' % number, b"[]") for number in range(201)]
    assert send(arms, "recommend", "/api/recommend-many", many_people(people)) == 422
    assert send(arms, "recommend", "/api/recommend-many", many_people(people[:200])) == 200
    assert count_and_forget(arms).tolist() == [201, 0, 0, 0]
    customers = [customer for customer, _ in people]
    assert send(arms, "recommend", "/api/splits/home/clicks", reported(customers)) == 422
    assert count_and_forget(arms).tolist() == [201, 201, 0, 0]


def test_a_retry_of_a_refused_request_counts_once(arms: Any) -> None:
    """The shop leaves out the person whose history was wrong, and asks again."""
    people = [(other, HISTORIES[1]) for other in OTHERS]
    bad = (b'"Ann"', REFUSED_HISTORIES[4])
    assert send(arms, "recommend", "/api/recommend-many", many_people([*people, bad])) == 422
    assert send(arms, "recommend", "/api/recommend-many", many_people(people)) == 200
    assert count_and_forget(arms).tolist() == [21, 0, 0, 0]


def test_a_refused_request_counts_nobody_elsewhere(arms: Any) -> None:
    """Not for another model, another comparison, a key that may not ask, or no JSON."""
    body = many_people([(b'"Ann"', b"1")])
    assert send(arms, "recommend", "/api/recommend-many", body.replace(b"lists", b"films")) == 422
    assert send(arms, "operator", "/api/recommend-many", body) == 422
    assert send(arms, "subject", "/api/recommend-many", body) == 403
    assert send(arms, "subject", "/api/recommend-many", many_people([(b'"Ann"', b"NaN")])) == 400
    assert send(arms, "recommend", "/api/recommend-many", b'{"model": "lists", "people": 1}') == 422
    assert send(arms, "recommend", "/api/recommend-many", b'{"people": [{"customer": "A"}]}') == 422
    for cut in (1, 2, 30):
        assert send(arms, "recommend", "/api/recommend-many", body[:-cut]) == 400
    report = reported([b'"Ann"', b"NaN"])
    assert send(arms, "recommend", "/api/splits/away/clicks", report) == 400
    assert send(arms, "subject", "/api/splits/home/clicks", report) == 400
    assert count_and_forget(arms).tolist() == [0, 0, 0, 0]


IDS_OF_OTHERS = (*(b'"a"', b'"b"', b'"c"', b'"d@example.com"', b'"e"', b"null"), *REFUSED_IDS)
IDS_OF_U = (b'"u@example.com"', *REFUSED_IDS)
ANY_HISTORIES = (*HISTORIES, *REFUSED_HISTORIES)


def entries_of(is_u: bool, ids: tuple[bytes, ...], histories: tuple[bytes, ...]) -> Any:
    """Entries of requests: whether they are u's, and the numbers of the id and the history."""
    numbers = (st.integers(0, len(ids) - 1), st.integers(0, len(histories) - 1))
    return st.tuples(st.just(is_u), *numbers)


# Most entries of others are sound, so that u's alone decide whether a request is refused.
PEOPLE = st.one_of(
    entries_of(False, IDS_OF_OTHERS[:6], HISTORIES),
    entries_of(False, IDS_OF_OTHERS[:6], HISTORIES),
    entries_of(False, IDS_OF_OTHERS, ANY_HISTORIES),
    entries_of(True, IDS_OF_U, ANY_HISTORIES),
)
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(["many", "clicks", "one", "address"]),
        st.sampled_from(["recommend", "popular"]),
        st.lists(PEOPLE, min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=4,
)


def send_all(shop: Any, requests: Any, with_u: bool) -> Any:
    """Send requests, with u's entries or without them; the counts of the day."""
    for route, who, entries in requests:
        people = []
        for is_u, id_number, history_number in entries:
            customer = IDS_OF_U[id_number] if is_u else IDS_OF_OTHERS[id_number]
            if with_u or not is_u:
                people.append((customer, ANY_HISTORIES[history_number]))
        if route == "many" and people:
            send(shop, who, "/api/recommend-many", many_people(people))
        elif route == "clicks" and people:
            send(shop, who, "/api/splits/home/clicks", reported([one for one, _ in people]))
        elif route == "one":
            for customer, history in people:
                body = b'{"model": "lists", "customer": %b, "history": %b}' % (customer, history)
                send(shop, who, "/api/recommend", body)
        elif route == "address":
            # What is no id in JSON may be one in an address, and a person has one id.
            for customer in sorted({one for one, _ in people} - {b"null", *REFUSED_IDS}):
                shop.get(who, f"/api/recommend/{quote(customer[1:-1])}?model=lists")
    return count_and_forget(shop)


def test_whatever_one_person_sends_changes_two_counts_by_one(arms: Any) -> None:
    """The sensitivity, through HTTP: u's bytes are in all requests of a day, or in none."""

    @settings(max_examples=100, deadline=None)
    @given(requests=REQUESTS)
    def compare_days(requests: Any) -> None:
        change = np.abs(send_all(arms, requests, True) - send_all(arms, requests, False))
        assert change.max() <= 1
        assert change.sum() <= splits.MOST_OF_A_PERSON

    compare_days()


def test_printed_epsilons_are_not_below_what_is_charged(tmp_path: Path) -> None:
    """The card and the receipt round up; what a setting has to be put back to is not rounded."""
    split = Split.from_section(section(tmp_path, 0.12345612))
    for text in (split.guarantees()[0].sentence, split.describe_releases()):
        assert "0.123457" in text
    stored = bytes(SALT_BYTES) + encode_days([], 0.12345678)
    with pytest.raises(ConfigError, match=r"epsilon was 0\.12345678 for"):
        split.check_stored_states(lambda _: stored)
