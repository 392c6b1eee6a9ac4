"""The Python client of the standard scheme: one letter an epoch, and lists from what is at home."""

from __future__ import annotations

import copy
import json
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit.client import Account, FileAccount, FileMemory, Memory, ServiceError
from tacit.client.transport import Transport
from tacit.designs.standard_scheme import Device, Release, State
from tacit.designs.standard_scheme.epochs import calendar_epoch, epoch_start, sending_time
from tacit.designs.standard_scheme.messages import DAY, WEEK
from tacit.errors import ConfigError, PrivacyError
from tests.support.small_world import DISCLOSURE, FILMS, ITEM_TABLE, NOW, disclosure, log, scores

TABLES = "/api/disclosures/gender"
LETTERS = "/api/disclosures/gender/letters"
OWN = {"gender": "F"}
STARS = {item: 1.0 + number % 5 for number, item in enumerate(FILMS[:20])} | {"elsewhere": 4.0}
SECRET = bytes(range(32))
HALF_HOUR = 1800


def letters(service) -> list[Release]:
    """Those that left, in their order."""
    return [Release.decode(body) for method, path, body, _ in service.asked if path == LETTERS]


def expected(history=STARS, values=OWN, epoch=0) -> Release:
    """The first letter of a new account, by the device half."""
    return Device(DISCLOSURE, values, State(created=NOW), SECRET).release(history, epoch)


def at(service, digest):
    """From now on the service shows this disclosure."""
    service.answers[TABLES] = digest.encode()


def test_the_first_letter(service, client):
    """The first letter leaves when the account is 30 minutes old, and is the device half's."""
    device = client()
    early = device.send_letter("gender", OWN, STARS, NOW)
    assert early.letter is None
    assert early.due == NOW + HALF_HOUR
    assert letters(service) == []
    spoken = device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    assert [Release.decode(spoken.letter)] == letters(service) == [expected()]
    assert spoken.notice == ""
    assert spoken.due == NOW + DAY
    [(*_, headers)] = [asked for asked in service.asked if asked[1] == LETTERS]
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Authorization"] == "Bearer tacit_1_abc"


def test_an_empty_letter(service, client):
    """A letter leaves whether or not anything was rated."""
    device = client()
    for now in (NOW, NOW + HALF_HOUR):
        device.send_letter("gender", OWN, {}, now)
    assert letters(service) == [Release(DISCLOSURE.digest, 0, ())]


def test_ratings_send_nothing(service, client):
    """Between two letters nothing is sent or fetched, however many ratings are added."""
    device = client()
    device.send_letter("gender", OWN, {}, NOW)
    device.send_letter("gender", OWN, {}, NOW + HALF_HOUR)
    before = list(service.asked)
    for count in range(len(STARS)):
        history = dict(list(STARS.items())[:count])
        device.send_letter("gender", OWN, history, NOW + HALF_HOUR + count)
        device.recommend_from_letter("gender", history)
        device.predict("gender", OWN)
    assert service.asked == before


def test_one_letter_an_epoch(service, client):
    """Over five weeks of hourly calls one letter leaves for each epoch, at its own moment."""
    device = client()
    sent = []
    for now in range(NOW, NOW + 5 * WEEK, 3600):
        spoken = device.send_letter("gender", OWN, STARS, now)
        sent += [(now, Release.decode(spoken.letter).epoch)] if spoken.letter else []
    first = calendar_epoch(NOW + DAY, WEEK)
    labels = [0, 1, *range(first, first + 5)]
    assert [epoch for _, epoch in sent] == labels[: len(sent)]
    assert len(sent) >= 6
    for now, epoch in sent:
        due = sending_time(epoch, NOW, WEEK, SECRET)
        assert due <= now < due + 3600


def test_missed_epochs_are_one(service, client):
    """A device that was off for weeks sends one letter, of the latest epoch that has ended."""
    device = client()
    device.send_letter("gender", OWN, STARS, NOW)
    for later in range(2):
        device.send_letter("gender", OWN, STARS, NOW + 6 * WEEK + DAY + later)
    assert [letter.epoch for letter in letters(service)] == [
        calendar_epoch(NOW + 6 * WEEK + DAY, WEEK) - 1
    ]


def test_ratings_wait_for_the_end_of_their_epoch(service, client):
    """What was entered after an epoch's end is not in its letter, and is in the next one."""
    device = client()
    device.send_letter("gender", OWN, {}, NOW)
    device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    device.send_letter("gender", OWN, STARS, NOW + DAY)
    first, second = letters(service)
    assert first.ratings == ()
    assert second.ratings == expected().ratings != ()


def test_entered_says_when(service, client):
    """A program that knows when a star was entered says so."""
    device = client()
    device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR, entered=dict.fromkeys(STARS, NOW + 5))
    assert letters(service) == [expected()]


def test_kept_before_it_is_sent(service, client, tmp_path):
    """When a letter arrives, the memory's file holds it, and the account's file its epoch."""
    memory, path = FileMemory(tmp_path / "memory"), tmp_path / "account"
    account = FileAccount(path, NOW)
    seen = []

    def looked(body):
        with memory.transaction() as kept:
            seen.append((body, kept.state.letter, FileAccount(path).last_letter_epoch))
        return scores(body)

    service.answers[LETTERS] = looked
    device = client(memory, account)
    device.send_letter("gender", OWN, STARS, NOW)
    device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    assert seen == [(seen[0][0], seen[0][0], 0)]


def test_a_letter_that_was_lost(service, client):
    """A letter that was not answered is sent again with the same bytes, after ten minutes."""
    memory, account = Memory(), Account(SECRET, NOW)
    client(memory, account).send_letter("gender", OWN, STARS, NOW)
    service.answers[LETTERS] = None
    device = client(memory, account)
    now = NOW + HALF_HOUR
    with pytest.raises(ServiceError):
        device.send_letter("gender", OWN, STARS, now)
    assert device.send_letter("gender", OWN, STARS | {76: 5.0}, now + 599).letter is None
    service.answers[LETTERS] = scores
    assert device.send_letter("gender", OWN, {}, now + 600).letter is not None
    assert device.send_letter("gender", OWN, {}, now + 1200).letter is None
    assert letters(service) == [expected()] * 2


def refuse(service, shown, status):
    """The next visit fetches these tables, their log and the latest epoch; then the letter is
    refused."""
    fetched = [shown.encode(), log(DISCLOSURE.digest), b'{"latest":-1}']
    service.failures.extend([(200, {}, data) for data in fetched] + [(status, {}, b"{}")])


@pytest.mark.parametrize("status", [409, 413])
def test_a_letter_that_is_never_accepted_is_not_tried_again(service, client, status):
    """Where the service has another letter of the epoch, or reads none so large, it leaves once."""
    device = client()
    device.send_letter("gender", OWN, STARS, NOW)
    refuse(service, DISCLOSURE, status)
    with pytest.raises(ServiceError, match=str(status)):
        device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    for now in (NOW + DAY // 2, NOW + DAY):
        device.send_letter("gender", OWN, STARS, now)
    assert [letter.epoch for letter in letters(service)] == [0, 1]


def test_a_letter_that_came_too_early_by_the_services_clock(service, client):
    """A letter that is refused under the tables of now leaves again, with the same bytes."""
    device = client()
    device.send_letter("gender", OWN, STARS, NOW)
    refuse(service, DISCLOSURE, 422)
    with pytest.raises(ServiceError, match="422"):
        device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    device.send_letter("gender", OWN, {}, NOW + HALF_HOUR + 600)
    assert letters(service) == [expected()] * 2


def test_a_letter_under_old_tables_is_not_tried_again(service, client):
    """A set that is sent on under the tables before may be refused; then the epoch is over."""
    device = spoken_once(client)
    other = disclosure(shift=1)
    refuse(service, other, 422)
    with pytest.raises(ServiceError, match="422"):
        device.send_letter("gender", OWN, STARS, NOW + DAY)
    before = list(service.asked)
    device.send_letter("gender", OWN, STARS, NOW + DAY + 3600)
    assert service.asked == before


def test_two_programs_with_one_memory(service, client, tmp_path):
    """Two programs that share account and memory send one letter an epoch together."""
    path = tmp_path / "account"
    made = FileAccount(path, NOW)
    devices = [
        client(FileMemory(tmp_path / "memory"), account) for account in (made, FileAccount(path))
    ]
    for now in (NOW, NOW + HALF_HOUR, NOW + DAY):
        for device in devices:
            device.send_letter("gender", OWN, STARS, now)
    assert [letter.epoch for letter in letters(service)] == [0, 1]


def test_two_programs_that_start_at_once(service, client, tmp_path):
    """Where the one that did not make the account's file opens the memory first, none is lost."""
    made, other = FileAccount(tmp_path / "a", NOW), FileAccount(tmp_path / "a")
    devices = [client(FileMemory(tmp_path / "memory"), account) for account in (other, made)]
    for now in (NOW, NOW + HALF_HOUR):
        for device in devices:
            device.send_letter("gender", OWN, STARS, now)
    [letter] = letters(service)
    assert letter.ratings != ()


def test_programs_that_speak_at_the_same_moment(service, client, tmp_path):
    """Eight programs that share account and memory, all at once, send the same bytes."""
    path = tmp_path / "account"
    made = FileAccount(path, NOW)
    client(FileMemory(tmp_path / "memory"), made).send_letter("gender", OWN, STARS, NOW)

    def speak(_):
        device = client(FileMemory(tmp_path / "memory"), FileAccount(path))
        return device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(speak, range(8)))
    assert len(set(letters(service))) == 1
    assert FileAccount(path).last_letter_epoch == 0


class InterruptedMemory(FileMemory):
    """A memory's file; `interrupt` runs once, when a transaction has stored a letter and ended."""

    interrupt = None

    @contextmanager
    def transaction(self):
        with super().transaction() as content:
            yield content
        if self.interrupt is not None and content.state is not None and content.state.letter:
            interrupt, self.interrupt = self.interrupt, None
            interrupt()


def test_a_program_that_sends_in_between(service, client, tmp_path):
    """A letter that was made before another program's leaves the later epoch in the account."""
    path = tmp_path / "account"
    memory = InterruptedMemory(tmp_path / "memory")
    early = client(memory, FileAccount(path, NOW))
    early.send_letter("gender", OWN, STARS, NOW)
    other = client(FileMemory(tmp_path / "memory"), FileAccount(path))
    memory.interrupt = lambda: other.send_letter("gender", OWN, STARS, NOW + DAY)
    early.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    assert [letter.epoch for letter in letters(service)] == [1, 0]
    assert FileAccount(path).last_letter_epoch == 1


def test_a_program_that_goes_on_with_an_old_memory(service, client, tmp_path):
    """It knows the letters that another program sent since it started, and decides nothing anew."""
    memory, path = FileMemory(tmp_path / "memory"), tmp_path / "account"
    early = client(memory, FileAccount(path, NOW))
    early.send_letter("gender", OWN, STARS, NOW)
    backup = (tmp_path / "memory").read_bytes()
    other = client(FileMemory(tmp_path / "memory"), FileAccount(path))
    other.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    (tmp_path / "memory").write_bytes(backup)
    for now in (NOW + DAY // 2, NOW + DAY):
        early.send_letter("gender", OWN, STARS, now)
    first, second = letters(service)
    assert first.ratings != ()
    assert (second.epoch, second.ratings) == (1, ())


# Lists at home


def spoken_once(client, **more):
    device = client(**more)
    for now in (NOW, NOW + HALF_HOUR):
        device.send_letter("gender", OWN, STARS, now)
    return device


def test_lists_from_the_letter(service, client):
    """Lists are by preference, ties in the disclosure's order, without what is rated."""
    device = spoken_once(client)
    best = sorted(
        (number for number, item in enumerate(FILMS) if item not in STARS),
        key=lambda number: (-(number % 7), number),
    )
    listed = device.recommend_from_letter("gender", STARS, n=4)
    assert listed == [FILMS[number] for number in best[:4]]


def test_predictions(service, client):
    """Predictions are the service's levels and the owner's own offsets."""
    predicted = spoken_once(client).predict("gender", OWN)
    offsets = DISCLOSURE.attributes[0].offsets[0]
    assert predicted == {
        item: 1.0 + (1_500_000 + offset) / 1_000_000
        for item, offset in zip(FILMS, offsets, strict=True)
    }


def test_no_scores_yet(service, client):
    """Before the first letter there are no scores, and the sentence says what to do."""
    device = client()
    device.send_letter("gender", OWN, STARS, NOW)
    for asked in (device.recommend_from_letter, device.predict):
        with pytest.raises(ConfigError, match="recommend_on_device"):
            asked("gender", {})


def test_a_star_between_two_levels_counts_as_the_higher(service, client):
    """Half a level is rounded up, as the TypeScript client and the recommender do."""
    device = client()
    halves = {FILMS[3]: 3.0, FILMS[9]: 3.5}
    assert device.recommend_on_device("gender", halves, n=2, now=NOW) == [FILMS[10], FILMS[4]]


def test_lists_at_the_device(service, client):
    """Lists from true stars need no letter, and the table is fetched once an epoch."""
    device = client()
    liked = {FILMS[3]: 5.0, FILMS[9]: 1.0, "elsewhere": 5.0}
    assert device.recommend_on_device("gender", liked, n=2, now=NOW) == [FILMS[4], FILMS[10]]
    for more in ({}, liked):
        device.recommend_on_device("gender", more, now=NOW + 1)
    assert [path for _, path, *_ in service.asked] == [TABLES, f"{TABLES}/item-table"]
    device.recommend_on_device("gender", {}, now=epoch_start(calendar_epoch(NOW, WEEK) + 1, WEEK))
    assert len(service.asked) == 4


def test_an_item_table_of_another_disclosure(service, client):
    """A table that is not the disclosure's is the service's error."""
    at(service, disclosure(shift=1))
    with pytest.raises(ServiceError, match="item table"):
        client().recommend_on_device("gender", {}, now=NOW)


def test_no_item_table(service, client):
    """Where none is published, the error has the service's status."""
    service.answers[f"{TABLES}/item-table"] = None
    with pytest.raises(ServiceError) as raised:
        client().recommend_on_device("gender", {}, now=NOW)
    assert raised.value.status == 404


OFF_SCALE = [9.0, math.nan, math.inf, 10**400, None, "4", b"4", 4j, [4.0], np.array([4.0, 5.0])]


@pytest.mark.parametrize("stars", OFF_SCALE, ids=lambda stars: ascii(stars)[:9])
def test_stars_off_the_scale(service, client, stars):
    """Such a star, or no number, is not decided, its owner hears of it, and the letter leaves."""
    memory = Memory()
    device = client(memory)
    wrong = STARS | {12: stars}
    device.send_letter("gender", OWN, {}, NOW)
    spoken = device.send_letter(
        "gender", OWN, wrong, NOW + HALF_HOUR, entered=dict.fromkeys(wrong, NOW)
    )
    assert spoken.notice == "Not decided, because the stars lie off the scale: 12."
    assert letters(service) == [expected({i: s for i, s in STARS.items() if i != 12})]
    with memory.transaction() as kept:
        assert 12 not in kept.state.records
    with pytest.raises(ConfigError):
        device.recommend_on_device("gender", wrong, now=NOW)


# What a device does not follow: it goes on sending the last set, and says why


def test_another_attribute_value(service, client):
    """Under another value nothing new is decided; the last set is sent on, with a notice."""
    memory = Memory()
    spoken_once(client, memory=memory)
    more = STARS | {76: 5.0, 75: 5.0}
    entered = dict.fromkeys(more, NOW)
    spoken = client(memory).send_letter("gender", {"gender": "M"}, more, NOW + DAY, entered=entered)
    assert "Nothing new is decided" in spoken.notice
    first, second = letters(service)
    assert second == Release(DISCLOSURE.digest, 1, first.ratings)
    with memory.transaction() as kept:
        assert 76 not in kept.state.records


@pytest.mark.parametrize(
    "shown",
    [
        lambda other: log(DISCLOSURE.digest),
        lambda other: log(other.digest),
        lambda other: b'{"log": []}',
    ],
    ids=["a digest that the log has not", "a log that was changed", "an empty log"],
)
def test_a_log_that_does_not_go_on(service, client, shown):
    """Tables that are not the log's, or a log that is not the earlier one, are not followed."""
    device = spoken_once(client)
    other = disclosure(shift=1)
    at(service, other)
    service.answers[f"{TABLES}/log"] = shown(other)
    spoken = device.send_letter("gender", OWN, STARS | {76: 5.0}, NOW + DAY)
    assert "Nothing new is decided" in spoken.notice
    first, second = letters(service)
    assert second == Release(DISCLOSURE.digest, 1, first.ratings)


def test_a_refit(service, client):
    """New tables of the log are for undecided items only; the set goes on under the new digest."""
    device = spoken_once(client)
    other = disclosure(shift=1)
    at(service, other)
    rows = json.loads(log(DISCLOSURE.digest))["log"]
    rows.append({"epoch": rows[-1]["epoch"] + 1, "digest": other.digest})
    service.answers[f"{TABLES}/log"] = json.dumps({"log": rows}).encode()
    now = sending_time(calendar_epoch(NOW + DAY, WEEK), NOW, WEEK, SECRET)
    spoken = device.send_letter("gender", OWN, STARS, now)
    assert spoken.notice == ""
    first, second = letters(service)
    assert (second.disclosure, second.ratings) == (other.digest, first.ratings)


def test_a_pinned_disclosure(service, client):
    """Tables that are not the expected ones are not followed, whatever the log says."""
    device = client()
    device.send_letter("gender", OWN, STARS, NOW, digest=DISCLOSURE.digest)
    spoken = device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR, digest="0" * 16)
    assert "not the expected one" in spoken.notice
    assert letters(service) == []


def listing(*values):
    """The disclosure with other names of its two values."""
    [table] = DISCLOSURE.attributes
    return replace(DISCLOSURE, attributes=(replace(table, values=values),))


def follow(service, *shown):
    """From now on the service shows the last of these disclosures, each of one epoch of its log."""
    at(service, shown[-1])
    first = json.loads(log(shown[0].digest))["log"][0]["epoch"]
    rows = [{"epoch": first + n, "digest": one.digest} for n, one in enumerate(shown)]
    service.answers[f"{TABLES}/log"] = json.dumps({"log": rows}).encode()


@pytest.mark.parametrize("value", ["F", "M", "X"])
def test_lists_of_values_do_not_tell_a_value(service, client, tmp_path, value):
    """Before the first letter, an unlisted value is in no request with the key, then and later."""
    account, memory = FileAccount(tmp_path / "account", NOW), FileMemory(tmp_path / "memory")
    week = epoch_start(calendar_epoch(NOW + DAY, WEEK) + 1, WEEK) + 2 * DAY
    notices = []
    for shown, seconds in (
        ([listing("F", "Z")], (NOW, NOW + HALF_HOUR, NOW + DAY)),
        ([listing("F", "Z"), listing("M", "Z")], (week, week + WEEK)),
        ([listing("F", "Z"), listing("M", "Z"), listing("F", "M")], (week + 2 * WEEK,)),
    ):
        follow(service, *shown)
        for now in seconds:
            device = client(memory, account)
            spoken = device.send_letter("gender", {"gender": value}, STARS, now)
            notices.append(spoken.notice)
    keyed = [path for _, path, _, headers in service.asked if "Authorization" in headers]
    if value == "F":
        assert len(letters(service)) == 5
        assert len({letter.ratings for letter in letters(service)[1:]}) == 1
    else:
        assert keyed == letters(service) == []
        assert all("decided or sent" in notice for notice in notices[1:])


@pytest.mark.parametrize("changed", [("F", "Z"), ("M", "Z")], ids=["with F", "without F"])
def test_the_list_of_values_is_stored_before_the_first_request_with_the_key(
    service, client, tmp_path, changed
):
    """Where this request fails, and the list changes, no other request has the key."""
    account, memory = FileAccount(tmp_path / "account", NOW), FileMemory(tmp_path / "memory")
    week = epoch_start(calendar_epoch(NOW + DAY, WEEK) + 1, WEEK) + 2 * DAY
    service.answers[f"{TABLES}/latest"] = b"[]"
    follow(service, listing("F", "M"))
    with pytest.raises(ServiceError, match="latest epoch is not"):
        client(memory, account).send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    follow(service, listing("F", "M"), listing(*changed))
    for now in (week, week + WEEK):
        spoken = client(memory, account).send_letter("gender", OWN, STARS, now)
        assert "decided or sent" in spoken.notice
    keyed = [path for _, path, _, headers in service.asked if "Authorization" in headers]
    assert keyed == [f"{TABLES}/latest"]


def test_a_letter_of_an_unlisted_value_is_not_tried_every_ten_minutes(service, client):
    """Public files are fetched as often as by a device that sends letters."""
    counts = []
    for value in ("F", "X"):
        service.asked.clear()
        device = client()
        for now in range(NOW, NOW + 2 * DAY, 1200):
            device.send_letter("gender", {"gender": value}, STARS, now)
        counts.append([path for _, path, *_ in service.asked].count(TABLES))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("own", ["30", 30, 30.0, " 30 ", "25 and above"], ids=repr)
def test_a_number_counts_as_its_bin(service, client, own):
    """As `StandardScheme` reads it: a person may give the number that the disclosure cuts."""
    labels = ("below 25", "25 and above")
    follow(service, listing(*labels))
    service.answers[LETTERS] = scores
    device = client()
    for now in (NOW, NOW + HALF_HOUR):
        spoken = device.send_letter("gender", {"gender": own}, STARS, now)
    shown = Device(listing(*labels), {"gender": labels[1]}, State(created=NOW), SECRET)
    assert letters(service) == [shown.release(STARS, 0)]
    assert spoken.notice == ""
    predicted = device.predict("gender", {"gender": own})
    assert predicted == device.predict("gender", {"gender": labels[1]})


@pytest.mark.parametrize("own", [1.0, " 1 ", np.float32(1)], ids=repr)
def test_a_value_is_read_as_in_training(service, client, own):
    """Blanks around a value do not count, and 1.0 is "1"."""
    follow(service, listing("1", "2"))
    service.answers[LETTERS] = scores
    device = client()
    for now in (NOW, NOW + HALF_HOUR):
        spoken = device.send_letter("gender", {"gender": own}, STARS, now)
    shown = Device(listing("1", "2"), {"gender": "1"}, State(created=NOW), SECRET)
    assert letters(service) == [shown.release(STARS, 0)]
    assert spoken.notice == ""


def test_another_disclosure(service, client):
    """An account answers one disclosure; a second one is refused, and nothing is fetched."""
    device = spoken_once(client)
    before = list(service.asked)
    with pytest.raises(PrivacyError, match="Another one needs another account"):
        device.send_letter("age", OWN, STARS, NOW + DAY)
    assert service.asked == before


# A memory that is lost, old, or another account's


@pytest.mark.parametrize("spoke", [True, False], ids=["that spoke", "that never spoke"])
def test_an_account_without_its_memory(service, client, tmp_path, spoke):
    """A device with the secret alone sends nothing, then and later, and says so to its owner.

    Another memory may decide whatever is rated later, too.
    """
    path = tmp_path / "account"
    device = client(account=FileAccount(path, NOW))
    if spoke:
        device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR, entered=dict.fromkeys(STARS, NOW))
    before, memory = letters(service), FileMemory(tmp_path / "second")
    more, heard = STARS | dict.fromkeys(FILMS[20:], 4.0), set()
    for now in range(NOW + DAY, NOW + 4 * WEEK, DAY):
        second = client(memory, FileAccount(path))
        spoken = second.send_letter("gender", OWN, more, now, entered=dict.fromkeys(more, NOW + 5))
        heard.add(spoken.notice)
        assert spoken.letter is None
    assert letters(service) == before
    (notice,) = heard - {""}
    assert notice.startswith("Nothing new is decided or sent: another memory of this account")


def test_a_new_account_from_elsewhere(service, client, tmp_path):
    """After forgetting, too, an account that was not made here decides and sends nothing."""
    memory, path = Memory(), tmp_path / "account"
    spoken_once(client, memory=memory).forget("ann", STARS, NOW + DAY)
    FileAccount(path, NOW)
    copied = client(memory, FileAccount(path))
    before = letters(service)
    for now in (NOW + DAY, NOW + WEEK, NOW + 2 * WEEK):
        copied.send_letter("gender", OWN, dict.fromkeys(FILMS, 4.0), now)
    assert letters(service) == before


def test_a_copy_of_account_and_memory(service, client, tmp_path):
    """Where the service has another letter of the epoch, nothing new is decided ever after.

    The copy goes on sending what it sent, so that it does not look different.
    """
    memory = FileMemory(tmp_path / "memory")
    device = spoken_once(client, memory=memory)
    refuse(service, DISCLOSURE, 409)
    more = STARS | dict.fromkeys(FILMS[20:], 4.0)
    entered = dict.fromkeys(more, NOW)
    with pytest.raises(ServiceError, match="409"):
        device.send_letter("gender", OWN, STARS, NOW + DAY, entered=entered)
    for now in range(NOW + WEEK, NOW + 5 * WEEK, DAY):
        spoken = client(memory).send_letter("gender", OWN, more, now, entered=entered)
    first, *_, last = letters(service)
    assert last.epoch > first.epoch
    assert last.ratings == first.ratings
    assert {item for item, _ in last.ratings} <= set(STARS)
    with memory.transaction() as kept:
        assert kept.state.closed
        assert set(kept.state.records) <= set(STARS)
    assert spoken.letter is None


def took(service, epoch):
    """The service has a letter of this epoch."""
    service.answers[f"{TABLES}/latest"] = json.dumps({"latest": epoch}).encode()


def test_a_copy_that_is_used_in_other_epochs(service, client):
    """Where the service has a letter of an epoch that this memory knows nothing of, nothing is
    decided or sent; the memory that goes on is not disturbed."""
    memory, copied = Memory(), Memory()
    device = spoken_once(client, memory=memory)
    with memory.transaction() as kept, copied.transaction() as other:
        vars(other).update(copy.deepcopy(vars(kept)))
    device.send_letter("gender", OWN, STARS, NOW + DAY)
    took(service, 1)
    before, more = letters(service), dict.fromkeys(FILMS, 4.0)
    entered = dict.fromkeys(FILMS, NOW)
    for now in range(NOW + 2 * WEEK, NOW + 5 * WEEK, DAY):
        spoken = client(copied).send_letter("gender", OWN, more, now, entered=entered)
        assert spoken.letter is None
    assert letters(service) == before
    with copied.transaction() as kept:
        assert set(kept.state.records) <= set(STARS)
    device.send_letter("gender", OWN, more, NOW + 3 * WEEK, entered=entered)
    assert len(letters(service)) == len(before) + 1
    assert letters(service)[-1].ratings == before[-1].ratings


def test_a_new_account_under_an_old_name(service, client):
    """Who lost account and memory, and kept the service's key, is not decided about again."""
    took(service, calendar_epoch(NOW, WEEK) - 1)
    device = client()
    for now in (NOW, NOW + HALF_HOUR, NOW + DAY, NOW + 2 * WEEK):
        spoken = device.send_letter("gender", OWN, STARS, now)
        assert spoken.letter is None
    assert letters(service) == []
    assert "decided or sent" in spoken.notice


def test_the_latest_epoch_is_asked_for_with_a_letter(service, client):
    """It is asked for with the key, at the second of a letter and at no other time."""
    device, noted = client(), []
    service.answers[f"{TABLES}/latest"] = b'{"latest": -1}'
    for now in range(NOW, NOW + 3 * WEEK, 6 * 3600):
        service.asked.clear()
        device.send_letter("gender", OWN, STARS, now)
        noted.append(
            [path for _, path, *_ in service.asked if path in (f"{TABLES}/latest", LETTERS)]
        )
    assert sorted(noted)[-5:] == [[f"{TABLES}/latest", LETTERS]] * 5
    assert not any(sorted(noted)[:-5])


@pytest.mark.parametrize("answer", [b"[]", b'{"latest": "1"}', b'{"latest": 1.0}'])
def test_a_latest_epoch_that_is_none(service, client, answer):
    """Then nothing is decided or sent, until the service says something else."""
    service.answers[f"{TABLES}/latest"] = answer
    with pytest.raises(ServiceError, match="latest epoch is not"):
        client().send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    assert letters(service) == []


def test_a_backup_of_a_forgotten_account(service, client):
    """A memory that is brought back after "forget me" sends nothing."""
    memory, copied, account = Memory(), Memory(), Account(SECRET, NOW)
    device = spoken_once(client, memory=memory, account=account)
    with memory.transaction() as kept, copied.transaction() as other:
        vars(other).update(copy.deepcopy(vars(kept)))
    device.forget("ann", STARS, NOW + DAY)
    before = letters(service)
    for now in range(NOW + DAY, NOW + 3 * WEEK, DAY):
        client(copied, account).send_letter("gender", OWN, STARS, now)
    assert letters(service) == before


ODD = [2.5, None, True, (1, 2), "\ud800", b"x", float("nan")]


@pytest.mark.parametrize("item", ODD, ids=ascii)
def test_an_id_that_no_message_can_hold(service, client, tmp_path, item):
    """It is left out, the owner hears of it, the letter leaves, and the memory can be read."""
    account, path = FileAccount(tmp_path / "account", NOW), tmp_path / "memory"
    device = client(FileMemory(path), account)
    device.send_letter("gender", OWN, STARS | {item: 4.0}, NOW)
    now = NOW + HALF_HOUR
    spoken = client(FileMemory(path), account).send_letter("gender", OWN, STARS | {item: 4.0}, now)
    assert ascii(item) in spoken.notice
    assert len(letters(service)[0].ratings) > 0
    client(FileMemory(path), account).forget("ann", [*STARS, item], NOW + DAY)


def test_ids_of_numpy(service, client):
    """Its integers and texts are ids like Python's own."""
    device = client()
    for now in (NOW, NOW + HALF_HOUR):
        stars = {
            np.int64(item) if isinstance(item, int) else np.str_(item): star
            for item, star in STARS.items()
        }
        device.send_letter("gender", OWN, stars, now)
    assert letters(service) == [expected()]


def test_an_old_memory(service, client, tmp_path):
    """A memory from a backup decides nothing that was rated since it was copied."""
    memory, path = FileMemory(tmp_path / "memory"), tmp_path / "account"
    device = spoken_once(client, memory=memory, account=FileAccount(path, NOW))
    backup = (tmp_path / "memory").read_bytes()
    more = STARS | dict.fromkeys(FILMS[20:], 4.0)
    device.send_letter("gender", OWN, more, NOW + DAY, entered=dict.fromkeys(more, NOW))
    (tmp_path / "memory").write_bytes(backup)
    now = sending_time(calendar_epoch(NOW + DAY, WEEK), NOW, WEEK, SECRET) + WEEK
    restored = client(memory, FileAccount(path))
    for later in range(0, 4 * WEEK, DAY):
        restored.send_letter("gender", OWN, more, now + later)
    first, second, *others = letters(service)
    assert len(others) > 1
    assert all(letter.ratings == first.ratings != second.ratings for letter in others)


def test_another_accounts_memory(client):
    """A memory is one account's: another one is refused at once."""
    memory = Memory()
    client(memory)
    with pytest.raises(PrivacyError, match="another account"):
        client(memory, Account(bytes(32), NOW))


# Forgetting


def test_forget_me(service, client, tmp_path):
    """The service is asked to delete; at home the ids stay, frozen, and no star or level."""
    memory = FileMemory(tmp_path / "memory")
    device = spoken_once(client, memory=memory)
    assert device.forget("ann", STARS, NOW + DAY) == {"user": "ann"}
    method, path, body, headers = service.asked[-1]
    assert (method, path, body) == ("DELETE", "/api/users/ann", b"")
    assert headers["Authorization"] == "Bearer tacit_1_abc"
    with memory.transaction() as kept:
        assert kept.state.frozen >= set(FILMS[:20])
        assert kept.state.records == kept.state.arrivals == kept.reports == {}
        assert kept.state.letter is None
        assert kept.last_answer == (b"", b"")


def test_forgetting_is_final(service, client):
    """A forgotten account sends no letter and no report, from this object or another one."""
    memory = Memory()
    device = spoken_once(client, memory=memory)
    device.forget("ann", STARS, NOW + DAY)
    before = list(service.asked)
    for one in (device, client(memory)):
        with pytest.raises(PrivacyError, match="forgotten"):
            one.send_letter("gender", OWN, STARS, NOW + DAY)
        with pytest.raises(PrivacyError, match="forgotten"):
            one.report("films", {})
    assert {method for method, *_ in service.asked[len(before) :]} == {"GET"}


def test_forgetting_again(service, client, tmp_path):
    """If the service was away, the same request is sent again, also after a restart."""
    memory = FileMemory(tmp_path / "memory")
    device = spoken_once(client, memory=memory)
    service.answers["/api/users/ann"] = None
    with pytest.raises(ServiceError):
        device.forget("ann", STARS, NOW + DAY)
    service.answers["/api/users/ann"] = b"{}"
    client(memory).forget("ann", STARS, NOW + DAY)
    client(memory, Account(bytes(32), NOW + DAY))  # the next account has begun
    client(memory).forget("ann", STARS, NOW + DAY)
    deletions = [headers for method, *_, headers in service.asked if method == "DELETE"]
    assert len({headers["Idempotency-Key"] for headers in deletions}) == 1
    assert len(deletions) == 3


def test_forgetting_without_a_memory(service, client, tmp_path):
    """What is rated is given to `forget`: a next account does not decide it, memory or none."""
    path, memory = tmp_path / "account", Memory()
    spoken_once(client, account=FileAccount(path, NOW))
    client(memory, FileAccount(path)).forget("ann", STARS, NOW + DAY)
    service.asked.clear()
    device = client(memory, Account(bytes(32), NOW + DAY))
    more = STARS | dict.fromkeys(FILMS[20:], 4.0)
    for now in (NOW + DAY, NOW + DAY + HALF_HOUR):
        device.send_letter("gender", OWN, more, now)
    [letter] = letters(service)
    assert {item for item, _ in letter.ratings} <= set(FILMS[20:])
    assert letter.ratings != ()


def test_a_new_account_after_forgetting(service, client):
    """A new account with this memory decides only items that the old one did not."""
    memory = Memory()
    spoken_once(client, memory=memory).forget("ann", STARS, NOW + DAY)
    service.asked.clear()
    later = NOW + 2 * DAY
    device = client(memory, Account(bytes(32), later))
    more = STARS | dict.fromkeys(FILMS[20:], 4.0)
    for now in (later, later + HALF_HOUR):
        device.send_letter("gender", OWN, more, now)
    [letter] = letters(service)
    assert {item for item, _ in letter.ratings} <= set(FILMS[20:])
    assert letter.ratings != ()


# What leaves


def test_the_attribute_does_not_leave(service, client):
    """No request has the attribute's value, a true star or the secret in it."""
    device = spoken_once(client)
    device.recommend_on_device("gender", STARS, now=NOW)
    device.forget("ann", STARS, NOW + DAY)
    left = b"\n".join(
        path.encode() + body + json.dumps(headers).encode()
        for _, path, body, headers in service.asked
    )
    for secret in (b'"F"', b"gender=", b"4.0", SECRET, SECRET.hex().encode()):
        assert secret not in left


NOT_ANSWERS = [b"", b"null", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"log": [1]}']
NOT_ANSWERS += [b'{"log": [{"epoch": 1.5, "digest": "x"}]}', b'{"log": [], "log": []}']


@pytest.mark.parametrize("data", NOT_ANSWERS, ids=lambda data: data[:20].hex())
@pytest.mark.parametrize("path", [TABLES, f"{TABLES}/log", LETTERS])
def test_answers_that_are_none(service, client, path, data):
    """Whatever a service sends instead of a message is its error, in one sentence."""
    device = client()
    device.send_letter("gender", OWN, STARS, NOW)
    service.answers[path] = (lambda _: data) if path == LETTERS else data
    with pytest.raises(ServiceError):
        device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)


@pytest.mark.parametrize("change", ["digest", "items"])
def test_scores_that_cannot_be_used(service, client, change):
    """Scores of another disclosure, or not of all items, are the service's error."""
    wrong = {"digest": (b'"disclosure":"', b'"disclosure":"0'), "items": (b"[12,", b"[13,")}

    service.answers[LETTERS] = lambda body: scores(body).replace(*wrong[change])
    device = client()
    device.send_letter("gender", OWN, STARS, NOW)
    with pytest.raises(ServiceError, match="cannot be used"):
        device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    with pytest.raises(ConfigError):
        device.predict("gender", OWN)


def test_the_table_is_a_list_of_weights():
    """The tests' own item table is one that clients accept."""
    assert ITEM_TABLE.decode(ITEM_TABLE.encode()) == ITEM_TABLE


# Times and stars that are no numbers, and programs that forget in between


NOT_SECONDS = [NOW + 0.5, float(NOW), math.nan, math.inf, -1, 10**400, True, "now"]


@pytest.mark.parametrize("second", NOT_SECONDS, ids=lambda second: str(second)[:9])
def test_a_time_that_no_memory_can_hold_is_refused(service, client, tmp_path, second):
    """Files of account and memory can be read afterwards, and nothing was sent."""
    with pytest.raises(ConfigError, match="created is a Unix second"):
        Account(SECRET, second)
    with pytest.raises(ConfigError, match="now is a Unix second"):
        FileAccount(tmp_path / "account", second)
    assert not (tmp_path / "account").exists()
    memory = FileMemory(tmp_path / "memory")
    device = client(memory, FileAccount(tmp_path / "account", NOW))
    device.send_letter("gender", OWN, {}, NOW)
    with memory.transaction() as content:
        stored = copy.deepcopy(content)
    service.asked.clear()
    calls = [
        lambda: device.send_letter("gender", OWN, STARS, second),
        lambda: device.forget("ann", STARS, second),
        lambda: device.recommend_on_device("gender", STARS, now=second),
        lambda: device.send_letter("gender", OWN, STARS, NOW + 1, entered={12: second}),
    ]
    for call in calls:
        with pytest.raises(ConfigError, match="is a Unix second"):
            call()
    assert service.asked == []
    with memory.transaction() as content:
        assert content == stored


def test_a_time_of_numpy_is_a_time(service, client):
    """Whole numbers of any type are stored as numbers of Python."""
    device = client(Memory(), Account(SECRET, np.int64(NOW)))
    for now in (NOW, NOW + HALF_HOUR):
        device.send_letter("gender", OWN, STARS, np.int64(now), entered={12: np.int64(NOW)})
    assert len(letters(service)) == 1


@pytest.mark.parametrize(
    "stars", [math.nan, math.inf, 10**400, "five", "4", None], ids=lambda stars: str(stars)[:9]
)
def test_stars_that_are_no_number_are_refused_in_a_list(client, stars):
    """In a sentence, also where no float can hold them."""
    with pytest.raises(ConfigError, match="Stars are finite numbers"):
        client().recommend_on_device("gender", STARS | {12: stars}, now=NOW)


@pytest.mark.parametrize("stars", [Decimal(4), Fraction(4), np.float32(4)], ids=repr)
def test_numbers_of_other_types_are_stars(service, client, stars):
    """In a letter and in a list they count as the float that they are."""
    device = client()
    history = {12: stars, "é": stars}
    for now in (NOW, NOW + HALF_HOUR):
        device.send_letter("gender", OWN, history, now, entered=dict.fromkeys(history, NOW))
    as_floats = dict.fromkeys(history, 4.0)
    assert letters(service) == [expected(as_floats)]
    listed = [device.recommend_on_device("gender", one, now=NOW) for one in (history, as_floats)]
    assert listed[0] == listed[1]


@pytest.mark.parametrize("n", [0, -1, 1.5, math.nan, math.inf, "3"])
def test_a_length_that_is_no_whole_number_is_refused(client, n):
    """Of each kind of list."""
    with pytest.raises(ConfigError, match="at least one entry"):
        client().recommend_on_device("gender", STARS, n=n, now=NOW)
    with pytest.raises(ConfigError, match="at least one entry"):
        client().recommend_from_letter("gender", STARS, n=n)


@pytest.mark.parametrize("entry", [(2**70, "00"), (-1, "00"), (9, "\ud800")], ids=ascii)
def test_a_log_that_no_memory_can_hold_is_refused(service, client, tmp_path, entry):
    """A service cannot make the memory unreadable by an entry of its log."""
    shown = json.loads(service.answers[f"{TABLES}/log"])
    shown["log"].append(dict(zip(("epoch", "digest"), entry, strict=True)))
    service.answers[f"{TABLES}/log"] = json.dumps(shown).encode()
    memory = FileMemory(tmp_path / "memory")
    device = client(memory)
    with pytest.raises(ServiceError, match="entry without epoch or digest"):
        device.send_letter("gender", OWN, STARS, NOW)
    with memory.transaction() as content:
        assert content.state is None


def test_an_account_that_is_forgotten_before_a_letter_is_made_sends_none(
    service, client, monkeypatch
):
    """Another program forgets while the public files are fetched."""
    memory = Memory()
    device, other = client(memory), client(memory)
    device.send_letter("gender", OWN, STARS, NOW)
    fetch = Transport.fetch_digest_log

    def forget_and_fetch(self, name):
        other.forget("ann", STARS, NOW + HALF_HOUR)
        return fetch(self, name)

    monkeypatch.setattr(Transport, "fetch_digest_log", forget_and_fetch)
    with pytest.raises(PrivacyError, match="forgotten"):
        device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    assert letters(service) == []


def test_an_account_that_is_forgotten_while_a_letter_is_sent_stores_no_answer(
    service, client, monkeypatch
):
    """The emptied memory stays empty: nothing of the letter is left for the next account."""
    memory = Memory()
    device, other = client(memory), client(memory)
    device.send_letter("gender", OWN, STARS, NOW)
    post = Transport.post

    def post_and_forget(self, path, body):
        answer = post(self, path, body)
        other.forget("ann", STARS, NOW + HALF_HOUR)
        return answer

    monkeypatch.setattr(Transport, "post", post_and_forget)
    device.send_letter("gender", OWN, STARS, NOW + HALF_HOUR)
    with memory.transaction() as content:
        assert content.last_answer == (b"", b"")
        assert content.settled_epoch == -1
