"""A model of RecBole that is trained anew on each split, in an environment of its own.

RECBOLE_PYTHON=recbole-env/bin/python \
    tacit compare ratings.csv --model recbole_model.py:RecBole --set name=BPR --set epochs=50

RecBole pins older packages than tacit. So each fit writes the ratings as a data folder of RecBole,
has RecBole's own Python train on it (`train_recbole.py`), and reads the scores of every person.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tacit.data.tables.research_folders import write_research_folder
from tacit.errors import ConfigError

TRAINING = Path(__file__).with_name("train_recbole.py")


class RecBole:
    """A general model of RecBole, which answers for people whom it learned from.

    Args:
        name: Name of the model in RecBole, such as BPR, LightGCN, ItemKNN or EASE.
        epochs: Passes over the ratings.
        seed: Seed of the training.
    """

    def __init__(self, name: str = "BPR", epochs: int = 50, seed: int = 0) -> None:
        self.name = name
        self.epochs = epochs
        self.seed = seed

    def fit(self, ratings):
        """Train in RecBole's environment and keep the scores, shape (people, items).

        Raises:
            ConfigError: `RECBOLE_PYTHON` is not set, or RecBole failed; its last line is repeated.
        """
        python = os.environ.get("RECBOLE_PYTHON")
        if not python:
            raise ConfigError("RECBOLE_PYTHON is not set: name the Python that has RecBole.")
        settings = {"epochs": self.epochs, "seed": self.seed}
        with tempfile.TemporaryDirectory() as folder:
            write_research_folder(ratings, "recbole", Path(folder) / "split")
            command = [python, str(TRAINING), folder, self.name, json.dumps(settings)]
            alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            done = subprocess.run(
                command, cwd=folder, env=alone, capture_output=True, text=True, check=False
            )
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise ConfigError(f"RecBole cannot train {self.name}: {last}")
            with np.load(Path(folder) / "scores.npz") as found:
                people, items, scores = found["people"], found["items"], found["scores"]
        by_text = {str(item): item for item in ratings.item_ids.tolist()}
        self.items_ = [by_text[token] for token in items.tolist()]
        self.place_ = {token: place for place, token in enumerate(people.tolist())}
        self.scores_ = scores
        return self

    def recommend(self, user, n):
        """List n items for a person, best first; none for a person whom RecBole left out."""
        place = self.place_.get(str(user))
        if place is None:
            return []
        order = np.argsort(-self.scores_[place], kind="stable")
        return [self.items_[number] for number in order[:n]]
