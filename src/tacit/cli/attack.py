"""`tacit attack`: what a design's releases, or any recommender's answers, give away."""

from __future__ import annotations

from tacit.cli import attack_model
from tacit.cli.commands import group

app = group(
    "attack",
    "Attack a design's releases, or any recommender: tacit attack --model M RATINGS.",
    otherwise="model",
)
app.command("model")(attack_model.model)
