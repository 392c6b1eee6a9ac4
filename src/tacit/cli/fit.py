"""`tacit fit`: learn a model from ratings and write it to a file."""

from __future__ import annotations

from tacit.cli.baselines import BASELINES
from tacit.cli.commands import group

app = group("fit", "Fit a recommender to ratings and write its model file.", BASELINES)
