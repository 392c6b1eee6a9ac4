"""The ladder runs, learns, and is fitted as it says."""

from __future__ import annotations

import json
import math

import pytest

from benchmarks.studies.pdap_steps import (
    RIVALS,
    STEP,
    StepRow,
    exponent,
    exponents,
    main,
    steps,
    table,
)


def row(visits, regret, seed=1, step="features"):
    return StepRow(step, 1.0, visits, seed, regret, 0.0, ())


def test_every_name_runs():
    """Each step and each rival, on a small world; regret lies between none and all there is."""
    rows = list(
        steps(names=(STEP, *RIVALS), epsilons=[2.0], seeds=[1], visits=40, vendors=2, videos=2)
    )
    assert [one.step for one in rows] == [STEP, *RIVALS]
    assert all(0 < one.average_regret < 0.8 for one in rows)
    assert all(one.curve[-1][0] == 40 for one in rows)


def test_more_epsilon_is_less_regret_than_uniform():
    """Without noise the default learns: clearly below uniform after 5,000 visits."""
    plain = {"seeds": [1], "visits": 5000, "vendors": 2, "videos": 3}
    default, uniform = (
        next(steps(names=[name], epsilons=[math.inf], **plain)).average_regret
        for name in ("features", "uniform")
    )
    assert default < 0.5 * uniform


def test_exponent_is_the_slope():
    """Regret T^0.8 has the exponent 0.8; seeds that agree give no width."""
    rows = [row(t, t**-0.2, seed) for seed in (1, 2) for t in (1000, 4000, 16000)]
    mean, low, high = exponent(rows)
    assert (mean, low, high) == pytest.approx((0.8, 0.8, 0.8))
    assert "T^0.800" in exponents(rows)


def test_table_holds_the_means():
    """Over seeds; an infinite epsilon is a column and null in JSON."""
    rows = [row(10, 0.2, 1), row(10, 0.4, 2)]
    assert "0.3000 ± 1.2706" in table(rows)  # Student's t of two: 12.706 times 0.1
    assert StepRow("a", math.inf, 1, 1, 0.1, 0.0, ()).to_dict()["epsilon"] is None


def test_json_is_a_line_per_run(capsys):
    """With --json every line is one run, and nothing else is written."""
    main(["--names", "uniform", "--epsilons", "1", "inf", "--visits", "50", "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["step"], one["epsilon"]) for one in lines] == [("uniform", 1.0), ("uniform", None)]
    assert lines[0].keys() == row(1, 1.0).to_dict().keys()
