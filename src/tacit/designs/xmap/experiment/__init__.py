"""Experiments that reproduce the figures of X-Map's paper.

evaluation.py      runs every method in every setting and split, and collects the results
grid.py            the settings, and which contenders are run in each
contenders.py      the methods
judgements.py      how methods are judged on people new to the target domain, and compared
report.py          the page: figures, tables, a verdict
paper_figures.py   errors that the paper prints
theorems.py        Theorems 2 to 4 on small worlds
commands.py        `tacit evaluate xmap`
"""
