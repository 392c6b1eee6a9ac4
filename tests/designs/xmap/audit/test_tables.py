"""X-Map's draws: enumerated through whole fits, the published ones refuted, the others held."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tacit.auditing.audits import audit_claim, is_as_expected
from tacit.auditing.output_distributions import executions, sample_executions
from tacit.designs.xmap.audit import bench as xmap_draws
from tacit.designs.xmap.audit.tables import strong_among_mild
from tacit.designs.xmap.guarantees import noise_scales, selection_loss
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.topk import TopSelection
from tacit.randomness import secure
from tests.support.seen import require_any

CHOICE = Selection(1.0, 3, 1, 0, 1, 1)
SCORES = [1.0, 0.0, 0.0]


def test_ways_of_one_choice_are_its_chances():
    """The ways of a selection are its candidates, each with the chance its weights give it."""
    found = list(executions(lambda: int(CHOICE(SCORES, secure()))))
    assert [each.result for each in found] == [0, 1, 2]
    assert [float(each.chance) for each in found] == pytest.approx(CHOICE.probabilities(SCORES))


def test_ways_add_up_to_one_and_never_repeat_a_candidate():
    """A list without repetition has n (n - 1) ways, whose chances sum to exactly 1."""
    draw = TopSelection(2, CHOICE)
    found = list(executions(lambda: tuple(draw(SCORES, secure()).tolist())))
    assert len({each.result for each in found}) == len(found) == 6
    assert sum(each.chance for each in found) == Fraction(1)


def test_sampler_is_put_back():
    """After an enumeration draws are random again."""
    list(executions(lambda: CHOICE(SCORES, secure())))
    rows = np.zeros((2_000, 3))
    assert set(CHOICE(rows, secure()).tolist()) == {0, 1, 2}


def test_samples_follow_the_chances():
    """Ways are sampled as often as they are likely, within six standard deviations."""
    found = list(executions(lambda: tuple(TopSelection(2, CHOICE)(SCORES, secure()).tolist())))
    count = 20_000
    times = Counter(sample_executions(found, count, secure()).tolist())
    for place, each in enumerate(require_any(found)):
        p = float(each.chance)
        assert abs(times[place] - count * p) < 6 * math.sqrt(count * p * (1 - p))


@pytest.mark.parametrize("people", [10, 60])
def test_strong_person_refutes_the_selection(people):
    """Enumerated from whole fits, the loss is that of the formulas: 0.86 and 8.11 of 0.4."""
    tables = strong_among_mild(people)
    budgets = {"epsilon": math.inf, "epsilon_prime": 0.8}
    settings = {"significance": 0, "k": 1, "pnsa": "positive"} | budgets
    drawer, one = xmap_draws.DrawnPart(settings, 0), (xmap_draws.number_of_film(tables, "one"),)
    chances = [
        {each.result: each.chance for each in drawer.list_executions(table)}[one]
        for table in tables
    ]
    assert abs(math.log(chances[0] / chances[1])) == pytest.approx(selection_loss(people), abs=1e-4)


def test_published_lines_are_refuted_by_exact_losses():
    """Images, neighbours and noise of the published variant lose more than they claim, the only
    link and two scales of noise without bound."""
    for make, loss in (
        (xmap_draws.one_image, math.inf),
        (xmap_draws.published_selection, 8.11),
        (xmap_draws.published_noise, math.inf),
    ):
        line = make()
        audit = audit_claim(line, samples=2_000)
        assert audit.exact == pytest.approx(loss, abs=0.01)
        assert audit.verdict == "violation"
        assert is_as_expected(line, audit, short=False)


def test_a_claim_as_large_as_the_loss_is_none():
    """The same draws under a claim of their loss are no violation: the line can fail."""
    line = replace(xmap_draws.all_images(), epsilon=2.3)
    audit = audit_claim(line, samples=20_000)
    assert audit.exact == pytest.approx(2.209, abs=1e-3)
    assert audit.verdict != "violation"
    assert not is_as_expected(line, audit, short=False)


def test_the_noise_has_the_scales_of_the_formula():
    """With the person and without, of the running code as on the card."""
    pair = audit_claim(xmap_draws.published_noise(), samples=1_000).pair
    one, other = noise_scales(10)
    assert f"scales {one:.3g} and {other:.3g}" in pair
