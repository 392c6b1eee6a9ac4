"""X-Map: recommend in a domain where a person has rated little, from what they rated elsewhere.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017), and its technical report. docs/xmap.md has the paper's symbols.

The guarantee card of a published model with noise lists the paper's claims, and says with numbers
where each of them fails. The sound variant uses none of the paper's mechanisms.

model.py                `XMap`, the recommender class
settings.py             parameters of a model, checked; texts that several cards share
catalogue.py            items and their domains
published_variant.py    the published variant: the paper's four steps in their order
baseliner.py            step 1: centred ratings, likes, similarities of items
extender.py             step 2: layers BB, NB, NN of each domain, X-SIM along meta-paths
generator.py            step 3: images of source items, people's AlterEgos
recommender.py          step 4: predictions from similar items or similar people
private_neighbours.py   step 4 with privacy: PNSA and PNCF
voting_lists.py         lists of item-based NX-Map, the published variant without noise
sparse_rows.py          lists of neighbours as a sparse matrix
sound_variant.py        the sound variant: private lists of `tacit.profile_sums`
files.py                arrays of the published variant's model files
guarantees.py           guarantee cards
theory.py               the paper's formulas, and chances of PNSA's draws
commands.py             `tacit fit`, `plan`, `simulate` and `demo` for xmap
serve.py                the model of the service's demonstration
audit/                  audits of both variants
experiment/             the paper's figures, and `tacit evaluate xmap`

`XMap` loads on first use, so that commands that only list designs do not import numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.designs.xmap.model import XMap

__all__ = ["XMap"]


def __getattr__(name: str) -> Any:
    """Import `XMap` when it is first used; raise AttributeError for any other name."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.model"), name)
