"""A vendor's desk: what one transaction begins with and ends with."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tacit.designs.pdap.features import GRAINS, to_steps
from tacit.designs.pdap.forwarding import Forwarder
from tacit.designs.pdap.messages import Forward, Offer, Refusal, decode_answer
from tacit.designs.pdap.serve.demo import NAMES, make_two_deployments
from tacit.designs.pdap.serve.served_vendor import ServedVendor
from tacit.designs.pdap.serve.state import (
    MOST_VIDEOS,
    OPEN_VISITS,
    VERSION,
    Ticket,
    VendorState,
    pack,
    unpack,
)
from tacit.designs.pdap.serve.state_cache import StateCache
from tacit.errors import ConfigError
from tacit.randomness import secure
from tacit.service.deployment import Deployment
from tacit.service.idempotency import SALT_BYTES, reply
from tacit.service.kinds import installed_kinds

HERE = np.array([0.2, 0.7])
SALT = bytes(SALT_BYTES)


def folders(tmp_path: Path, **settings: float) -> tuple[Path, Path]:
    two = (tmp_path / NAMES[0], tmp_path / NAMES[1])
    make_two_deployments(
        two, ("http://127.0.0.1:1", "http://127.0.0.1:2"), **{"share": 1.0, **settings}
    )
    return two


@pytest.fixture
def settings(tmp_path):
    """Of the first of two vendors."""
    return served(folders(tmp_path)[0]).settings


def served(folder):
    (found,) = Deployment.read(folder, installed_kinds()).find_all(ServedVendor).values()
    return found


def asked(desk, most=500):
    """A visit that waits for the neighbour."""
    for _ in range(most):
        begun = desk.begin_visit(HERE, ("arthouse",))
        if begun.peer is not None:
            return begun
    raise AssertionError("nobody was asked")


def held(desk):
    """Visits learned since the last release."""
    return int(desk.vendor.policy.export_state()[1]["exact"][:, :, 0].sum()) // GRAINS


def test_arrays_and_numbers_come_back():
    """What is packed is unpacked, to the bit, of every type; other types are refused."""
    arrays = {
        "a": np.array([[1.5, -0.0]]),
        "b": np.arange(3),
        "c": np.arange(2, dtype=np.int32),
        "d": np.zeros((0, 3), dtype=np.uint8),
    }
    numbers, found = unpack(pack({"x": [1, None, "é"]}, arrays))
    assert numbers == {"x": [1, None, "é"]}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    with pytest.raises(TypeError):
        pack({}, {"e": np.array(["text"])})
    with pytest.raises(ValueError, match="follow"):
        unpack(pack({}, arrays) + b"x")


def test_a_desk_comes_back(settings):
    """Encoded, decoded and encoded again it is the same bytes."""
    desk = VendorState(settings.make_vendor())
    begun = asked(desk)
    desk.finish_visit(begun.number, HERE, None)
    kept = desk.encode(settings.lasting_settings)
    again = VendorState.decode(kept, settings.make_vendor(), settings.lasting_settings)
    assert again.encode(settings.lasting_settings) == kept


def test_other_settings_are_not_gone_on_with(settings):
    """A state of another epsilon is not opened."""
    kept = VendorState(settings.make_vendor()).encode(settings.lasting_settings)
    assert VendorState.decode(kept, settings.make_vendor(), settings.lasting_settings + " ") is None


def test_a_late_reward_is_learned_and_a_second_one_is_not(settings):
    """Long after other visits took all rows, a ticket still teaches: once."""
    desk = VendorState(settings.make_vendor())
    first = desk.begin_visit(HERE, ())
    for _ in range(OPEN_VISITS + 1):
        desk.begin_visit(HERE, ())
    before = held(desk)
    for reward in (1.0, 1.0, 0.0):
        desk.observe_click(Ticket.from_visit(first), reward)
    assert held(desk) == before + 1


def test_a_neighbours_visit_is_learned_from_its_ticket_once(settings):
    """Its row is gone, or it is there: the click counts once either way."""
    desk = VendorState(settings.make_vendor())
    for others in (0, OPEN_VISITS):
        begun = asked(desk)
        offer = Offer(Forward.decode(begun.forward).request, "theirs").encode()
        shown = desk.finish_visit(begun.number, HERE, offer)
        assert (shown.video, shown.peer) == ("theirs", "arthouse")
        for _ in range(others):
            desk.begin_visit(HERE, ())
        before = held(desk)
        desk.observe_click(Ticket.from_visit(shown), 1.0)
        desk.observe_click(Ticket.from_visit(shown), 1.0)
        assert held(desk) == before + 1


def test_a_settled_visit_teaches_nothing(settings):
    """The neighbour had nothing, an own video was shown instead: its click is not learned."""
    desk = VendorState(settings.make_vendor())
    begun = asked(desk)
    shown = desk.finish_visit(begun.number, HERE, None)
    assert (shown.peer, Ticket.from_visit(shown).number) == (None, 0)
    desk.observe_click(Ticket.from_visit(shown), 1.0)
    assert held(desk) == 0


def test_a_stored_context_goes_with_its_visit(settings):
    """It is in the row of a visit that waits for an offer or a click, and in none once the click
    came, or as many visits as there are rows."""
    desk = VendorState(settings.make_vendor())
    begun = asked(desk)
    offer = Offer(Forward.decode(begun.forward).request, "theirs").encode()
    shown = desk.finish_visit(begun.number, HERE, offer)
    place = begun.number % OPEN_VISITS
    assert desk.visits["context"][place].tolist() == to_steps(HERE).tolist()
    desk.observe_click(Ticket.from_visit(shown), 1.0)
    assert not desk.visits["context"][place].any()
    asked(desk)
    for _ in range(OPEN_VISITS):
        desk.begin_visit(HERE, ())
    assert not desk.visits["context"].any()


def test_a_visit_that_is_not_learned_teaches_nothing(settings):
    """The ticket of somebody whose budget is spent, and one of an arm that has left."""
    desk = VendorState(settings.make_vendor())
    desk.observe_click(Ticket(0, 0, 0, (0, 0)), 1.0)
    begun = desk.begin_visit(HERE, ())
    desk.vendor.remove_video(begun.video)
    desk.observe_click(Ticket.from_visit(begun), 1.0)
    assert held(desk) == 0


def test_a_visit_whose_row_is_gone_still_gets_a_video(settings):
    """An offer that comes after too many others is not shown: an own video is, unlearned."""
    desk = VendorState(settings.make_vendor())
    begun = asked(desk)
    for _ in range(OPEN_VISITS):
        desk.begin_visit(HERE, ())
    shown = desk.finish_visit(begun.number, HERE, None)
    assert shown.video in settings.videos
    assert (shown.peer, shown.number) == (None, 0)


def test_a_guest_is_served_and_not_kept(settings):
    """An offer of an own video; the state after it is the state before it."""
    desk = VendorState(settings.make_vendor())
    before = desk.encode(settings.lasting_settings)
    forward = Forwarder(settings.agreement, randomness=secure()).forward(HERE)
    offer = decode_answer(desk.vendor.serve("arthouse", forward.encode()))
    assert offer.video in settings.videos
    assert desk.encode(settings.lasting_settings) == before


def test_strangers_and_other_grids_are_refused(settings):
    """A vendor that is not listed, or that tells contexts otherwise, gets no video."""
    desk = VendorState(settings.make_vendor())
    forward = Forwarder(settings.agreement, randomness=secure()).forward(HERE)
    other = Forward(forward.request, forward.epsilon, 3, (0, 2))
    for peer, message in (("stranger", forward), ("arthouse", other)):
        assert isinstance(decode_answer(desk.vendor.serve(peer, message.encode())), Refusal)


def test_videos_and_neighbours_follow_the_settings(tmp_path):
    """What tacit.toml names since is tried, what it names no more is gone; the rest is kept."""
    folder = folders(tmp_path)[0]
    before = served(folder)
    _, kept = before.cache.make_transition(lambda desk: _begun(desk))(None, None)
    text = (folder / "tacit.toml").read_text()
    (folder / "tacit.toml").write_text(text.replace('"cinema-1"', '"new"'))
    after = served(folder)
    desk = after.cache.open_state(kept)
    assert set(desk.vendor.videos) == set(after.settings.videos)
    assert desk.vendor.visits == 1


def test_the_first_neighbour_joins_and_the_last_one_leaves(tmp_path):
    """A vendor goes on with all it learned: alone, with a neighbour, and alone again."""
    folder, kept = folders(tmp_path)[0], None
    whole = (folder / "tacit.toml").read_text()
    alone = whole[: whole.index("[vendors.cinema.peers")]
    for visits, (text, peers) in enumerate(
        [(alone, ()), (whole, ("arthouse",)), (alone, ()), (whole, ("arthouse",))], 1
    ):
        (folder / "tacit.toml").write_text(text)
        vendor = served(folder)
        answer, kept = vendor.cache.make_transition(_begun)(None, kept)
        assert answer.status == 200
        desk = vendor.cache.open_state(kept)
        assert (desk.vendor.visits, desk.vendor.peers) == (visits, peers)


def test_other_settings_are_told_at_the_start(tmp_path):
    """Before anybody asks, and which they are; the same ones, and other names, are gone on with."""
    folder = folders(tmp_path)[0]
    before = served(folder)
    _, kept = before.cache.make_transition(_begun)(None, None)
    toml = folder / "tacit.toml"
    before.check_stored_states({before.state_name: SALT + kept}.get)
    text = toml.read_text()
    toml.write_text(
        text.replace('"cinema-1"', '"new"').replace("features = 2", "features = 2\nlifetime = 50.0")
    )
    served(folder).check_stored_states({before.state_name: SALT + kept}.get)
    toml.write_text(text.replace("features = 2", "features = 3\nepsilon = 0.5\nhorizon = 5000"))
    with pytest.raises(ConfigError) as told:
        served(folder).check_stored_states({before.state_name: SALT + kept}.get)
    for part in (
        "tacit.toml",
        "vendors.cinema",
        "(features, horizon, epsilon)",
        "rename the section",
    ):
        assert part in str(told.value)


def test_more_videos_than_fit_beside_the_articles_are_told_at_the_start(tmp_path):
    """With their number; videos that are articles already, and articles that are too old by now,
    count for nothing more."""
    folder = folders(tmp_path)[0]
    before = served(folder)
    joined = [f"article {number}" for number in range(MOST_VIDEOS - len(before.settings.videos))]

    def add(state: VendorState):
        state.add_articles(joined, time.time())
        return reply({})

    def move_back_two_days(state: VendorState):
        state.articles = {name: now - 2 * 86_400 for name, now in state.articles.items()}
        return reply({})

    def stored(kept: bytes):
        return {before.state_name: SALT + kept}.get

    toml = folder / "tacit.toml"
    text = toml.read_text()
    _, today = before.cache.make_transition(add)(None, None)
    state_of_today = stored(today)
    before.check_stored_states(state_of_today)
    toml.write_text(text.replace('"cinema-1"', '"cinema-1", "article 5"'))
    served(folder).check_stored_states(state_of_today)
    toml.write_text(text.replace('"cinema-1"', '"cinema-1", "new"'))
    with pytest.raises(ConfigError, match=r"are 1,001, and a vendor shows at most 1,000 articles"):
        served(folder).check_stored_states(state_of_today)
    toml.write_text(toml.read_text().replace("features = 2", "features = 2\narticle_days = 1.0"))
    _, two_days_ago = before.cache.make_transition(move_back_two_days)(None, today)
    served(folder).check_stored_states(stored(two_days_ago))


@pytest.mark.parametrize("change", [lambda b: b[:3], lambda b: b[:-1], lambda b: b"\0" * 8 + b])
def test_a_state_that_cannot_be_read_is_told_at_the_start(settings, tmp_path, change):
    """Not by a failure at each request."""
    vendor = served(tmp_path / NAMES[0])
    kept = VendorState(settings.make_vendor()).encode(settings.lasting_settings)
    with pytest.raises(ConfigError, match=r"vendors\.cinema cannot be continued"):
        vendor.check_stored_states({vendor.state_name: SALT + change(kept)}.get)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 9}, f"of version 9, and this tacit continues version {VERSION}"),
        ({"version": 1}, f"of version 1, and this tacit continues version {VERSION}"),
        ({"version": None}, f"of a version before {VERSION}"),
        ({"since": None}, "damaged"),
    ],
)
def test_a_state_of_another_version_is_told(settings, tmp_path, change, said):
    """A state of a later or an earlier version is refused with the version."""
    vendor = served(tmp_path / NAMES[0])
    numbers, arrays = unpack(VendorState(settings.make_vendor()).encode(settings.lasting_settings))
    changed = {name: value for name, value in {**numbers, **change}.items() if value is not None}
    with pytest.raises(ConfigError, match=said):
        vendor.check_stored_states({vendor.state_name: SALT + pack(changed, arrays)}.get)


def renamed(tmp_path):
    """A worker of the first of two vendors, and one that found another video there later."""
    folder = folders(tmp_path)[0]
    old = served(folder).cache
    text = (folder / "tacit.toml").read_text()
    (folder / "tacit.toml").write_text(text.replace('"cinema-1"', '"new"'))
    return old, served(folder).cache


def test_workers_with_other_names_do_not_take_turns(tmp_path):
    """A worker that began before tacit.toml was changed leaves the names that a later one gave: no
    video is learned from nothing at each turn."""
    workers, kept = renamed(tmp_path), None
    for number in range(10):
        _, kept = workers[number % 2].make_transition(_begun)(None, kept)
    numbers = unpack(kept)[0]
    assert "new" in dict(numbers["videos"]).values()
    assert "cinema-1" not in dict(numbers["videos"]).values()
    assert len(numbers["sides"]) == 8 + 1 + 1
    assert numbers["visits"] == 10


def test_names_of_the_future_are_not_waited_for(tmp_path, monkeypatch):
    """A clock that was ahead and was put back does not keep the names of that time for ever."""
    old, new = renamed(tmp_path)
    monkeypatch.setattr(old, "_settings_read_at", time.time_ns() + 10**15)
    _, kept = old.make_transition(_begun)(None, None)
    _, kept = new.make_transition(_begun)(None, kept)
    assert "new" in dict(unpack(kept)[0]["videos"]).values()


def test_a_step_that_fails_is_not_gone_on_from(settings):
    """What a transaction drew and then lost is not in the next one."""
    cache = StateCache(settings)
    _, kept = cache.make_transition(_begun)(None, None)

    def fails(desk):
        desk.begin_visit(HERE, ())
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cache.make_transition(fails)(None, kept)
    cache.make_transition(_begun)(None, kept)  # its transaction is undone
    _, new = cache.make_transition(_begun)(None, kept)
    assert unpack(new)[0]["visits"] == 2


def test_another_workers_state_is_gone_on_from(settings):
    """Two workers in turn: each begins with what the other kept."""
    workers, kept = (StateCache(settings), StateCache(settings)), None
    for number in range(6):
        _, kept = workers[number % 2].make_transition(_begun)(None, kept)
    assert unpack(kept)[0]["visits"] == 6


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("features = 2", "features = 17", "1 to 16"),
        ("features = 2", "features = 2\nepsilon = inf", "finite"),
        ("features = 2", "features = 2\nlifetime = 2.0", "does not cover one visit at epsilon 2.1"),
        ("features = 2", "features = 2\ncolour = 1", "no setting 'colour'"),
        ("videos = [", "videos = [3, ", "list of 1"),
        ("videos = [", 'videos = ["a\\u0000", ', "control characters"),
        ("http://127.0.0.1:2", "http://example.org", "https"),
        ("http://127.0.0.1:2", "file:///etc", "https"),
        ("http://127.0.0.1:2", "http://user@127.0.0.1:2", "https"),
        ("/api/vendors/arthouse", "/api/vendors/../keys", "https"),
        ("/api/vendors/arthouse", "/api/vendors/arthouse?x=1", "https"),
        ('public_key = "', 'public_key = "A', "32 bytes"),
        ("neighbour.key", "../neighbour.key", "outside"),
        ('key = "vendor.pem"', 'key = "neighbour.key"', "no private key"),
        ("peers.arthouse", "peers.cinema", "neighbour of itself"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_sentence(tmp_path, old, new, told):
    """Each wrong line of tacit.toml is a ConfigError that says what is expected."""
    folder = folders(tmp_path)[0]
    text = (folder / "tacit.toml").read_text()
    assert old in text
    (folder / "tacit.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=told):
        served(folder)


def _begun(desk):
    desk.begin_visit(HERE, ())
    return reply({})


def test_a_repr_holds_no_context(settings):
    """Visits, tickets and states in a log line would be releases of what visitors sent."""
    state = VendorState(settings.make_vendor())
    visit = state.begin_visit(HERE, ())
    ticket = Ticket.from_visit(visit)
    written = [str(step) for step in ticket.steps] + [str(feature) for feature in HERE.tolist()]
    for shown in (repr(state), repr(visit), repr(ticket), repr(visit.choice)):
        assert not any(number in shown for number in written)
