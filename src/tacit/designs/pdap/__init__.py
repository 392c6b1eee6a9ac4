"""P-DAP: vendors that recommend videos, learn from clicks, and forward users to one another.

Source  Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
        recommendation with multimedia big data in social networks (2015). Which name of the paper
        is which one here, and how its ambiguities are read: docs/pdap.md.

As published   settings.py -> policies/ (a file each for CAP, DUP, DAP, P-DAP, GP-DAP and LaP-DAP).
               theory.py has the formulas, regret_bounds.py their sums; published_guarantees.py
               the claims of privacy, which are refuted with numbers.
Sound          and not in the paper: features.py -> sums.py (all that is released) -> posterior.py
               -> joint.py, with epochs.py (public time), normal_draws.py and waiting_visits.py
               (each visit once); local_learner.py and grid.py (the device draws and reports);
               model.py (fit, choose, learn, predict), guarantees.py (cards).
Vendors        vendor.py, messages.py (what crosses), forwarding.py (contexts are randomised before
               they leave), trust.py (what a neighbour's reports are worth), serve/ (over HTTP).
Evidence       experiment/ (simulations), audit/ (attempts to refute), paper_results.py (the index
               of what the paper prints).
"""
