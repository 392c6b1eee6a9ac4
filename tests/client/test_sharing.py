"""Two clients of one person: one memory in a store that they own."""

from __future__ import annotations

from itertools import pairwise

import pytest
from passing_store import PassingStore
from small_world import FILMS, NOW

from tacit.client import FileAccount, FileMemory, PassingAccount, PassingMemory, ServiceError
from tacit.designs.standard_scheme import Release
from tacit.designs.standard_scheme.messages import DAY, WEEK
from tacit.designs.standard_scheme.synchronised import LEAST_BYTES, Shared
from tacit.errors import OutputError, PrivacyError

LETTERS = "/api/disclosures/gender/letters"
PUBLIC = ("/api/disclosures/gender", "/api/disclosures/gender/log")
OWN = {"gender": "F"}
HALF_HOUR = 1800
ONE = dict.fromkeys(FILMS[:15], 4.0)
TWO = dict.fromkeys(FILMS[10:30], 2.0)


def letters(service):
    return [Release.decode(body) for _, path, body, _ in service.asked if path == LETTERS]


class Watched(PassingStore):
    """Notes when it is read and written, and how long the content is."""

    def __init__(self):
        super().__init__()
        self.noted, self.now = [], NOW

    def read(self):
        self.noted.append(("read", self.now))
        return super().read()

    def swap(self, number, data):
        self.noted.append(("write", self.now, len(data)))
        return super().swap(number, data)


@pytest.fixture
def pair(client, tmp_path):
    """Two devices of one person: a copy of the account's file, each with its own memory."""

    def make(store):
        first = FileAccount(tmp_path / "one", NOW)
        (tmp_path / "two").write_bytes((tmp_path / "one").read_bytes())
        return [
            client(FileMemory(tmp_path / f"memory {name}"), account, store=store)
            for name, account in (("one", first), ("two", FileAccount(tmp_path / "two")))
        ]

    return make


def weeks(devices, count, begin=NOW):
    """Each device speaks every six hours, by its own stars."""
    for now in range(begin, begin + count * WEEK, DAY // 4):
        for device, stars in zip(devices, (ONE, TWO), strict=False):
            device.speak("gender", OWN, stars, now, entered=dict.fromkeys(stars, NOW))


def test_two_devices_are_one(service, pair, tmp_path):
    """One letter an epoch leaves, with what both rated, each item decided once; the one with the
    right to send sends all of them."""
    weeks(pair(tmp_path), 4)
    sent = letters(service)
    assert len({letter.epoch for letter in sent}) == len(sent) == 6
    assert {item for item, _ in sent[-1].ratings} & set(FILMS[20:30])
    assert all(set(a.ratings) <= set(b.ratings) for a, b in pairwise(sent))
    state = Shared.decode((tmp_path / "tacit-memory").read_bytes()[8:]).state
    assert set(state.records) == set(FILMS[:30])


def test_the_store_tells_no_time_and_no_number(client):
    """Its reads, writes and sizes are equal for many ratings and for none."""
    noted = []
    for stars in (ONE, {}):
        store = Watched()
        device = client(store=store)
        for store.now in range(NOW, NOW + 3 * WEEK, 3600):
            device.speak("gender", OWN, stars if store.now > NOW + DAY else {}, store.now)
        noted.append(store.noted)
    assert noted[0] == noted[1]
    assert {size for what, _, *rest in noted[0] for size in rest} == {LEAST_BYTES}
    assert len({now for _, now, *_ in noted[0]}) == 6  # at the first start, and for each letter


def test_the_other_device_goes_on(service, pair, tmp_path):
    """Where the first device is not seen for two weeks the second one sends, by the same memory."""
    one, two = pair(tmp_path)
    weeks([one], 2)
    before = letters(service)
    weeks([two], 4, begin=NOW + 2 * WEEK)
    after = letters(service)[len(before) :]
    assert after
    assert set(before[-1].ratings) <= set(after[0].ratings)
    assert after[0].epoch > before[-1].epoch


def test_a_device_without_the_store_sends_nothing(service, client, pair, tmp_path):
    """A copy of the account alone is silent; it begins no store either."""
    one, _ = pair(tmp_path)
    weeks([one], 2)
    before, own = letters(service), PassingStore()
    third = client(FileMemory(tmp_path / "m"), FileAccount(tmp_path / "two"), store=own)
    weeks([third], 2, begin=NOW + 2 * WEEK)
    assert letters(service) == before
    assert own.read() == (0, b"")


def test_the_letter_is_in_the_store_when_it_leaves(service, client):
    """If it cannot be written there, nothing is sent and nothing is kept as decided."""

    class Full(PassingStore):
        def swap(self, number, data):
            raise OSError(28, "No space left on device")

    device = client(store=Full())
    with pytest.raises(OutputError, match="No space left on device"):
        device.speak("gender", OWN, ONE, NOW + HALF_HOUR, entered=dict.fromkeys(ONE, NOW))
    assert letters(service) == []


def test_a_lost_answer(service, client):
    """A letter that was not answered leaves again with the same bytes, also after a restart."""
    store, memory = PassingStore(), PassingMemory()
    answer = service.answers.pop(LETTERS)
    entered = dict.fromkeys(ONE, NOW)
    with pytest.raises(ServiceError):
        client(memory, store=store).speak("gender", OWN, ONE, NOW + HALF_HOUR, entered=entered)
    service.answers[LETTERS] = answer
    client(memory, store=store).speak("gender", OWN, {}, NOW + 2 * HALF_HOUR)
    assert len(set(letters(service))) == 1
    assert len(letters(service)) == 2


def test_a_clone_closes_the_store(service, client):
    """After another letter of the epoch, no device of the person decides anything more."""
    store, account = PassingStore(), PassingAccount(bytes(32), NOW)
    device = client(None, account, store=store)
    asked = [(200, {}, service.answers[path]) for path in PUBLIC]
    service.failures.extend([*asked, (200, {}, b'{"latest":-1}'), (409, {}, b"{}")])
    with pytest.raises(ServiceError, match="409"):
        device.speak("gender", OWN, {}, NOW + HALF_HOUR)
    weeks([device], 2)
    assert all(letter.ratings == () for letter in letters(service))
    state = Shared.decode(store.read()[1]).state
    assert (state.closed, state.records) == (True, {})


def test_a_device_that_may_not_send_asks_for_each_letter_once(service, pair, tmp_path):
    """It looks at the store when a letter is due, and not again until the next one is."""
    one, two = pair(tmp_path)
    weeks([one, two], 2)
    service.asked.clear()
    begin = NOW + 2 * WEEK
    for now in range(begin, begin + WEEK, 600):
        two.speak("gender", OWN, TWO, now)
    assert len(service.asked) == len(PUBLIC)


@pytest.mark.parametrize("first", [True, False], ids=["the first device", "the second device"])
def test_a_store_that_was_rolled_back(service, pair, tmp_path, first):
    """A device that saw a later content decides nothing that the lost one may have decided."""
    devices = pair(tmp_path)
    weeks(devices, 1)
    file = tmp_path / "tacit-memory"
    earlier = file.read_bytes()
    more = dict.fromkeys(FILMS, 4.0)
    for now in range(NOW + WEEK, NOW + 3 * WEEK, DAY):
        devices[0].speak("gender", OWN, more, now, entered=dict.fromkeys(more, NOW))
        devices[1].speak("gender", OWN, TWO, now)
    before = letters(service)[-1]
    file.write_bytes(earlier)
    device = devices[0] if first else devices[1]
    for now in range(NOW + 5 * WEEK, NOW + 8 * WEEK, DAY):
        device.speak("gender", OWN, more, now, entered=dict.fromkeys(more, NOW))
    last = letters(service)[-1]
    assert last.epoch > before.epoch
    assert set(last.ratings) < set(before.ratings)
    state = Shared.decode(file.read_bytes()[8:]).state
    assert set(state.frozen) | set(state.records) == set(FILMS)
    assert not set(FILMS[30:]) & state.records.keys()


@pytest.mark.parametrize("what", ["empty", "not given"])
def test_a_memory_that_was_in_a_store_waits_for_it(service, client, pair, tmp_path, what):
    """Without the store, as where its folder is not there, it decides and sends nothing."""
    one, two = pair(tmp_path)
    weeks([one, two], 1)
    before = letters(service)
    account = FileAccount(tmp_path / "two")
    alone = client(
        FileMemory(tmp_path / "memory two"),
        account,
        store=PassingStore() if what == "empty" else None,
    )
    with pytest.raises(OutputError, match="empty or not given"):
        alone.speak("gender", OWN, TWO, NOW + 4 * WEEK)
    assert letters(service) == before
    two.speak("gender", OWN, TWO, NOW + 4 * WEEK + 3600)
    assert len(letters(service)) == len(before) + 1


def test_a_device_of_a_forgotten_account(service, client, pair, tmp_path):
    """It sends nothing more, leaves the store to the next account, and may forget, too."""
    one, two = pair(tmp_path)
    weeks([one, two], 1)
    one.forget("ann", ONE, NOW + WEEK)
    before = letters(service)
    with pytest.raises(PrivacyError, match="forgotten on another device"):
        two.speak("gender", OWN, TWO, NOW + 4 * WEEK)
    assert letters(service) == before
    account = PassingAccount(bytes(range(1, 33)), NOW + 4 * WEEK)
    fresh = client(FileMemory(tmp_path / "memory one"), account, store=tmp_path)
    fresh.speak("gender", OWN, ONE, NOW + 4 * WEEK)
    two.forget("ann", TWO, NOW + 4 * WEEK)
    assert Shared.decode((tmp_path / "tacit-memory").read_bytes()[8:]).account != ""
    fresh.speak("gender", OWN, ONE, NOW + 4 * WEEK + HALF_HOUR)
    assert len(letters(service)) == len(before) + 1


def test_another_persons_store(service, client):
    """It is refused, and nothing is sent."""
    store = PassingStore()
    weeks([client(store=store)], 1)
    before = letters(service)
    other = client(None, PassingAccount(bytes(32), NOW), store=store)
    with pytest.raises(PrivacyError, match="another account's"):
        other.speak("gender", OWN, ONE, NOW + WEEK)
    assert letters(service) == before


def test_a_store_that_cannot_be_read(service, client, tmp_path):
    """Whatever else stands there: one sentence, and nothing is sent."""
    (tmp_path / "tacit-memory").write_bytes(b"12345678{}")
    with pytest.raises(OutputError, match="synchronised store cannot be used"):
        client(store=tmp_path).speak("gender", OWN, ONE, NOW + HALF_HOUR)
    assert letters(service) == []


def test_forgetting_for_all_devices(service, client):
    """What any device rated stays frozen in the store; the next account decides none of it."""
    store, account = PassingStore(), PassingAccount(bytes(32), NOW)
    for stars in (ONE, TWO):
        device = client(None, account, store=store)
        weeks([device], 1)
        device.speak("gender", OWN, stars, NOW + WEEK, entered=dict.fromkeys(stars, NOW))
    device.forget("ann", TWO, NOW + WEEK)
    service.asked.clear()
    fresh = client(None, PassingAccount(bytes(33), NOW + WEEK), store=store)
    every = dict.fromkeys(FILMS, 4.0)
    for now in range(NOW + WEEK, NOW + 3 * WEEK, DAY):
        fresh.speak("gender", OWN, every, now, entered=dict.fromkeys(every, NOW + WEEK))
    shown = {item for item, _ in letters(service)[-1].ratings}
    assert shown
    assert not shown & {*ONE, *TWO}
