"""A vendor goes on where it was saved, as if nothing had happened."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import randomness
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.messages import Offer, Reward, decode_answer
from tacit.designs.pdap.normal_draws import NormalDraws
from tacit.designs.pdap.serve.state import VendorState
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError
from tests.support.pdap_answers import Answering, answer_range


def vendor(*, hosting=True, epoch=50, remembered_visits=10, source=None, **changed):
    source = source or randomness.secure()
    options = {
        "videos": 3,
        "neighbours": 1,
        "dimension": 2,
        "horizon": 400,
        "epsilon": 1.0,
        "neighbour_range": answer_range(1.0),
        "degree": 1,
        **changed,
    }
    low, high = answer_range(1.0)
    home = JointLearner(JointSetting(**options), randomness=source)
    return Vendor(
        home,
        ["a", "b", "c"],
        forwarded_users=Answering(home, epsilon=1.0, randomness=source) if hosting else None,
        peers=["peer"],
        forwarder=Forwarder(Agreement(2, 2, 1.0), randomness=randomness.secure()),
        trust_settings=TrustSettings(low=low, high=high, share=0.5, epoch=epoch),
        remembered_visits=remembered_visits,
    )


def until_asked(one):
    """A visit that waits for the neighbour, the first one."""
    for _ in range(500):
        visit = one.choose(np.array([0.3, 0.3]))
        if visit.is_waiting():
            return visit
    raise AssertionError("nobody was asked")


def lived(one, visits=130, seed=1):
    """Visits, offers that come and fail, and clicks."""
    contexts = np.random.default_rng(seed).random((visits, 2))
    for number, context in enumerate(contexts):
        visit = one.choose(context)
        if visit.is_waiting():
            came = number % 3 > 0
            one.receive_offer(visit, Offer(visit.request, "theirs").encode() if came else None)
        if number % 2:
            one.observe_click(visit, float(number % 4 == 1))
    return one


def saved(one):
    """What is stored of it."""
    return VendorState(one).encode("settings")


def restore(one, stored):
    """Make it what was stored."""
    return VendorState.decode(stored, one, "settings")


@pytest.mark.parametrize("visits", [0, 1, 20, 130, 450])
def test_what_is_saved_comes_back(visits):
    """Saved, restored and saved again: the same bytes, at the start, in an epoch, at
    its end and beyond the horizon."""
    one, other = lived(vendor(), visits), lived(vendor(), 37, seed=9)
    before = saved(one)
    restore(other, before)
    assert saved(other) == before


def test_it_goes_on_as_it_would_have(monkeypatch):
    """With the same draws, the restored learner makes the same choices and learns the same.
    Nothing is released in that time, for noise is never replayed."""
    one, other = (vendor(epoch=1000, horizon=20_000) for _ in range(2))
    restore(other, saved(lived(one, 60)))
    monkeypatch.setattr(NormalDraws, "take", lambda _, count: np.zeros(count))
    for context in np.random.default_rng(2).random((30, 2)):
        first, second = one.policy.select(context), other.policy.select(context)
        assert first == second
        one.policy.update(first, 1.0)
        other.policy.update(second, 1.0)
    assert saved(one) == saved(other)


def test_a_restored_learner_explores_by_draws_of_its_own():
    """No state of the generator is stored: two that were restored from one state do not explore
    alike. Equal by chance: 1e-40."""
    before = saved(lived(vendor(horizon=20_000), 60))
    contexts = np.random.default_rng(2).random((100, 2))
    seen = []
    for _ in range(2):
        other = vendor(horizon=20_000)
        restore(other, before)
        seen.append([choice.arm for choice in other.policy.select_many(contexts)])
    assert seen[0] != seen[1]


def test_what_is_believed_is_kept():
    """Means and spreads after a restart are those before it, to the last bit."""
    one, other = lived(vendor()), vendor()
    restore(other, saved(one))
    contexts = np.random.default_rng(2).random((10, 2))
    for before, after in zip(
        one.policy.estimate(contexts), other.policy.estimate(contexts), strict=True
    ):
        assert np.array_equal(before, after)


def test_features_stay_those_of_the_start():
    """A vendor that has ten times as many videos today goes on with the features it began with."""
    one, other = vendor(horizon=20_000, degree=None), vendor(horizon=20_000, degree=0)
    assert one.policy.features.degree == 3
    restore(other, saved(one))
    assert other.policy.features.degree == 3
    other.policy.update(other.policy.select(np.array([0.3, 0.3])), 1.0)


def test_a_visit_begun_before_is_learned_after_once():
    """The learner still knows which visits wait, and refuses a second answer."""
    one, other = lived(vendor()), vendor()
    visit = one.policy.select(np.array([0.1, 0.1]))
    restore(other, saved(one))
    other.policy.update(visit, 1.0)
    with pytest.raises(Exception, match="answered already"):
        other.policy.update(visit, 1.0)


def test_names_that_joined_and_left_come_back():
    """Videos and neighbours are those of the saved vendor, under the same numbers."""
    one, other = lived(vendor()), vendor()
    one.add_video("d")
    one.remove_video("a")
    one.remove_peer("peer")
    one.add_peer("new")
    restore(other, saved(one))
    assert (other.videos, other.peers) == (("b", "c", "d"), ("new",))
    assert lived(other, 40).visits == 170


def test_the_state_is_bounded():
    """However many epochs pass, no release is kept: the state stays as long as it is."""
    one = vendor(horizon=100)
    sizes = []
    for _ in range(2):
        for _ in range(300):
            visit = one.choose(np.array([0.3, 0.3]))
            if visit.is_waiting():
                one.receive_offer(visit, None)
            one.observe_click(visit, 1.0)
        sizes.append(len(saved(one)))
    assert abs(sizes[1] - sizes[0]) < 1000


def test_a_vendor_that_keeps_nobody_hears_of_nobody():
    """Nothing of visits or guests stays behind: a word about one, or a guest's click, is of no
    use."""
    one = vendor(remembered_visits=0)
    visit = until_asked(one)
    one.receive_offer(visit, Offer(visit.request, "theirs").encode())
    assert not one.receive_reward("peer", Reward.from_number(visit.request, 1.0).encode())
    forward = until_asked(vendor()).forward
    assert (
        one.observe_guest_click("peer", decode_answer(one.serve("peer", forward)).request, 1.0)
        is None
    )


def test_who_is_not_learned_sees_what_a_guest_sees():
    """An own video; no visit begins, and no time passes."""
    one = lived(vendor())
    before = saved(one)
    here = np.array([0.3, 0.3])
    assert (
        one.choose_without_learning(here)
        == one.arms[0][int(one.policy.serve_forwarded(here[None])[0])]
    )
    assert saved(one) == before


def test_a_restored_vendor_forgets_who_waited():
    """A word about a visit of another life of it is of no use."""
    one = vendor()
    visit = until_asked(one)
    one.receive_offer(visit, Offer(visit.request, "theirs").encode())
    restore(one, saved(vendor()))
    assert not one.receive_reward("peer", Reward.from_number(visit.request, 1.0).encode())


def test_what_cannot_be_stored_says_so():
    """Guests that are served by another policy: neither saved nor restored."""
    kept, one = saved(vendor()), vendor(hosting=False)
    with pytest.raises(ConfigError, match="serves its forwarded users"):
        saved(one)
    with pytest.raises(ConfigError, match="serves its forwarded users"):
        restore(one, kept)
