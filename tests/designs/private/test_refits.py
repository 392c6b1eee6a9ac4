"""Fits that follow one another: what they cost together, and what a budget for life refuses."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from tacit import Private, XMap, container, load_model
from tacit.accounting import GDPAccountant
from tacit.designs.private import Account, Settings, events, plan_releases, refits
from tacit.designs.private.refits import BudgetStatus
from tacit.errors import ConfigError, DataError, ModelFileError, PrivacyError
from tacit.ledger import (
    BudgetExhausted,
    CapChanged,
    Charge,
    Cost,
    Holder,
    epsilon_of_cap,
    epsilon_spent,
    open_ledger,
)
from tacit.profile_sums.fits import Fit, total_epsilon
from tacit.profile_sums.release import release_lists
from tacit.recommenders.baselines import PrivatePopularity
from tacit.recommenders.fits_in_process import comparison


@pytest.fixture
def ledger(tmp_path):
    with open_ledger(tmp_path / "budgets.db") as opened:
        yield opened


def spent(ledger) -> int:
    return ledger.balance(Holder.dataset("tacit", "ratings")).spent


def test_two_fits_cost_what_their_events_cost(world, tmp_path):
    """The second card states the exact total of both, which is below the sum of their epsilons."""
    first = Private(1.0).fit(world)
    second = Private(0.5, previous=first).fit(world)
    (card,) = second.guarantees()
    accountant = GDPAccountant()
    for each in (*events(Settings(1.0)), *events(Settings(0.5))):
        accountant.add(each)
    assert card.epsilon == pytest.approx(accountant.epsilon(1e-6), rel=1e-12)
    assert 1.0 < card.epsilon < 1.5
    assert "2 fits together" in card.sentence
    assert "alone has epsilon 0.5" in card.sentence
    path = tmp_path / "m.tacit"
    second.save(path)
    assert load_model(path).guarantees()[0].epsilon == card.epsilon
    assert Private(0.5, previous=path).fit(world).budget_status_.fits == 3


@pytest.mark.parametrize("epsilon", [0.011, 0.1, 0.37, 1.0, 2.9])
def test_a_fit_is_charged_no_less_than_it_costs(epsilon):
    """Its steps of 1e-12 are the next above its exact rho, never the one below."""
    fit = Fit.with_random_name(Settings(epsilon))
    assert 0 <= fit.steps - fit.rho * 10**12 < 1
    assert fit.rho * 10**12 != int(fit.rho * 10**12)  # so a step rounded down would show


def test_a_fit_after_one_without_noise_has_no_epsilon(world):
    """What was revealed stays revealed."""
    (card,) = Private(1.0, previous=Private(math.inf).fit(world)).fit(world).guarantees()
    assert card.epsilon is None


def test_a_lifetime_refuses_before_anything_is_drawn(world, monkeypatch):
    """The next fit would pass it: PrivacyError, and no sum is asked for."""
    first = Private(1.0, lifetime=1.2).fit(world)
    assert first.budget_status_.further == 0
    monkeypatch.setattr(
        "tacit.profile_sums.fitted_lists.release_lists", lambda *_: pytest.fail("drawn")
    )
    with pytest.raises(PrivacyError, match=r"lifetime allows 1\.2"):
        Private(1.0, previous=first).fit(world)


def test_a_lifetime_of_one_fit_allows_that_fit(world):
    """epsilon equal to the lifetime fits exactly once."""
    stood = Private(1.0, lifetime=1.0).fit(world).budget_status_
    assert (stood.fits, stood.further) == (1, 0)


@pytest.mark.parametrize("times", [4, 52])
@pytest.mark.parametrize("lifetime", [1.0, 3.0])
def test_a_schedule_is_what_the_ledger_grants(times, lifetime):
    """So many equal fits fit into the cap in whole steps, and leave less than 4 % of it."""
    each = plan_releases(1000, 100, lifetime, releases=times).epsilon
    cost = Fit.with_random_name(Settings(each)).steps
    most = refits.largest_rho(lifetime, 1e-6) * 10**12
    assert 0.96 * most <= times * cost <= most
    assert total_epsilon([Fit.with_random_name(Settings(each))] * times, 1e-6) <= lifetime


def test_the_ledger_pays_for_every_fit(world, ledger):
    """Charge, model and list of fits move together; the last one refused leaves all as it was."""
    account = Account(ledger)
    first = Private(1.0, lifetime=1.6).fit(world, account=account)
    assert spent(ledger) == first.releases_[0].steps
    second = Private(1.0, previous=first).fit(world, account=account)
    assert spent(ledger) == sum(fit.steps for fit in second.releases_)
    before = ledger.head
    with pytest.raises(PrivacyError, match="3 fits together"):
        Private(1.0, previous=second).fit(world, account=account)
    assert ledger.head == before


def test_the_same_fit_asked_for_again_draws_no_new_noise(world, ledger):
    """After a crash between ledger and file: the stored model, without a charge."""
    account = Account(ledger)
    first = Private(1.0, lifetime=3.0).fit(world, account=account)
    once = spent(ledger)
    again = Private(1.0, lifetime=3.0).fit(world, account=account)
    assert again.budget_status_.repeated
    assert not first.budget_status_.repeated
    assert again.released_.means.tolist() == first.released_.means.tolist()
    assert spent(ledger) == once


def test_two_fits_after_one_are_refused(world, ledger):
    """Fits are a chain: another one after an old model is refused, and nothing is charged."""
    account = Account(ledger)
    Private(1.0, lifetime=3.0).fit(world, account=account)
    once = spent(ledger)
    with pytest.raises(ConfigError, match="newest model"):
        Private(0.5, lifetime=3.0).fit(world, account=account)
    assert spent(ledger) == once


def test_fits_made_without_the_ledger_are_charged_later(world, ledger):
    """A ledger that comes late charges what `previous` brings."""
    first = Private(1.0).fit(world)
    second = Private(1.0, previous=first, lifetime=3.0).fit(world, account=Account(ledger))
    assert spent(ledger) == sum(fit.steps for fit in second.releases_)
    assert len(second.releases_) == 2


def test_the_ledger_knows_more_than_previous_says(world, ledger):
    """The card counts fits that the ledger charged, whatever list of fits a file has."""
    account = Account(ledger)
    first = Private(1.0, lifetime=5.0).fit(world, account=account)
    second = Private(1.0, previous=first).fit(world, account=account)
    other = Private(1.0).fit(world)
    third = Private(1.0, previous=other, lifetime=5.0).fit(world, account=account)
    assert set(second.releases_) | set(other.releases_) < set(third.releases_)
    assert third.budget_status_.fits == 4


def test_a_budget_spent_by_others_refuses(world, ledger):
    """The cap is the ledger's: other charges count, and nothing is stored."""
    holder = Holder.dataset("tacit", "ratings")
    account = Account(ledger)
    _, cap = account.lifetime(1.5, 1e-6)
    ledger.open_budget(holder, cap)
    asked = releases_request()
    ledger.release(asked, [Charge(holder, Cost(cap.unit, cap.amount - 5))], lambda _: b"")
    with pytest.raises(BudgetExhausted):
        Private(1.0, lifetime=1.5).fit(world, account=account)
    assert account.fits() == ()


def releases_request():
    from tacit.ledger import Request, canonical

    return Request("tacit", "analyst", "other", "key", canonical({}))


def test_a_cap_is_for_life(world, ledger):
    """Another lifetime than the open budget's is refused; none given takes the budget's."""
    account = Account(ledger)
    first = Private(0.5, lifetime=2.0).fit(world, account=account)
    with pytest.raises(CapChanged):
        Private(0.5, previous=first, lifetime=3.0).fit(world, account=account)
    assert Private(0.5, previous=first).fit(world, account=account).lifetime_ == 2.0


def test_a_budget_opened_beforehand_gives_its_epsilon(world, ledger):
    """`tacit ledger open-budget --fits`: the lifetime is that of the exact curve."""
    ledger.open_budget(Holder.dataset("tacit", "ratings"), refits.cap_of_lifetime(2.0, 1e-6))
    stood = Private(1.0).fit(world, account=Account(ledger)).budget_status_
    assert stood.lifetime == pytest.approx(2.0, abs=1e-4)
    assert stood.further == 2


def test_a_ledger_states_the_lifetime_that_was_set(world, ledger):
    """A lifetime of 5 is 5 in the ledger, and what was spent is the epsilon of the fit's card."""
    model = Private(1.0, lifetime=5.0).fit(world, account=Account(ledger))
    balance = ledger.balance(Holder.dataset("tacit", "ratings"))
    assert epsilon_of_cap(balance.cap).epsilon == pytest.approx(5.0, abs=1e-4)
    assert epsilon_of_cap(balance.cap).delta == 1e-6
    spent = epsilon_spent(balance).epsilon
    assert spent == pytest.approx(model.guarantees()[0].epsilon, abs=1e-4)
    assert spent >= model.guarantees()[0].epsilon


def test_no_budget_and_no_lifetime(world, ledger):
    """It says which option to give."""
    with pytest.raises(ConfigError, match="--lifetime"):
        Private(1.0).fit(world, account=Account(ledger))


def test_the_ledger_keeps_no_digest_of_the_ratings(world, two_domains, ledger):
    """A hash of ratings would be a release: a repeat with other rows gives the stored model."""
    first = Private(1.0, lifetime=3.0).fit(world, account=Account(ledger))
    other = world.where(world.users != 0)
    again = Private(1.0, lifetime=3.0).fit(other, account=Account(ledger))
    assert again.budget_status_.repeated
    assert again.released_.means.tolist() == first.released_.means.tolist()


@pytest.mark.parametrize("lifetime", [0, -1.0, True, "2", math.inf, math.nan, 1e6])
def test_a_bad_lifetime_is_refused(world, ledger, lifetime):
    """An epsilon above 0 whose mu a float holds, with a ledger and without."""
    for account in (None, Account(ledger)):
        with pytest.raises(ConfigError, match="lifetime"):
            Private(1.0, lifetime=lifetime).fit(world, account=account)


def test_a_fit_after_one_without_noise_is_not_charged(world, ledger):
    """Also where the ledger has a fit already."""
    account, free = Account(ledger), Private(math.inf).fit(world)
    for _ in range(2):
        with pytest.raises(PrivacyError, match="without noise"):
            Private(0.5, previous=free, lifetime=3.0).fit(world, account=account)
        Private(0.5, lifetime=3.0).fit(world, account=account)
    assert len(account.fits()) == 1


def test_numbers_of_numpy_are_numbers(world, tmp_path):
    """A model of a float32 epsilon is saved and loaded."""
    model = Private(np.float32(1), np.float64(1e-6), lifetime=np.float32(3)).fit(world)
    model.save(tmp_path / "m.tacit")
    assert load_model(tmp_path / "m.tacit").guarantees() == model.guarantees()


def test_a_charged_fit_that_fails_can_be_asked_for_again(world, ledger, monkeypatch):
    """It released nothing and stays charged, for noise was drawn; the next one is charged too, and
    its total counts both. Then the chain goes on, and a repeat is the stored file."""
    account, holder = Account(ledger), Holder.dataset("tacit", "ratings")
    first = Private(0.5, lifetime=3.0).fit(world, account=account)
    once = ledger.balance(holder).spent
    with monkeypatch.context() as broken:
        broken.setattr("tacit.profile_sums.fitted_lists.release_lists", stops_after_the_counts)
        with pytest.raises(PrivacyError, match="stays charged"):
            Private(0.5, previous=first).fit(world, account=account)
    assert ledger.balance(holder).spent == 2 * once
    second = Private(0.5, previous=first).fit(world, account=account)
    assert ledger.balance(holder).spent == 3 * once
    assert second.budget_status_.fits == 3
    assert not second.budget_status_.repeated
    repeated = Private(0.5, previous=first).fit(world, account=account)
    assert repeated.budget_status_.repeated
    assert repeated.releases_ == second.releases_
    assert ledger.balance(holder).spent == 3 * once
    third = Private(0.5, previous=second).fit(world, account=account)
    again = Private(0.5, previous=second).fit(world, account=account)
    assert again.budget_status_.repeated
    assert again.released_.means.tolist() == third.released_.means.tolist()
    assert ledger.balance(holder).spent == 4 * once
    with pytest.raises(ConfigError, match="another fit that follows the same model"):
        Private(0.25, previous=second).fit(world, account=account)


def test_the_first_fit_may_fail_twice_and_is_found_again(world, ledger, monkeypatch):
    """Each failure is charged; the file that was made at last is given to whoever asks again."""
    account, holder = Account(ledger), Holder.dataset("tacit", "ratings")
    with monkeypatch.context() as broken:
        broken.setattr("tacit.profile_sums.fitted_lists.release_lists", stops_after_the_counts)
        for _ in range(2):
            with pytest.raises(PrivacyError, match="stays charged"):
                Private(0.5, lifetime=3.0).fit(world, account=account)
    made = Private(0.5, lifetime=3.0).fit(world, account=account)
    again = Private(0.5, lifetime=3.0).fit(world, account=account)
    assert again.budget_status_.repeated
    assert again.releases_ == made.releases_
    assert made.budget_status_.fits == 3
    assert ledger.balance(holder).spent == sum(fit.steps for fit in made.releases_)


def test_an_interrupt_after_the_first_sum_stays_charged(world, ledger, monkeypatch):
    """Noise was drawn; the program stops only when the charge is written."""
    account, holder = Account(ledger), Holder.dataset("tacit", "ratings")

    def interrupted(*given, **choices):
        release_lists(*given, **choices)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("tacit.profile_sums.fitted_lists.release_lists", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Private(0.5, lifetime=3.0).fit(world, account=account)
    once = ledger.balance(holder).spent
    assert once > 0
    assert [fit.failed for fit in account.fits()] == [True]
    assert Private(0.5, lifetime=3.0).fit(world, account=account).budget_status_.fits == 2
    assert ledger.balance(holder).spent == 2 * once


@pytest.mark.parametrize("star", [1e200, np.inf, np.nan, 7.0])
def test_a_rating_off_the_scale_is_refused_before_anything_is_drawn(world, star):
    """Also where the ratings were not made by a reader, which would have refused it."""
    values = world.values.copy()
    values[0] = star
    with pytest.raises(DataError, match="off the scale"):
        Private(1.0, stars=True).fit(replace(world, values=values))


def test_what_fails_before_the_first_sum_is_not_charged(world, ledger, monkeypatch):
    """No noise was drawn; the same request is then made and charged once."""
    account, holder = Account(ledger), Holder.dataset("tacit", "ratings")
    first = Private(0.5, lifetime=3.0).fit(world, account=account)
    once = ledger.balance(holder).spent

    def stops(*_):
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr("tacit.profile_sums.fitted_lists.read_people", stops)
        with pytest.raises(MemoryError):
            Private(0.5, previous=first).fit(world, account=account)
    assert ledger.balance(holder).spent == once
    assert Private(0.5, previous=first).fit(world, account=account).budget_status_.fits == 2
    assert ledger.balance(holder).spent == 2 * once


def stops_after_the_counts(*given):
    release_lists(*given)
    raise MemoryError


def test_previous_is_a_model_of_this_design(world):
    """Anything else is refused before a sum."""
    with pytest.raises(ConfigError, match="previous"):
        Private(1.0, previous=3).fit(world)


def test_a_file_that_claims_more_noise_is_refused(world, tmp_path):
    """Its list of fits has to agree with its settings."""
    header, arrays = Private(1.0).fit(world).parts()
    header["releases"]["fits"][-1][1][0] *= 2
    container.write(tmp_path / "m.tacit", header, arrays)
    with pytest.raises(ModelFileError, match="other noise"):
        load_model(tmp_path / "m.tacit")


def test_one_object_fitted_twice_counts_both_fits(world):
    """With a lifetime, `fit` called again is a further release and not the first one again."""
    model = Private(1.0, lifetime=1.6).fit(world)
    assert model.fit(world).budget_status_.fits == 2
    with pytest.raises(PrivacyError, match="3 fits together"):
        model.fit(world)


def test_a_chain_has_the_conditions_of_all_its_fits(world, tmp_path):
    """A fit on a detected scale makes every later card conditional, also after a file."""
    first = Private(0.5).fit(replace(world, scale_given=False))
    path = tmp_path / "first.tacit"
    first.save(path)
    for previous in (first, path):
        second = Private(0.5, previous=previous).fit(replace(world, scale_given=True))
        assert "scale detected" in second.guarantees()[0].sentence
    with comparison():
        alone = Private(0.5).fit(replace(world, scale_given=True))
    assert "scale" not in alone.fitted_.assumed_public


def test_a_fitted_object_counts_what_came_before_it_and_its_own_fits(world):
    """`previous` of an object that is fitted already is not passed over."""
    first = Private(0.3, lifetime=1.0).fit(world)
    second = Private(0.3, previous=first).fit(world)
    assert first.set_params(previous=second).fit(world).budget_status_.fits == 3


def test_a_lifetime_is_not_inherited_at_a_larger_delta(world):
    """Epsilon 1 at delta 1e-6 allows less than epsilon 1 at delta .01."""
    first = Private(1.0, 1e-6, lifetime=1.0).fit(world)
    with pytest.raises(ConfigError, match="holds at delta 1e-06"):
        Private(0.5, 0.01, previous=first).fit(world)


def test_a_loaded_model_keeps_its_lifetime(world, tmp_path):
    """It is not fitted again beyond it."""
    path = tmp_path / "m.tacit"
    Private(0.5, lifetime=0.6).fit(world).save(path)
    with pytest.raises(PrivacyError, match="lifetime"):
        load_model(path).fit(world)


def test_a_fit_that_stops_leaves_the_model_as_it_was(world, monkeypatch):
    """The sums of a fit that stopped are nowhere in it."""
    model = Private(0.5, stars=True).fit(world)
    before = model.released_, model.releases_

    def stops(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.profile_sums.fitted_lists.release_stars", stops)
    with pytest.raises(KeyboardInterrupt):
        model.fit(world)
    assert (model.released_, model.releases_) == before


def test_pickles_hold_no_person(two_domains):
    """Of every model with a card for people: X-TasteMap and private popularity as well."""
    source, target = sorted(set(two_domains.item_metadata["domain"].tolist()))[:2]
    fitted = (
        XMap(source=source, target=target, epsilon=1.0).fit(two_domains),
        PrivatePopularity(epsilon=1.0).fit(two_domains),
        Private(1.0).fit(two_domains),
    )
    for model in fitted:
        copied = pickle.loads(pickle.dumps(model))  # noqa: S301  # its own
        assert getattr(copied, "people_", None) is None


def test_a_card_states_what_the_fit_spent(two_domains, tmp_path):
    """Parameters that are set afterwards change neither the card nor the file."""
    source, target = sorted(set(two_domains.item_metadata["domain"].tolist()))[:2]
    with comparison():
        models = (
            XMap(source=source, target=target, epsilon=2.0).fit(two_domains),
            PrivatePopularity(epsilon=2.0).fit(two_domains),
            Private(2.0).fit(two_domains),
        )
    for model in models:
        model.set_params(epsilon=0.1, delta=1e-3)
        model.save(tmp_path / "m.tacit")
        for each in (model, load_model(tmp_path / "m.tacit")):
            (card,) = each.guarantees()
            assert card.epsilon == pytest.approx(2.0, rel=1e-6)
            assert card.delta == 1e-6


def test_a_ledger_is_charged_for_fits_that_this_process_knows(world, ledger):
    """Fits of one object and of equal ratings without the ledger are on the card and charged."""
    account = Account(ledger)
    first = Private(0.2, lifetime=8.0).fit(world, account=account)
    model = Private(1.0).fit(world).fit(world)
    model.previous = first
    model.fit(world, account=account)
    (card,) = model.guarantees()
    expected = [Settings(0.2), Settings(1.0), Settings(1.0), Settings(1.0)]
    assert model.budget_status_.fits == 4
    assert card.epsilon == pytest.approx(
        total_epsilon([Fit.with_random_name(each) for each in expected], 1e-6)
    )
    assert spent(ledger) == sum(fit.steps for fit in model.releases_)


def test_the_log_does_not_tell_who_agreed(world, tmp_path):
    """Requests are hashed under a random key, so that no guess of the set can be confirmed.

    One request in two new ledgers leaves no hash that stands in both.
    """
    people = world.user_ids[:20].tolist()
    hashes = []
    for name in ("a.db", "b.db"):
        with open_ledger(tmp_path / name) as opened, comparison():
            account = Account(opened)
            Private(1.0, lifetime=8.0, consented=people).fit(world, account=account)
            log = json.dumps([entry["body"] for entry in opened.entries(0, 100)])
        hashes.append(set(re.findall(r"[0-9a-f]{64}", log)))
    assert min(map(len, hashes)) > 0
    assert not hashes[0] & hashes[1] - {hashlib.sha256(b"").hexdigest(), "0" * 64}


def test_a_file_with_likes_is_not_written_again_after_a_newer_fit(world, ledger):
    """A person who withdrew would be in it: the old request is refused, the newest is repeated."""
    account = Account(ledger)
    people = world.user_ids[:20].tolist()
    old = Private(1.0, lifetime=8.0, consented=people)
    first = old.fit(world, account=account)
    again = Private(1.0, lifetime=8.0, consented=people).fit(world, account=account)
    assert again.budget_status_.repeated
    Private(1.0, previous=first, consented=people[1:]).fit(world, account=account)
    before = spent(ledger)
    with pytest.raises(PrivacyError, match="withdrawn"):
        Private(1.0, lifetime=8.0, consented=people).fit(world, account=account)
    assert spent(ledger) == before


def test_a_ledger_forgets_a_file_with_likes_at_the_next_fit(world, tmp_path):
    """Pieces of the file stand in the ledger's files until then, and afterwards nowhere."""
    people = world.user_ids[:20].tolist()

    def count_kept(pieces):
        """Count the pieces that stand in a file of the ledger."""
        content = b"".join(file.read_bytes() for file in tmp_path.glob("own.db*"))
        return sum(piece in content for piece in pieces)

    with open_ledger(tmp_path / "own.db") as opened:
        first = Private(1.0, lifetime=8.0, consented=people).fit(world, account=Account(opened))
    first.save(tmp_path / "first.tacit")
    file = (tmp_path / "first.tacit").read_bytes()
    pieces = [file[start : start + 64] for start in range(0, len(file) - 64, 64)]
    assert count_kept(pieces) > 0.9 * len(pieces)
    with open_ledger(tmp_path / "own.db") as opened:
        later = Private(1.0, previous=first, consented=people[1:])
        later.fit(world, account=Account(opened)).save(tmp_path / "later.tacit")
    file = (tmp_path / "later.tacit").read_bytes()
    likes_alone = [piece for piece in pieces if piece not in file]
    assert len(likes_alone) > 0.2 * len(pieces)
    assert count_kept(likes_alone) == 0


def test_a_notebook_shows_the_budget():
    """A table in words, not a list of arguments."""
    shown = BudgetStatus(fits=2, epsilon=0.24685, total=2.069, lifetime=3.0, further=50)
    for words in ("fits so far", "0.2469", "2.069", ">3<", ">50<"):
        assert words in shown._repr_html_()
    endless = BudgetStatus(fits=1, epsilon=1.0, total=1.0, lifetime=None, further=None)
    assert endless._repr_html_().count("no limit") == 2


def test_an_inherited_lifetime_is_what_was_set(ledger):
    """A fit that states none gets the lifetime of the open budget: 0.01, and a step at most."""
    account = Account(ledger)
    ledger.open_budget(account.holder, refits.cap_of_lifetime(0.01, 1e-6))
    assert 0.01 <= account.lifetime(None, 1e-6)[0] < 0.01 * (1 + 1e-6)
    assert account.lifetime(None, 1e-5)[0] < 0.01  # stated at another delta, it is less
