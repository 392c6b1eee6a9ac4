"""p-REC on the bench: samples of hostile clients' runs, and bugs planted into the curator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.auditing.audits import audit_claim, is_as_expected
from tacit.auditing.bugs import examine
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.audit.audits import CLAIMS, features, published_claim, sound_claim
from tacit.designs.prec.audit.exact_checks import (
    CheckResult,
    check_colluding_clients,
    check_hostile_views,
    settings_for,
)
from tacit.designs.prec.audit.planted_bugs import BUGS
from tacit.designs.prec.audit.walk import follow_last_voter, sample_views
from tests.support.seen import require_any

SAMPLES = 1_000


def test_the_published_claim_is_refuted():
    """A client who follows the only voter: 67.69 computed, and samples far above 2.157."""
    line = published_claim()
    found = audit_claim(line, samples=SAMPLES)
    assert found.verdict == "violation"
    assert found.exact == pytest.approx(67.688, abs=1e-3)
    assert found.lower_bound > 1.3 * line.epsilon
    assert (found.unit, found.adjacency) == ("vote history", "add or remove")


@pytest.mark.long
def test_the_bound_reaches_five():
    """With the samples of the command, 10,000, at least 5 nats are seen."""
    assert audit_claim(published_claim(), samples=10_000).lower_bound >= 5


def test_the_sound_claim_holds():
    """No violation, and an exact loss below the claim."""
    line = sound_claim(4.0)
    found = audit_claim(line, samples=SAMPLES)
    assert is_as_expected(line, found, short=True)
    assert len(found.pairs) == 1
    for pair in found.pairs:
        assert pair.lower_bound <= pair.exact <= line.epsilon
        assert pair.lower_bound >= pair.ideal


def test_too_low_a_claim_is_refuted_by_samples():
    """A gate of 4 nats claimed to be a tenth of one: the stop alone shows it. 4,000 samples prove
    about 0.8 nats; 1,000 would prove 0 more often than not."""
    check = sound_claim(4.0).checks[0]
    assert check(4 * SAMPLES, 1e-6).lower_bound > 0.1


def test_both_variants_are_on_the_bench():
    """What the command can be asked for."""
    assert set(CLAIMS) == {"published", "sound"}
    assert [make().epsilon for make in CLAIMS["sound"]] == [4.0]


def test_features_by_hand():
    """Matches, the stop."""
    votes = follow_last_voter(np.array([[0], [1], [0]]))
    runs = np.array([[0, 0, 0, 3], [0, 1, 1, 1]])
    found = [way(runs).tolist() for way in features(votes).values()]
    assert found == [[2, 2], [3, 1]]


def test_sampled_runs():
    """A closed gate: the stop is before the first round; without a gate it never comes."""
    votes = follow_last_voter(np.zeros((3, 1), dtype=np.int64))
    wanted = settings_for(3.0)
    assert sample_views(PRec, wanted, votes, 5)[:, -1].tolist() == [0] * 5
    open_always = PRecSettings(3, 2, 80, peers=12, variant="published")
    seen = sample_views(PRec, open_always, votes, 50)
    assert seen.shape == (50, 4)
    assert set(seen[:, -1].tolist()) == {3}


@pytest.mark.parametrize("bug", BUGS[4:8], ids=lambda bug: bug.name)
def test_bugs_in_the_rules_are_seen(bug):
    """A curator that breaks one of the rules is called broken."""
    assert bug.audit(planted=True)[0]


def test_the_bound_of_a_bug_is_a_loss():
    """A delta or a chance that is too large is an alarm, and no bound on epsilon."""
    delta = CheckResult("delta", 1, largest=0.9, allowed=0.1, is_loss=False)
    loss = CheckResult("loss", 1, largest=0.3, allowed=0.2)
    held = CheckResult("another loss", 1, largest=0.5, allowed=1.0)
    assert replace(BUGS[0], check=lambda _: [delta, loss, held]).audit(planted=True) == (True, 0.3)
    assert replace(BUGS[0], check=lambda _: [delta, held]).audit(planted=True) == (True, None)
    assert replace(BUGS[0], check=lambda _: [held]).audit(planted=True) == (False, None)


def test_results_say_what_is_a_loss():
    """The deltas and the chance of a draw below P are no losses."""
    results = require_any([*check_hostile_views(PRec, instances=2), *check_colluding_clients(PRec)])
    probabilities = {result.check for result in results if not result.is_loss}
    assert probabilities == {
        "hostile, gate 3: delta in all",
        "hostile, gate 3: below P",
        "two clients: delta in all",
    }


@pytest.mark.long
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bugs_are_caught(bug):
    """Each bug is called broken, its clean twin is not."""
    caught, twin = examine(bug)
    assert caught.caught
    assert not twin.alarm
