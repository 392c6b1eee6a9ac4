"""Settings that follow from public numbers, and what they gain over the paper's."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data import clicks as rewards
from tacit.designs.pdap.control import Setting
from tacit.designs.pdap.model import practical
from tacit.designs.pdap.published import Dap

SIZES = {"videos": 10, "neighbours": 0, "horizon": 20_000}


@pytest.mark.parametrize(("features", "lipschitz"), [(2, 2.0), (4, 1.0)])
def test_practical_settings_gain_on_the_papers(features, lipschitz):
    """On clicks of a Lipschitz world they were not chosen on: by two points at least, where the
    paper's settings are still exploring."""
    world = rewards.generate(
        vendors=1, videos=10, dimension=features, lipschitz=lipschitz, seed=101
    )
    contexts = rewards.contexts(SIZES["horizon"], features, seed=102)
    chances = world.means(contexts)
    clicks = (np.random.default_rng(103).random((len(contexts), 1)) < chances).astype(float)
    learners = (
        practical(dimension=features, **SIZES),
        (Setting(dimension=features, **SIZES),),
    )
    ours, theirs = (mean_reward(told, contexts, clicks) for told in learners)
    assert ours > theirs + 0.02


def mean_reward(told, contexts, clicks):
    policy, total = Dap(*told), 0.0
    for context, click in zip(contexts, clicks, strict=True):
        choice = policy.select(context)
        policy.update(choice, click[choice.arm])
        total += click[choice.arm]
    return total / len(contexts)


def test_what_else_is_said_goes_first():
    """Any field of a setting can be given; what is not given follows from the sizes alone."""
    setting, _ = practical(dimension=2, most_cells=7, growth=2.0, **SIZES)
    assert (setting.most_cells, setting.p, setting.split_after) == (7, 2.0, 10.0)
    assert practical(dimension=6, **SIZES)[0].split_after == 80.0
