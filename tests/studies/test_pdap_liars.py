"""What one lying neighbour of three costs, beside the same world without the lie."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.studies.pdap_liars import LIES, Terms, lines, main, run
from tests.support.seen import require_any

TERMS = Terms(visits=1300, share=0.1)


@pytest.fixture(scope="module")
def measured():
    """Every lie in two worlds, to a home that never sees a click on a neighbour's video."""
    runs = [run("dap", lie, 0.0, world, TERMS) for world in range(2) for lie in ("honest", *LIES)]
    return runs, {line.lie: line for line in lines(runs)}


@pytest.mark.parametrize("lie", LIES)
def test_a_liar_keeps_within_both_limits(measured, lie):
    """On average at most twice the regret, of either kind, and ten points more visits."""
    line = measured[1][lie]
    assert line.worlds == 2
    assert max(line.ratio.mean, line.ratio_reachable.mean) <= 2
    assert line.points.mean <= 10


def test_what_is_withheld_is_no_longer_reachable(measured):
    """Where the liar shows its weakest or nothing, less can be lost; otherwise just as much."""
    for one in require_any(measured[0]):
        if one.lie in ("worst", "absent"):
            assert one.reachable < one.regret
        else:
            assert one.reachable == one.regret


def test_nobody_is_shown_videos_of_the_absent(measured):
    """It may be asked, and shows nothing."""
    absent = [one for one in measured[0] if one.lie == "absent"]
    assert [one.drawn for one in require_any(absent)] == [0] * len(absent)


def test_lines_are_json(capsys):
    """One object per lie, with every field of a line."""
    options = ["--homes", "joint", "--seen", "1", "--lies", "1", "--visits", "200"]
    main([*options, "--worlds", "2", "--json"])
    (line,) = (json.loads(text) for text in capsys.readouterr().out.splitlines())
    assert (line["home"], line["lie"], line["worlds"]) == ("joint", "1", 2)
    assert np.isfinite(line["ratio"]).all()
