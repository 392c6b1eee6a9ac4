"""The figures of X-Map's paper, made again.

evaluation.py      every method in every setting and split, and the table of all of them
contenders.py      the methods, and each judged on people new to the target
report.py          the page: figures, tables, a verdict
paper_figures.py   errors that the paper prints
theorems.py        Theorems 2 to 4 on small worlds
"""
