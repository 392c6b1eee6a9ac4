"""Vendors with one policy each, on generated clicks: accuracy and regret, beside the paper's.

In reading order: world.py (options) -> network.py (vendors and their policies) -> run.py (training
and tests) -> summary.py (means over seeds) -> orderings.py, claims.py, bounds.py (what the paper
says of them) -> report.py (tables and page) -> commands.py. paper_figures.py has the numbers that
the paper prints, sparse_contexts.py people with thousands of features, off_policy.py estimates
from the log of another policy.
"""
