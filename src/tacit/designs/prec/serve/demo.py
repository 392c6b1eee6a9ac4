"""Rounds about the generated films: each of the generated people votes for the one they like best.

A film that they did not rate counts as most people like it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tacit.service.demo_data import ITEMS, population

ROUNDS, OBJECTS, PEOPLE = 12, 3, 1000
_SETTINGS = f"""[rounds.films]
rounds = {ROUNDS}
objects = {OBJECTS}
voters = {PEOPLE}
clients = 20
clients_together = 20
epsilon = 20
delta = 1e-5
diversity = 2
radius = 2
votes = "films.votes.json"
"""


def make_demo(folder: Path) -> str:
    """Writes the votes of all rounds."""
    matrix = population().matrix.toarray()  # 0 where a film was not rated
    means = matrix.sum(axis=0) / np.maximum(np.count_nonzero(matrix, axis=0), 1)
    stars = np.where(matrix > 0, matrix, means)
    films = np.random.default_rng(1).permutation(ITEMS)[: ROUNDS * OBJECTS]
    rounds = []
    for candidates in films.reshape(ROUNDS, OBJECTS):
        best = candidates[stars[:, candidates].argmax(axis=1)] + 1
        votes = {f"generated-{person}": film for person, film in enumerate(best.tolist(), 1)}
        rounds.append({"candidates": (candidates + 1).tolist(), "votes": votes})
    (folder / "films.votes.json").write_text(json.dumps(rounds))
    return _SETTINGS
