"""X-Map: recommend in a domain where a person has never rated, from what they rated elsewhere.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017), and its technical report. docs/xmap.md has the paper's symbols.

The published claims are refuted, with numbers, on the card of variant="published". The sound
variant shares no mechanism with the paper.

settings.py             every choice, checked once; catalogue.py: items and their domains
model.py                `XMap`, the class that a user meets
published_variant.py    the published variant: the paper's four steps in their order
baseliner.py            1: centred ratings, similarities of items
extender.py             2: layers BB, NB, NN of each domain, X-SIM along meta-paths
generator.py            3: images of source items, people's AlterEgos
recommender.py          4: predictions from items or from people
private_neighbours.py   4 with privacy: PNSA and PNCF
voting_lists.py         lists of NX-Map; sparse_rows.py: lists of numbers as a sparse matrix
sound_variant.py        the sound variant: private lists of `tacit.profile_sums`
files.py                arrays of the published variant in model files
guarantees.py           cards; theory.py: the paper's formulas
commands.py             `tacit fit|plan|simulate|evaluate xmap`; serve.py: the demonstration
audit/, experiment/     the audit's bench; the paper's figures

Names load on first use: commands that list designs need no numbers.
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
