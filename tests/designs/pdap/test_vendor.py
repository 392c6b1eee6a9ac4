"""Vendors reach one another by messages, outlive one another, and believe nobody too much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import randomness
from tacit.designs.pdap.control import Setting
from tacit.designs.pdap.forwarding import Agreement, Forwarder, Host, answer_range
from tacit.designs.pdap.messages import Forward, Offer, Refusal, Reward, answered
from tacit.designs.pdap.policy import Uniform
from tacit.designs.pdap.published import Dap, ForwardedUsers
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError, DataError

HERE = np.array([0.2, 0.7])
REQUEST = bytes(16)


class Steady:
    """A policy that chooses the arm it is told to, and writes down what it learns."""

    def __init__(self, videos, neighbours, arm=0):
        self.inner = Uniform(videos, neighbours, randomness=randomness.secure())
        self.arm = arm
        self.newest = videos + neighbours - 1
        self.learned = []

    n_own = property(lambda self: self.inner.n_own)
    n_neighbours = property(lambda self: self.inner.n_neighbours)

    def select(self, context, arms=None):
        allowed = [self.arm] if arms is None or self.arm in arms else arms
        return self.inner.select(context, allowed)

    def update(self, choice, reward):
        self.learned.append((choice.arm, reward))

    def serve_many(self, contexts):
        return self.inner.serve_many(contexts)

    def add_arm(self, *, neighbour=False):
        self.newest = self.inner.add_arm(neighbour=neighbour)
        return self.newest

    def remove_arm(self, arm):
        self.inner.remove_arm(arm)
        self.arm = self.newest if arm == self.arm else self.arm


def vendor(arm=0, *, peers=("b",), epsilon=1.0, videos=("x", "y"), **settings):
    home = Steady(len(videos), len(peers), arm)
    source = randomness.secure()
    forwarder = Forwarder(Agreement(2, 2, epsilon), randomness=source)
    host = Host(home, epsilon=math.inf, randomness=source)
    return Vendor(
        home,
        videos,
        guests=host,
        peers=peers,
        forwarder=forwarder,
        **settings,
    )


@pytest.mark.parametrize("arm", [0, 2, 3])
def test_all_neighbours_are_asked_at_every_visit(arm):
    """Who is asked does not depend on what was chosen, own video or neighbour; all get the same."""
    home = vendor(arm, peers=("b", "c"), asks_all=True, caution=TrustSettings(share=1.0))
    visit = home.choose(HERE)
    assert visit.asks == ("b", "c")
    assert Forward.decode(visit.forward).request
    assert visit.waits() == (arm >= 2)


def test_where_all_are_asked_no_word_is_waited_for():
    """A neighbour's word of a click would mean that it knows whose offer was shown."""
    home = vendor(2, asks_all=True)
    peer = vendor(0, peers=("a",), videos=("u",))
    visit = home.choose(HERE)
    assert home.offered(visit, peer.serve("a", visit.forward)) == "u"
    assert not home.rewarded("b", peer.guest_clicked("a", visit.request, 1.0))
    home.clicked(visit, 1.0)
    assert home.home.learned == [(2, 1.0)]


def test_an_own_video_needs_nobody():
    """An own video is shown and learned without a message."""
    home = vendor(0)
    visit = home.choose(HERE)
    home.clicked(visit, 1.0)
    assert (visit.video, visit.forward) == ("x", None)
    assert home.home.learned == [(0, 1.0)]


def test_a_neighbour_is_asked_and_its_word_learned():
    """Forward, offer, reward: the neighbour's arm learns the word, once."""
    home, peer = vendor(2), vendor(0, peers=("a",), videos=("u",))
    visit = home.choose(HERE)
    assert home.offered(visit, peer.serve("a", visit.forward)) == "u"
    word = peer.guest_clicked("a", visit.request, 1.0)
    assert home.rewarded("b", word)
    assert home.home.learned == [(2, 1.0)]


def test_what_crosses_holds_no_name_and_no_context():
    """A forward has a number, epsilon and a randomised cell: nothing of the features."""
    home = vendor(2, epsilon=1.0)
    visit = home.choose(HERE)
    message = Forward.decode(visit.forward)
    assert set(message.places) <= {0, 1}
    assert message.epsilon == 1_000_000


def test_a_retry_is_the_same_bytes_and_counts_once():
    """Asked again with the same bytes, a peer answers the same and draws nothing new."""
    home, peer = vendor(2), vendor(0, peers=("a",), videos=tuple("uvw"))
    visit = home.choose(HERE)
    answers = {peer.serve("a", visit.forward) for _ in range(20)}
    assert len(answers) == 1
    words = {peer.guest_clicked("a", visit.request, reward) for reward in (1.0, 0.0, 1.0)}
    assert len(words) == 1


def test_colluding_peers_see_one_randomisation(monkeypatch):
    """Three peers that are asked about one visit hold the same bytes: together they know one."""
    drawn, real = [], Forwarder.forward

    def counted(self, context):
        drawn.append(real(self, context))
        return drawn[-1]

    monkeypatch.setattr(Forwarder, "forward", counted)
    home = vendor(2, peers=("b", "c", "d"), asks_all=True)
    visit = home.choose(HERE)
    assert visit.asks == ("b", "c", "d")
    assert [one.encode() for one in drawn] == [visit.forward]


@pytest.mark.parametrize("answer", [None, b"", b"rubbish", bytes(10_000)])
def test_a_silent_or_broken_neighbour_leaves_an_own_video(answer):
    """Without an offer an own video is shown, and it is the one that is learned."""
    home = vendor(2)
    visit = home.choose(HERE)
    assert home.offered(visit, answer) in ("x", "y")
    home.clicked(visit, 1.0)
    assert len(home.home.learned) == 1
    assert home.home.learned[0][0] in (0, 1)


def test_an_own_video_in_its_place_is_one_that_could_be_shown():
    """Only y can be shown at this visit; the neighbour is silent: y, every time."""
    home = vendor(2, caution=TrustSettings(failures=1000))
    shown = {home.offered(home.choose(HERE, videos=["y"]), None) for _ in range(20)}
    assert shown == {"y"}


def test_an_offer_to_another_request_is_no_offer():
    """A replayed offer does not fit this visit's number."""
    home = vendor(2)
    visit = home.choose(HERE)
    assert home.offered(visit, Offer(REQUEST, "old").encode()) in ("x", "y")


def test_a_refusal_leaves_an_own_video():
    """A neighbour may refuse; nothing is learned about it."""
    home = vendor(2)
    visit = home.choose(HERE)
    assert home.offered(visit, Refusal(visit.request, "busy").encode()) in ("x", "y")
    assert not home.rewarded("b", Reward.of(visit.request, 1.0).encode())


def test_words_out_of_range_are_clamped():
    """A huge reward counts as the highest that was agreed on."""
    home = vendor(2, caution=TrustSettings(low=-0.5, high=1.5))
    visit = home.choose(HERE)
    home.offered(visit, Offer(visit.request, "u").encode())
    home.rewarded("b", Reward.of(visit.request, 1e12).encode())
    assert home.home.learned == [(2, 1.5)]


def test_a_replayed_or_foreign_word_is_not_learned():
    """A second word, another peer's, or one that nobody waits for: nothing is learned."""
    home = vendor(2, peers=("b", "c"))
    visit = home.choose(HERE)
    home.offered(visit, Offer(visit.request, "u").encode())
    word = Reward.of(visit.request, 1.0).encode()
    assert not home.rewarded("c", word)
    assert not home.rewarded("b", Reward.of(REQUEST, 1.0).encode())
    assert not home.rewarded("b", b"rubbish")
    assert home.rewarded("b", word)
    assert not home.rewarded("b", word)
    assert len(home.home.learned) == 1


def test_a_word_without_an_offer_is_not_learned():
    """A neighbour that praises itself and then shows nothing: the own video's click is learned."""
    home = vendor(2)
    visit = home.choose(HERE)
    assert not home.rewarded("b", Reward.of(visit.request, 1.0).encode())
    home.offered(visit, None)
    home.clicked(visit, 0.0)
    assert [arm for arm, _ in home.home.learned] == [visit.choice.arm]
    assert visit.choice.arm != 2


def test_a_click_that_home_saw_counts_and_not_the_word():
    """Home saw no click; the neighbour says there was one: no click is learned."""
    home = vendor(2)
    visit = home.choose(HERE)
    home.offered(visit, Offer(visit.request, "u").encode())
    home.clicked(visit, 0.0)
    home.rewarded("b", Reward.of(visit.request, 1.0).encode())
    home.clicked(visit, 1.0)
    assert home.home.learned == [(2, 0.0)]


@pytest.mark.parametrize("lie", [lambda _: 1.0, lambda _: 0.0, lambda click: 1 - click])
def test_a_liar_is_found_out_and_what_it_said_is_forgotten(lie):
    """Always 1, always 0, inverted: within 60 visits seen the arm is a new one, and words end."""
    home = vendor(2, caution=TrustSettings(share=1.0))
    for step in range(60):
        visit = home.choose(HERE)
        home.offered(visit, Offer(visit.request, "u").encode())
        click = float(step % 2)
        home.clicked(visit, click)
        home.rewarded("b", Reward.of(visit.request, lie(click)).encode())
    assert not home.known("b").believed
    assert max(home.arms[1]) == 3  # another number than the 2 that it had


def test_an_honest_noisy_neighbour_is_believed():
    """Words by randomised response at epsilon 1 differ from clicks, and are no lies."""
    with randomness.simulation():
        host = Host(
            Uniform(1, 0, randomness=randomness.replay(1)),
            epsilon=1.0,
            randomness=randomness.replay(2),
        )
        low, high = answer_range(1.0)
        home = vendor(2, caution=TrustSettings(low=low, high=high, share=1.0))
        for step in range(2000):
            visit = home.choose(HERE)
            home.offered(visit, Offer(visit.request, "u").encode())
            click = float(step % 3 == 0)
            home.clicked(visit, click)
            word = host.answer(visit.choice, click)
            home.rewarded("b", Reward.of(visit.request, word).encode())
    assert home.known("b").believed


def test_an_unproved_neighbour_has_a_bounded_share():
    """A neighbour that home never sees gets its share of visits and no more."""
    home = vendor(2, caution=TrustSettings(share=0.1, proof=10))
    sent = 0
    for _ in range(2000):
        visit = home.choose(HERE)
        if visit.peer is not None:
            sent += 1
            home.offered(visit, Offer(visit.request, "u").encode())
            home.rewarded("b", Reward.of(visit.request, 1.0).encode())
    assert 150 < sent <= 201


def test_a_found_liar_is_held_to_its_share_again():
    """Proved and then found out: of later visits it gets no more than its share of all."""
    home = vendor(2, caution=TrustSettings(share=0.1, proof=10))
    sent = [0, 0]
    for step in range(4000):
        visit = home.choose(HERE)
        if visit.peer is None:
            continue
        sent[step >= 400] += 1
        home.offered(visit, Offer(visit.request, "u").encode())
        click = float(step % 2)
        home.clicked(visit, click)
        lies = step >= 200
        home.rewarded("b", Reward.of(visit.request, 1 - click if lies else click).encode())
    assert sent[0] > 60
    assert sum(sent) <= 401


def test_an_absent_neighbour_is_left_alone_for_longer_and_longer():
    """Of 5,000 visits, a neighbour that never answers costs a few dozen calls."""
    home = vendor(2, caution=TrustSettings(share=1.0))
    calls = 0
    for _ in range(5000):
        visit = home.choose(HERE)
        if visit.peer is not None:
            calls += 1
            home.offered(visit, None)
    assert 3 <= calls <= 30


@pytest.mark.parametrize(
    ("data", "peer", "reason"),
    [
        (b"rubbish", "a", "malformed"),
        (Forward(REQUEST, 1_000_000, 2, (0, 1)).encode(), "z", "unknown"),
        (Forward(REQUEST, 1_000_000, 3, (0, 1)).encode(), "a", "not agreed"),
        (Forward(REQUEST, 9, 2, (0, 1)).encode(), "a", "not agreed"),
        (Forward(REQUEST, 1_000_000, 2, (0,)).encode(), "a", "not agreed"),
    ],
)
def test_what_a_peer_may_not_ask_is_refused(data, peer, reason):
    """Bad bytes, strangers and other agreements get a refusal that says no more than why."""
    assert answered(vendor(peers=("a",)).serve(peer, data)).reason == reason


def test_one_number_for_two_contexts_is_refused():
    """A request's number with other content is not answered a second time."""
    served = vendor(peers=("a",))
    served.serve("a", Forward(REQUEST, 1_000_000, 2, (0, 1)).encode())
    again = served.serve("a", Forward(REQUEST, 1_000_000, 2, (1, 1)).encode())
    assert answered(again).reason == "malformed"


def test_a_video_joins_and_leaves_at_home_and_for_guests():
    """A new video can be shown to own users and to guests; a removed one to neither."""
    setting = Setting(videos=2, neighbours=0, dimension=2, horizon=1000)
    forwarder = Forwarder(Agreement(2, 2, math.inf), randomness=randomness.secure())
    guests = ForwardedUsers(setting, epsilon=math.inf)
    served = Vendor(Dap(setting), ("x", "y"), guests=guests, forwarder=forwarder)
    served.add_video("new")
    served.remove_video("x")
    assert served.videos == ("y", "new")
    assert {served.choose(HERE).video for _ in range(30)} <= {"y", "new"}
    assert served.unlearned(HERE) in {"y", "new"}
    visit = served.choose(HERE, videos=["new"])
    assert visit.video == "new"
    served.remove_video("y")
    assert served.unlearned(HERE) == "new"


def test_a_video_that_left_is_not_learned():
    """A click on a video that has left in the meantime is lost, not an error."""
    home = vendor(0)
    visit = home.choose(HERE)
    home.remove_video("x")
    home.clicked(visit, 1.0)
    assert home.home.learned == []


def test_neighbours_come_and_go():
    """A neighbour that joins is asked; one that left is neither asked nor served nor believed."""
    home = vendor(2)
    visit = home.choose(HERE)
    home.offered(visit, Offer(visit.request, "u").encode())
    home.part("b")
    assert not home.rewarded("b", Reward.of(visit.request, 1.0).encode())
    assert answered(home.serve("b", visit.forward)).reason == "unknown"
    home.meet("c")
    assert home.peers == ("c",)
    with pytest.raises(ConfigError, match="no neighbour"):
        home.known("b")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Vendor(Steady(2, 0), ("x",)),
        lambda: Vendor(Steady(2, 0), ("x", "x")),
        lambda: Vendor(Steady(1, 1), ("x",), peers=("b",)),
        lambda: vendor().add_video("x"),
        lambda: vendor().remove_video("z"),
        lambda: vendor().meet("b"),
        lambda: vendor().choose(HERE, videos=["z"]),
        lambda: vendor().offered(vendor().choose(HERE), None),
        lambda: TrustSettings(low=1.0, high=0.0),
        lambda: TrustSettings(share=0.0),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    """Names that do not fit, and visits that wait for nobody, are refused in a sentence."""
    with pytest.raises(ConfigError):
        make()


def test_a_click_out_of_range_is_refused():
    """A click is 0 to 1."""
    home = vendor()
    with pytest.raises(DataError):
        home.clicked(home.choose(HERE), 2.0)
