"""Simulations of vendors on generated clicks; accuracy and regret are compared with the paper's.

In reading order: world.py (options) -> visitors.py (videos and visitors) -> policy_names.py,
network.py (vendors and their policies) -> run.py (training and tests) -> summary.py (means over
seeds) -> orderings.py, claims.py, bounds.py (comparison with the paper) -> report.py (tables and
page) -> commands.py. paper_figures.py has the numbers that the paper prints, sparse_contexts.py
generates people with thousands of features, log_replay.py estimates, with off_policy.py, a
policy's clicks from the log of another policy, and tour.py makes the screen of `tacit demo` about
P-DAP.
"""
