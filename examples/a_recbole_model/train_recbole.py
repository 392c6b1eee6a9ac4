"""Train a model of RecBole on FOLDER/split and write FOLDER/scores.npz: runs where RecBole is.

python train_recbole.py FOLDER MODEL SETTINGS, the settings in JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from recbole.config import Config
from recbole.data import create_dataset, data_preparation
from recbole.data.interaction import Interaction
from recbole.utils import get_model, get_trainer, init_seed

PEOPLE_AT_ONCE = 256
"""People whose scores are computed together."""


def train(folder: Path, name: str, settings: dict) -> None:
    """Train on every rating, and write the score of each person and item.

    Nothing is held out here: what tacit holds out is not in the folder.
    """
    fixed = {
        "data_path": str(folder),
        "checkpoint_dir": str(folder / "saved"),
        "load_col": {"inter": ["user_id", "item_id"]},
        "eval_args": {"split": {"RS": [1, 0, 0]}, "order": "RO", "mode": "full"},
        "state": "ERROR",
        "show_progress": False,
    }
    sys.argv = sys.argv[:1]  # RecBole reads settings off it
    config = Config(model=name, dataset="split", config_dict={**fixed, **settings})
    init_seed(config["seed"], reproducibility=True)
    dataset = create_dataset(config)
    data, _, _ = data_preparation(config, dataset)
    model = get_model(name)(config, data._dataset).to(config["device"])
    get_trainer(config["MODEL_TYPE"], name)(config, model).fit(data, show_progress=False)
    model.eval()
    rows = []
    with torch.no_grad():
        for first in range(1, dataset.user_num, PEOPLE_AT_ONCE):
            numbers = torch.arange(first, min(first + PEOPLE_AT_ONCE, dataset.user_num))
            asked = Interaction({dataset.uid_field: numbers}).to(config["device"])
            scores = model.full_sort_predict(asked).view(len(numbers), dataset.item_num)
            rows.append(scores[:, 1:].cpu().numpy())  # the first is the padding
    people = dataset.id2token(dataset.uid_field, np.arange(1, dataset.user_num))
    items = dataset.id2token(dataset.iid_field, np.arange(1, dataset.item_num))
    np.savez(
        folder / "scores.npz",
        people=people.astype(str),
        items=items.astype(str),
        scores=np.concatenate(rows),
    )


if __name__ == "__main__":
    train(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
