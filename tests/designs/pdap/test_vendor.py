"""Vendors reach one another by messages, outlive one another, and believe nobody too much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import randomness
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.messages import Forward, Offer, Refusal, Reward, decode_answer
from tacit.designs.pdap.policies.forwarded_users import ForwardedUsers
from tacit.designs.pdap.policies.uniform import Uniform
from tacit.designs.pdap.settings import Setting
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError, DataError
from tests.support.pdap_answers import Answering
from tests.support.written_numbers import spellings_of_float

HERE = np.array([0.2, 0.7])
REQUEST = bytes(16)
SETTING = Setting(videos=1, neighbours=0, dimension=2, horizon=1000)


class Steady(Uniform):
    """A policy that chooses the arm it is told to, and writes down what it learns."""

    epsilon = math.inf

    def __init__(self, videos, neighbours, arm=0):
        super().__init__(videos, neighbours, randomness=randomness.secure())
        self.arm = arm
        self.newest = videos + neighbours - 1
        self.learned = []

    def select(self, context, arms=None):
        allowed = [self.arm] if arms is None or self.arm in arms else arms
        return super().select(context, allowed)

    def update(self, choice, reward):
        self.learned.append((choice.arm, reward))

    def add_arm(self, *, neighbour=False):
        self.newest = super().add_arm(neighbour=neighbour)
        return self.newest

    def remove_arm(self, arm):
        super().remove_arm(arm)
        self.arm = self.newest if arm == self.arm else self.arm


def vendor(arm=0, *, peers=("b",), epsilon=1.0, videos=("x", "y"), **settings):
    home = Steady(len(videos), len(peers), arm)
    source = randomness.secure()
    forwarder = Forwarder(Agreement(2, 2, epsilon), randomness=source)
    host = Answering(home, epsilon=math.inf, randomness=source)
    return Vendor(
        home,
        videos,
        forwarded_users=host,
        peers=peers,
        forwarder=forwarder,
        **settings,
    )


@pytest.mark.parametrize("arm", [0, 2, 3])
def test_all_neighbours_are_asked_at_every_visit(arm):
    """Who is asked does not depend on what was chosen, own video or neighbour; all get the same."""
    home = vendor(arm, peers=("b", "c"), asks_all=True, trust_settings=TrustSettings(share=1.0))
    visit = home.choose(HERE)
    assert visit.peers_to_ask == ("b", "c")
    assert Forward.decode(visit.forward).request
    assert visit.is_waiting() == (arm >= 2)
    if visit.is_waiting():
        home.receive_offer(visit, Offer(visit.request, "u").encode())
        assert not visit.is_waiting()


def test_where_all_are_asked_no_word_is_waited_for():
    """A neighbour's word of a click would mean that it knows whose offer was shown."""
    home = vendor(2, asks_all=True)
    peer = vendor(0, peers=("a",), videos=("u",))
    visit = home.choose(HERE)
    assert home.receive_offer(visit, peer.serve("a", visit.forward)) == "u"
    assert not home.receive_reward("b", peer.observe_guest_click("a", visit.request, 1.0))
    home.observe_click(visit, 1.0)
    assert home.policy.learned == [(2, 1.0)]


def test_no_message_holds_a_context_as_it_was():
    """Forward, offer and reward of a visit have no number of its context, however it is written."""
    context = np.array([0.1337200001, 0.7337200002])
    for _ in range(50):
        home, peer = vendor(2), vendor(0, peers=("a",), videos=("u",))
        visit = home.choose(context)
        offer = peer.serve("a", visit.forward)
        home.receive_offer(visit, offer)
        reward = peer.observe_guest_click("a", visit.request, 1.0)
        for message in (visit.forward, offer, reward):
            for number in context.tolist():
                for spelling in spellings_of_float(number):
                    assert spelling not in message


def test_an_own_video_needs_nobody():
    """An own video is shown and learned without a message."""
    home = vendor(0)
    visit = home.choose(HERE)
    home.observe_click(visit, 1.0)
    assert (visit.video, visit.forward) == ("x", None)
    assert home.policy.learned == [(0, 1.0)]


def test_a_neighbour_is_asked_and_its_word_learned():
    """Forward, offer, reward: the neighbour's arm learns the word, once."""
    home, peer = vendor(2), vendor(0, peers=("a",), videos=("u",))
    visit = home.choose(HERE)
    assert home.receive_offer(visit, peer.serve("a", visit.forward)) == "u"
    word = peer.observe_guest_click("a", visit.request, 1.0)
    assert home.receive_reward("b", word)
    assert home.policy.learned == [(2, 1.0)]


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
    words = {peer.observe_guest_click("a", visit.request, reward) for reward in (1.0, 0.0, 1.0)}
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
    assert visit.peers_to_ask == ("b", "c", "d")
    assert [one.encode() for one in drawn] == [visit.forward]


@pytest.mark.parametrize("answer", [None, b"", b"rubbish", bytes(10_000)])
def test_a_silent_or_broken_neighbour_leaves_an_own_video(answer):
    """Without an offer an own video is shown, and it is the one that is learned."""
    home = vendor(2)
    visit = home.choose(HERE)
    assert home.receive_offer(visit, answer) in ("x", "y")
    home.observe_click(visit, 1.0)
    assert len(home.policy.learned) == 1
    assert home.policy.learned[0][0] in (0, 1)


def test_an_offer_to_another_request_is_no_offer():
    """A replayed offer does not fit this visit's number."""
    home = vendor(2)
    visit = home.choose(HERE)
    assert home.receive_offer(visit, Offer(REQUEST, "old").encode()) in ("x", "y")


def test_a_refusal_leaves_an_own_video():
    """A neighbour may refuse; nothing is learned about it."""
    home = vendor(2)
    visit = home.choose(HERE)
    assert home.receive_offer(visit, Refusal(visit.request, "busy").encode()) in ("x", "y")
    assert not home.receive_reward("b", Reward.from_number(visit.request, 1.0).encode())


def test_words_out_of_range_are_clamped():
    """A huge reward counts as the highest that was agreed on."""
    home = vendor(2, trust_settings=TrustSettings(low=-0.5, high=1.5))
    visit = home.choose(HERE)
    home.receive_offer(visit, Offer(visit.request, "u").encode())
    home.receive_reward("b", Reward.from_number(visit.request, 1e12).encode())
    assert home.policy.learned == [(2, 1.5)]


def test_a_replayed_or_foreign_word_is_not_learned():
    """A second word, another peer's, or one that nobody waits for: nothing is learned."""
    home = vendor(2, peers=("b", "c"))
    visit = home.choose(HERE)
    home.receive_offer(visit, Offer(visit.request, "u").encode())
    word = Reward.from_number(visit.request, 1.0).encode()
    assert not home.receive_reward("c", word)
    assert not home.receive_reward("b", Reward.from_number(REQUEST, 1.0).encode())
    assert not home.receive_reward("b", b"rubbish")
    assert home.receive_reward("b", word)
    assert not home.receive_reward("b", word)
    assert len(home.policy.learned) == 1


def test_a_word_without_an_offer_is_not_learned():
    """A neighbour that praises itself and then shows nothing: the own video's click is learned."""
    home = vendor(2)
    visit = home.choose(HERE)
    assert not home.receive_reward("b", Reward.from_number(visit.request, 1.0).encode())
    home.receive_offer(visit, None)
    home.observe_click(visit, 0.0)
    assert [arm for arm, _ in home.policy.learned] == [visit.choice.arm]
    assert visit.choice.arm != 2


def test_a_click_that_home_saw_counts_and_not_the_word():
    """Home saw no click; the neighbour says there was one: no click is learned."""
    home = vendor(2)
    visit = home.choose(HERE)
    home.receive_offer(visit, Offer(visit.request, "u").encode())
    home.observe_click(visit, 0.0)
    home.receive_reward("b", Reward.from_number(visit.request, 1.0).encode())
    home.observe_click(visit, 1.0)
    assert home.policy.learned == [(2, 0.0)]


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
    assert decode_answer(vendor(peers=("a",)).serve(peer, data)).reason == reason


def test_one_number_for_two_contexts_is_refused():
    """A request's number with other content is not answered a second time."""
    served = vendor(peers=("a",))
    served.serve("a", Forward(REQUEST, 1_000_000, 2, (0, 1)).encode())
    again = served.serve("a", Forward(REQUEST, 1_000_000, 2, (1, 1)).encode())
    assert decode_answer(again).reason == "malformed"


def test_a_video_joins_and_leaves_at_home_and_for_guests():
    """A new video can be shown to own users and to guests; a removed one to neither."""
    served = vendor(3, peers=("b",))
    served.add_video("new")
    served.remove_video("x")
    served.remove_video("y")
    assert served.videos == ("new",)
    assert served.choose(HERE).video == served.choose_without_learning(HERE) == "new"


def test_a_vendor_that_sends_many_makes_no_other_forgotten():
    """Each neighbour's forwarded users are counted apart, the oldest forgotten first."""
    served = vendor(peers=("good", "bad"), remembered_visits=5)
    agreement = Agreement(2, 2, 1.0)
    forwarder = Forwarder(agreement, randomness=randomness.secure())
    forwards = [forwarder.forward(HERE) for _ in range(5)]
    for forward in forwards:
        served.serve("good", forward.encode())
    flood = [forwarder.forward(HERE) for _ in range(20)]
    for forward in flood:
        served.serve("bad", forward.encode())
    rewarded = [served.observe_guest_click("good", one.request, 1.0) for one in forwards]
    assert None not in rewarded
    remembered = [served.observe_guest_click("bad", one.request, 1.0) for one in flood]
    assert [reward is not None for reward in remembered] == [False] * 15 + [True] * 5
    assert served.observe_guest_click("bad", forwards[0].request, 1.0) is None


def test_a_visit_that_is_not_learned_from_does_not_explore():
    """A learner of forwarded users would explore at `select`; `exploit` shows its best video."""
    guests = ForwardedUsers(
        Setting(videos=2, neighbours=1, dimension=2, horizon=1 << 20), epsilon=math.inf
    )
    served = vendor()
    served.forwarded_users = guests
    guests.update(guests.select(HERE), 1.0)  # exploring begins after the first visit
    assert guests.select(HERE).phase == "explore"
    assert guests.select(HERE).arm == 1
    assert served.choose_without_learning(HERE) == served.videos[0]


def test_without_own_videos_nothing_can_be_shown_without_learning():
    """A vendor whose videos have all left has only neighbours."""
    served = vendor(0, peers=("b",))
    for video in served.videos:
        served.remove_video(video)
    with pytest.raises(ConfigError, match="no own video to show"):
        served.choose_without_learning(HERE)


def test_a_video_that_left_is_not_learned():
    """A click on a video that has left in the meantime is lost, not an error."""
    home = vendor(0)
    visit = home.choose(HERE)
    home.remove_video("x")
    home.observe_click(visit, 1.0)
    assert home.policy.learned == []


def test_neighbours_come_and_go():
    """A neighbour that joins is asked; one that left is neither asked nor served nor believed."""
    home = vendor(2)
    visit = home.choose(HERE)
    home.receive_offer(visit, Offer(visit.request, "u").encode())
    home.remove_peer("b")
    assert not home.receive_reward("b", Reward.from_number(visit.request, 1.0).encode())
    assert decode_answer(home.serve("b", visit.forward)).reason == "unknown"
    home.add_peer("c")
    assert home.peers == ("c",)
    with pytest.raises(ConfigError, match="no neighbour"):
        home.trust_in("b")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Vendor(Steady(2, 0), ("x",)),
        lambda: Vendor(Steady(2, 0), ("x", "x")),
        lambda: Vendor(Steady(1, 1), ("x",), peers=("b",)),
        lambda: vendor().add_video("x"),
        lambda: vendor().add_videos(["z", "z"]),
        lambda: vendor().remove_video("z"),
        lambda: vendor().add_peer("b"),
        lambda: Vendor(
            Steady(1, 0), ("x",), forwarded_users=ForwardedUsers(SETTING, epsilon=math.inf)
        ).add_video("y"),
        lambda: vendor().receive_offer(vendor().choose(HERE), None),
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
        home.observe_click(home.choose(HERE), 2.0)
