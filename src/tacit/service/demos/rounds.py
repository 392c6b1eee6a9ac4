"""Rounds about the generated films: the generated people vote for the one they rate best."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tacit.service.demos.films import ITEMS, population

ROUNDS, OBJECTS, PEOPLE = 8, 3, 1000
_SETTINGS = f"""[rounds.films]
rounds = {ROUNDS}
objects = {OBJECTS}
voters = {PEOPLE}
clients = 10
clients_together = 10
epsilon = 20
delta = 1e-5
votes = "films.votes.json"
"""


def make_demo(folder: Path) -> str:
    """Writes the votes of all rounds."""
    stars = population().matrix.toarray()  # 0 where a film was not rated
    films = np.random.default_rng(1).permutation(ITEMS)[: ROUNDS * OBJECTS] + 1
    rounds = []
    for number in range(ROUNDS):
        candidates = films[number * OBJECTS : (number + 1) * OBJECTS]
        own = stars[:, candidates - 1]
        votes = {
            f"generated-{person}": int(candidates[np.argmax(row)])
            for person, row in enumerate(own)
            if row.any()
        }
        rounds.append({"candidates": candidates.tolist(), "votes": votes})
    (folder / "films.votes.json").write_text(json.dumps(rounds))
    return _SETTINGS
