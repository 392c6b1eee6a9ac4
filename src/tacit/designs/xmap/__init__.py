"""X-Map: recommend in a domain where a person has never rated, from what they rated elsewhere.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017), and its technical report. docs/xmap.md has the paper's symbols.

The guarantee card of variant="published" refutes the paper's claims, with numbers. The sound
variant uses none of the paper's mechanisms.

model.py                `XMap`, the recommender class
settings.py             parameters of a model
catalogue.py            items and their domains
published_variant.py    the published variant: the paper's four steps in their order
baseliner.py            step 1: centred ratings, similarities of items
extender.py             step 2: layers BB, NB, NN of each domain, X-SIM along meta-paths
generator.py            step 3: images of source items, people's AlterEgos
recommender.py          step 4: predictions from similar items or similar people
private_neighbours.py   step 4 with privacy: PNSA and PNCF
voting_lists.py         lists of NX-Map, the variant without noise
sparse_rows.py          lists of neighbours as a sparse matrix
sound_variant.py        the sound variant: private lists of `tacit.profile_sums`
files.py                arrays of the published variant's model files
guarantees.py           guarantee cards
theory.py               the paper's formulas
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
    """Load a name on first use."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.model"), name)
