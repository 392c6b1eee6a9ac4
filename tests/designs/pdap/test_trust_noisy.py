"""TrustSettings on noisy sums: what one visit moves, who is found out, who is not, and its twin."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit import randomness
from tacit.accounting import PureAccountant
from tacit.designs.pdap import trust
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.messages import Offer, Reward
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.policies.uniform import Uniform
from tacit.designs.pdap.trust import (
    GRAINS,
    NeighbourTrust,
    TrustSettings,
    laplace_tail_bound,
    largest_difference,
)
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError
from tacit.mechanisms.laplace import LaplaceRelease

HERE = np.array([0.5])
RANGES = [(0.0, 1.0), (-0.58, 1.58), (-99.5, 100.5), (0.4, 0.6)]


class Claims(Uniform):
    """A learner that promises something, and asks the neighbour whenever it may."""

    epsilon = 1.0

    def select(self, context, arms=None):
        return super().select(context, [self.allowed_arms(arms)[-1]])

    def choose_again(self, context, arms, *, instead=None) -> Choice:
        return super().select(context, arms)


def vendor(trust_settings, **changed):
    source = randomness.secure()
    forwarder = Forwarder(Agreement(1, 2, 1.0), randomness=source)
    home = Claims(1, 1, randomness=source)
    return Vendor(
        home, ["own"], peers=["b"], forwarder=forwarder, trust_settings=trust_settings, **changed
    )


def visit(shop, order=(), *, click=0.0, word=0.0, silent=False, between=lambda: None):
    """One visit, whose parts come in that order, with `between` after each."""
    made = shop.choose(HERE)
    if not made.is_waiting():
        return
    message = Reward.from_number(made.request, word).encode()
    parts = {
        "offer": lambda: shop.receive_offer(
            made, None if silent else Offer(made.request, "theirs").encode()
        ),
        "click": lambda: shop.observe_click(made, click),
        "word": lambda: shop.receive_reward("b", message),
    }
    for part in order:
        parts[part]()
        between()


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_a_visit_moves_its_neighbours_sums_by_what_is_charged(low, high):
    """In whatever order, however often and in however many epochs its parts come in, and whatever
    is said: 3 + w at most, and as much for some."""
    trust_settings = TrustSettings(low=low, high=high, share=1.0)
    charged = 3 * GRAINS + largest_difference(trust_settings)
    most = 0
    for order in itertools.product(("offer", "click", "word"), repeat=4):
        for click, word, silent in itertools.product((0, 1, 0.5), (low, high, -1e9), (0, 1)):
            shop, moved = vendor(trust_settings), []
            peer = shop.trust_in("b")

            def over(peer=peer, moved=moved):
                kept = peer.export_state()
                moved.append(np.abs(kept["sums"]).sum())
                peer.resume({**kept, "sums": [0] * len(kept["sums"])})

            if order.count("offer") > 1 and silent:
                continue  # refused: the visit waits for nobody any more
            visit(shop, order, click=click, word=word, silent=silent, between=over)
            most = max(most, sum(moved))
            assert sum(moved) <= charged
    assert most >= charged - 2


@pytest.mark.parametrize(("gap", "used"), [(0.08, True), (0.15, False)])
def test_a_tenth_of_the_range_is_tolerated(gap, used):
    """By default a neighbour may report a tenth of the range too much, on the mean of all visits,
    and no more: over 20,000 visits chance adds little."""
    peer = NeighbourTrust(TrustSettings(epsilon=math.inf), epsilon=math.inf)
    for _ in range(20_000):
        peer.compare_report(gap, 0.0)
    assert peer.end_epoch(20_000) == (not used)
    assert peer.uses_reports == used


def test_one_offer_more_than_failures_ends_a_row_of_pauses():
    """A pause lasts twice as long as the one before, until offers are known to be more."""
    settings = TrustSettings(epsilon=math.inf, failures=5, pause=1000, epoch=1000)
    peer = NeighbourTrust(settings, epsilon=math.inf)
    for _ in range(5):
        peer.count_call(has_offer=False)
    peer.end_epoch(1000)
    assert peer.export_state()["pauses"] == 1
    assert not peer.may_be_asked(1500)
    for _ in range(3):
        peer.count_call(has_offer=True)
        peer.count_call(has_offer=False)
    peer.end_epoch(5000)
    assert peer.export_state()["pauses"] == 1  # as many offers as failures
    peer.count_call(has_offer=True)
    peer.end_epoch(6000)
    assert peer.export_state()["pauses"] == 0


def test_the_chances_of_all_releases_add_up_to_the_alarm(monkeypatch):
    """The r-th release may be wrong with a chance of alarm / (r (r + 1)): of fifty releases 50 / 51
    of the alarm is used, and each bound is of as many terms as were released."""
    asked = []

    def record(terms, chance):
        asked[-1].append((terms, chance))
        return 0.0

    monkeypatch.setattr(trust, "laplace_tail_bound", record)
    peer = NeighbourTrust(TrustSettings(alarm=0.01), epsilon=1.0)
    for release in range(50):
        asked.append([])
        peer.end_epoch(1000 * (release + 1))
    first = [bounds[0] for bounds in asked]
    assert [terms for terms, _ in first] == list(range(1, 51))
    assert sum(chance for _, chance in first) == pytest.approx(0.01 * 50 / 51)


@pytest.mark.parametrize(("low", "high"), [*RANGES, (0.0, 0.3), (-0.7, 0.2), (0.1, 1.0)])
def test_the_largest_gap_is_not_below_that_of_any_report(low, high):
    """A report at one end and a click at the other, in grains of the width, rounded up."""
    gap = largest_difference(TrustSettings(low=low, high=high))
    exact = max(abs(end - click) for end in (low, high) for click in (0, 1)) / (high - low) * GRAINS
    assert exact <= gap < exact + 1


def test_a_range_of_rewards_has_a_width():
    """Its ends differ and are finite."""
    for low, high in ((1.0, 1.0), (1.0, 0.0), (0.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(ConfigError, match="low below high"):
            TrustSettings(low=low, high=high)


def test_who_is_trusted_whole_is_trusted_from_the_start():
    """With a share of 1, as in the paper, nothing has to be proved; with less it has."""
    assert NeighbourTrust(TrustSettings(share=1.0), epsilon=math.inf).is_proved
    assert not NeighbourTrust(TrustSettings(share=0.999), epsilon=math.inf).is_proved


def test_the_noise_is_that_of_what_is_charged():
    """epsilon times the scale is at least the distance in grains; the price is no more than it."""
    for low, high in RANGES:
        trust_settings = TrustSettings(low=low, high=high)
        peer = NeighbourTrust(trust_settings, epsilon=0.5)
        assert peer.release.scale * 0.5 >= 3 * GRAINS + largest_difference(trust_settings)
        assert PureAccountant().add(peer.release.event).epsilon() <= 0.5


def test_nothing_happens_between_two_releases():
    """Whatever comes in, who may be asked and whose reports are used changes at the end of an
    epoch."""
    trust_settings = TrustSettings(epsilon=math.inf, epoch=100, proof=1, failures=1)
    busy, idle = (
        NeighbourTrust(trust_settings, epsilon=math.inf),
        NeighbourTrust(trust_settings, epsilon=math.inf),
    )
    for _ in range(99):
        busy.count_call(has_offer=False)
        busy.count_seen_click()
        busy.compare_report(1.0, click=0)
    asked_now = [busy.may_be_asked(step) for step in range(300)]
    assert asked_now == [idle.may_be_asked(step) for step in range(300)]
    assert busy.uses_reports


def test_an_unproved_neighbour_is_asked_at_public_times():
    """The first 4 `proof` visits, then every tenth, whatever it is asked and answers."""
    shop = vendor(TrustSettings(share=0.1, proof=10))
    asked = []
    for step in range(1, 401):
        made = shop.choose(HERE)
        if made.is_waiting():
            asked.append(step)
            shop.receive_offer(made, Offer(made.request, "theirs").encode())
    assert asked == [*range(1, 41), *range(50, 401, 10)]


def test_a_found_liar_is_asked_at_public_times_again():
    """Proved by an epoch of honest words, and found out by one of lies, whatever came before."""
    trust_settings = TrustSettings(share=0.25, proof=1, epoch=100, epsilon=math.inf)
    peer = NeighbourTrust(trust_settings, epsilon=math.inf)
    for word in (0.0, 1.0):
        for _ in range(100):
            peer.count_seen_click()
            peer.compare_report(word, click=0)
        peer.end_epoch(100)
        asked = [peer.may_be_asked(visits) for visits in range(100, 108)]
        assert peer.is_proved
        assert asked == [word == 0.0 or visits % 4 == 0 for visits in range(100, 108)]


def lives(trust_settings, epochs, *, epsilon, lie=None, calls=200, generator=None):
    """A neighbour that home sees `calls` times an epoch; words by randomised response, or lies."""
    peer = NeighbourTrust(trust_settings, epsilon=epsilon)
    width = trust_settings.high - trust_settings.low
    for epoch in range(1, epochs + 1):
        for step in range(calls):
            click = step % 2
            truth = (click - trust_settings.low) / width
            word = trust_settings.low + width * float(generator.random() < truth)
            peer.count_call(has_offer=True)
            peer.count_seen_click()
            peer.compare_report(word if lie is None else lie(click), click)
        if peer.end_epoch(epoch * trust_settings.epoch):
            return epoch
    return None


@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
def test_an_honest_neighbour_is_kept(epsilon):
    """Randomised response at epsilon 1 is no lie, and noise makes it none: of 8 lives of ten epochs
    nobody's is condemned without noise, and with noise each with a chance of 0.0001 at most, so
    two or more in fewer than one run of a million."""
    trust_settings = TrustSettings(low=-0.58, high=1.58, tolerance=0.1, alarm=1e-4)
    generator = np.random.default_rng(3)
    found = [lives(trust_settings, 10, epsilon=epsilon, generator=generator) for _ in range(8)]
    assert sum(epoch is not None for epoch in found) <= math.isfinite(epsilon)


@pytest.mark.parametrize(("epsilon", "epochs"), [(math.inf, 1), (1.0, 2), (0.5, 5), (0.1, 80)])
@pytest.mark.parametrize("lie", [lambda _: 1.0, lambda _: 0.0, lambda click: 1.0 - click])
def test_a_liar_is_found(lie, epsilon, epochs):
    """Of 200 visits seen in an epoch: within 1 epoch without noise, 2 at epsilon 1, 5 at 0.5, and
    80 at 0.1 (where it is about 20); in three lives of three."""
    generator = np.random.default_rng(4)
    for _ in range(3):
        found = lives(TrustSettings(), epochs, epsilon=epsilon, lie=lie, generator=generator)
        assert found is not None


def test_noise_alone_raises_no_more_alarms_than_stated():
    """500 neighbours that nobody ever asks, three releases each, at an alarm of 5 %: at most
    that many are condemned, as many proved, and as many paused."""
    trust_settings = TrustSettings(alarm=0.05, share=0.25, proof=1, failures=1)
    raised = np.zeros(3)
    for _ in range(500):
        peer = NeighbourTrust(trust_settings, epsilon=0.1)
        for epoch in range(1, 4):
            peer.end_epoch(epoch * trust_settings.epoch)
        raised += (not peer.uses_reports, peer.is_proved, peer.export_state()["pauses"] > 0)
    assert (raised <= 0.05 * 500).all()


@pytest.mark.parametrize("terms", [1, 3, 30])
def test_tail_bounds_sums_of_laplace_noise(terms):
    """A hundred thousand sums exceed the bound at 1 % in at most 1 % of cases, and half of it
    more often."""
    sums = np.random.default_rng(5).laplace(size=(100_000, terms)).sum(axis=1)
    bound = laplace_tail_bound(terms, 0.01)
    assert (sums > bound).mean() <= 0.01
    assert (sums > bound / 2).mean() > 0.01


@pytest.mark.parametrize("epsilon", [0.5, math.inf])
def test_an_absent_neighbour_is_left_alone_for_longer_and_longer(epsilon):
    """Of 20,000 visits, one that never answers costs a few epochs of calls, and noise no more
    than a few others."""
    shop = vendor(TrustSettings(share=1.0, epsilon=epsilon, epoch=500))
    calls = 0
    for _ in range(20_000):
        made = shop.choose(HERE)
        if made.is_waiting():
            calls += 1
            shop.receive_offer(made, None)
    assert 500 <= calls <= 4000


def test_a_pause_ends_and_is_forgiven():
    """Back after its pause, a neighbour that answers starts with short pauses again."""
    trust_settings = TrustSettings(share=1.0, epsilon=math.inf, epoch=100, pause=100)
    peer = NeighbourTrust(trust_settings, epsilon=math.inf)
    for visits in (100, 300):
        for _ in range(50):
            peer.count_call(has_offer=False)
        peer.end_epoch(visits)
    assert (peer.may_be_asked(499), peer.may_be_asked(500)) == (False, True)
    for _ in range(50):
        peer.count_call(has_offer=True)
    peer.end_epoch(600)
    for _ in range(50):
        peer.count_call(has_offer=False)
    peer.end_epoch(700)
    assert (peer.may_be_asked(799), peer.may_be_asked(800)) == (False, True)


def test_without_noise_sums_are_exact():
    """epsilon inf: what is known is what came in, by the same code."""
    peer = NeighbourTrust(TrustSettings(), epsilon=math.inf)
    peer.count_call(has_offer=True)
    peer.count_seen_click()
    peer.compare_report(1.0, click=0)
    peer.end_epoch(1000)
    assert peer.export_state()["released"] == [-1, 1, 1, 0, 1, 0]


def test_a_twin_without_noise_has_exact_sums(monkeypatch):
    """A learner at epsilon inf gets no noise around it either."""
    monkeypatch.setattr(Claims, "epsilon", math.inf)
    shop = vendor(TrustSettings())
    assert shop.trust_in("b").release.epsilon == math.inf
    assert shop.caution_epsilon == math.inf


def test_a_found_liars_arm_starts_anew():
    """At the vendor: from the release on its words are not learned, and its arm is a new one."""
    shop = vendor(TrustSettings(epsilon=2.0, epoch=50, share=1.0))
    for _ in range(500):
        visit(shop, ("offer", "click", "word"), click=0.0, word=1.0)
    assert not shop.trust_in("b").uses_reports
    assert min(shop.arms[1]) > 1


@pytest.mark.parametrize(("later", "waited"), [(4, True), (5, False)])
def test_words_are_waited_for_by_age(later, waited):
    """A visit's word is waited for until so many visits later; not until so many others wait, for
    then one visit would decide whether another's word counts."""
    shop = vendor(TrustSettings(share=1.0), remembered_visits=5)
    first = shop.choose(HERE)
    shop.receive_offer(first, Offer(first.request, "theirs").encode())
    word = Reward.from_number(first.request, 1.0).encode()
    for _ in range(later):
        shop.choose(HERE, peers=[])
    assert shop.receive_reward("b", word) == waited


def test_one_release_per_epoch_and_neighbour(monkeypatch):
    """1,000 visits at an epoch of 100 are ten releases, asked or not."""
    calls = []
    real = LaplaceRelease.__call__

    def counted(self, values):
        calls.append(values)
        return real(self, values)

    monkeypatch.setattr(LaplaceRelease, "__call__", counted)
    shop = vendor(TrustSettings(epoch=100))
    for _ in range(1000):
        shop.choose(HERE)
    assert len(calls) == 10


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"epoch": 0}, {"alarm": 0.0}, {"alarm": 1.0}])
def test_what_makes_no_sense_is_refused(bad):
    """No noise scale for epsilon 0, no epoch of nothing, no chance beyond 0 and 1."""
    with pytest.raises(ConfigError):
        TrustSettings(**bad)


def test_noise_alone_forgives_no_pause():
    """Two pauses stay on record after an epoch without a call: offers are not known to be more
    (fails by chance in at most alarm / 2 of runs, one in ten million here)."""
    trust_settings = TrustSettings(alarm=2e-7, epsilon=0.5)
    peer = NeighbourTrust(trust_settings, epsilon=0.5)
    peer.resume(peer.export_state() | {"pauses": 2})
    peer.end_epoch(trust_settings.epoch)
    assert peer.export_state()["pauses"] == 2


@pytest.mark.parametrize(("low", "high", "moved"), [(0.0, 1.0, 4.0), (-0.5, 1.5, 3.75)])
def test_noise_is_that_of_what_one_visit_moves(low, high, moved):
    """Three counts by one each, and a gap by at most its part of the range: no more noise."""
    settings = TrustSettings(low=low, high=high)
    assert trust.neighbour_release(settings, 1.0).sensitivity == moved


@pytest.mark.parametrize("wrong", [{"tolerance": 0}, {"errors": 0}, {"share": 0}, {"share": 1.1}])
def test_a_rule_that_never_or_always_pauses_is_refused(wrong):
    """Borders that no neighbour could keep to, or none could pass."""
    with pytest.raises(ConfigError, match="tolerance and errors are above 0"):
        TrustSettings(**wrong)
