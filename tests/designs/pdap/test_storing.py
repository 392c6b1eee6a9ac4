"""A vendor goes on where it was saved, as if nothing had happened."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import randomness
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.messages import Offer, Reward, answered
from tacit.designs.pdap.serve.state import MOST_SEEN, VendorState, unpack
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError
from tests.support.pdap_answers import Answering, answer_range


def vendor(*, hosting=True, epoch=50, remembers=10, source=None, **changed):
    source = source or randomness.secure()
    options = {
        "videos": 3,
        "neighbours": 1,
        "dimension": 2,
        "horizon": 400,
        "epsilon": 1.0,
        "neighbour_range": answer_range(1.0),
        "slices": 2,
        "first": 20,
        **changed,
    }
    low, high = answer_range(1.0)
    home = Joint(JointSetting(**options), randomness=source)
    return Vendor(
        home,
        ["a", "b", "c"],
        forwarded_users=Answering(home, epsilon=1.0, randomness=source) if hosting else None,
        peers=["peer"],
        forwarder=Forwarder(Agreement(2, 2, 1.0), randomness=randomness.secure()),
        trust_settings=TrustSettings(low=low, high=high, share=0.5, epoch=epoch),
        remembers=remembers,
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
    its end and in the second period."""
    one, other = lived(vendor(), visits), lived(vendor(), 37, seed=9)
    before = saved(one)
    restore(other, before)
    assert saved(other) == before


class Switched:
    """A source that is another one from some time on."""

    def __init__(self):
        self.now = randomness.secure()

    is_private = property(lambda self: self.now.is_private)

    def words(self, count):
        return self.now.words(count)


def test_it_goes_on_as_it_would_have():
    """With the same draws, the restored vendor makes the same choices and learns the same.
    Nothing is released in that time, for noise is never replayed."""
    sources = Switched(), Switched()
    one, other = (vendor(epoch=1000, first=50, source=source) for source in sources)
    restore(other, saved(lived(one, 60)))
    with randomness.simulation():
        for source in sources:
            source.now = randomness.replay(3)
        assert saved(lived(one, 40)) == saved(lived(other, 40))


def test_the_chances_of_an_epoch_are_kept():
    """They are drawn once per release: a restart draws no new ones."""
    one, other = lived(vendor()), vendor()
    restore(other, saved(one))
    np.testing.assert_array_equal(
        other.home.export_state()[1]["parts"], one.home.export_state()[1]["parts"]
    )


def test_a_visit_begun_before_is_learned_after_once():
    """The learner still knows which visits wait, and refuses a second answer."""
    one, other = lived(vendor()), vendor()
    visit = one.home.select(np.array([0.1, 0.1]))
    restore(other, saved(one))
    other.home.update(visit, 1.0)
    with pytest.raises(Exception, match="answered already"):
        other.home.update(visit, 1.0)


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
    """However many periods pass, so many releases are told apart; nothing that was seen is lost."""
    one = vendor(horizon=100, first=10, growth=1.0)
    for _ in range(10 * 3 * MOST_SEEN):
        visit = one.choose(np.array([0.3, 0.3]))
        if visit.is_waiting():
            one.receive_offer(visit, None)
        one.observe_click(visit, 1.0)
    likes = one.home.export_state()[1]["seen"][0].sum()
    _, arrays = unpack(saved(one))
    assert arrays["seen"].shape[1] == MOST_SEEN
    assert one.home.export_state()[1]["seen"][0].sum() == pytest.approx(likes)


def test_a_vendor_that_keeps_nobody_hears_of_nobody():
    """Nothing of visits or guests stays behind: a word about one, or a guest's click, is of no
    use."""
    one = vendor(remembers=0)
    visit = until_asked(one)
    one.receive_offer(visit, Offer(visit.request, "theirs").encode())
    assert not one.receive_reward("peer", Reward.of(visit.request, 1.0).encode())
    forward = until_asked(vendor()).forward
    assert (
        one.observe_guest_click("peer", answered(one.serve("peer", forward)).request, 1.0) is None
    )


def test_who_is_not_learned_sees_what_a_guest_sees():
    """An own video; no visit begins, and no time passes."""
    one = lived(vendor())
    before = saved(one)
    here = np.array([0.3, 0.3])
    assert (
        one.choose_without_learning(here)
        == one.arms[0][int(one.home.serve_forwarded(here[None])[0])]
    )
    assert saved(one) == before


def test_a_restored_vendor_forgets_who_waited():
    """A word about a visit of another life of it is of no use."""
    one = vendor()
    visit = until_asked(one)
    one.receive_offer(visit, Offer(visit.request, "theirs").encode())
    restore(one, saved(vendor()))
    assert not one.receive_reward("peer", Reward.of(visit.request, 1.0).encode())


def test_what_cannot_be_stored_says_so():
    """Guests that are served by another policy: neither saved nor restored."""
    kept, one = saved(vendor()), vendor(hosting=False)
    with pytest.raises(ConfigError, match="serves its forwarded users"):
        saved(one)
    with pytest.raises(ConfigError, match="serves its forwarded users"):
        restore(one, kept)
