"""Sums over people and similarities of items, computed here or on a cluster.

types.py             tables that engines read, and their answers
engine.py            the operations of a neighbourhood recommender, and where they run
item_item.py         nearest items: what the kernel and a cluster share
item_item_compiled.py, item_item_blocks.py     the kernel, and how it holds ratings
item_item_tiles.py   nearest items where the ratings are on a cluster
best_items.py, best_items_compiled.py          the n best of many people's scores
paths_compiled.py    sums over paths, and predictions
profile_kernels/     what each person adds to sums over profiles
ridge.py             ridge regressions
votes.py, votes_compiled.py, prec_chain_compiled.py     votes and credits of p-REC
sketch_compiled.py   reports of sketches
spark/               sums over people on a Spark cluster
cost.py              what a fit takes, before any data
machine_code.py      a folder for numba's machine code
"""

from tacit.engine.engine import Engine as Engine
from tacit.engine.engine import blocks as blocks
from tacit.engine.engine import nearest as nearest
from tacit.engine.machine_code import private_cache as private_cache
from tacit.engine.types import Find as Find
from tacit.engine.types import Floats as Floats
from tacit.engine.types import Neighbours as Neighbours
from tacit.engine.types import Numbers as Numbers
from tacit.engine.types import Pairs as Pairs
from tacit.engine.types import Stage as Stage
from tacit.engine.types import Table as Table
