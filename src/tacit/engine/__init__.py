"""Fast computations of the designs: neighbours, paths, regressions, sums over people, and votes.

types.py             tables of ratings, lists of neighbours, and edges between layers
engine.py            the operations of a neighbourhood recommender, and how to run a search where
                     the ratings are
item_item.py         item neighbours: what the kernel and a cluster share
item_item_compiled.py, item_item_blocks.py     the kernel of item neighbours, and its memory layout
item_item_tiles.py   item neighbours where a cluster holds the ratings
best_items.py, best_items_compiled.py          the n items with the highest scores of each person
paths_compiled.py    sums over paths, and predictions of ratings
profile_kernels/     what each person adds to sums over profiles
ridge.py             ridge regressions
votes.py, votes_compiled.py, prec_chain_compiled.py     votes and credits of p-REC
sketch_compiled.py   questions, answers and counts of sketches
spark/               sums over people, joins of items, and lists, all on a Spark cluster
cost.py              estimates of the time, memory and traffic of a fit
machine_code.py      a folder for Numba's machine code
"""

from tacit.engine.engine import Engine as Engine
from tacit.engine.engine import cut_rows as cut_rows
from tacit.engine.engine import find_nearest as find_nearest
from tacit.engine.machine_code import private_cache as private_cache
from tacit.engine.types import Find as Find
from tacit.engine.types import Floats as Floats
from tacit.engine.types import Neighbours as Neighbours
from tacit.engine.types import Numbers as Numbers
from tacit.engine.types import Pairs as Pairs
from tacit.engine.types import Stage as Stage
from tacit.engine.types import Table as Table
