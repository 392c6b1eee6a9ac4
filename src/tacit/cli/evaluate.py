"""`tacit evaluate`: measure how well a design hides, how good its lists are, and the cost."""

from __future__ import annotations

from tacit.cli.baselines import EVALUATE
from tacit.cli.commands import group

app = group(
    "evaluate", "Measure accuracy and attacks, release by release.", {"baselines": EVALUATE}
)
