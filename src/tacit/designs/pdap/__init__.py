"""P-DAP: vendors that recommend videos, learn from clicks, and forward users to one another.

Source  Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
        recommendation with multimedia big data in social networks (2015). docs/pdap.md has the
        paper's names beside those used here, and says how the paper's ambiguities are read.

As published   settings.py -> policies/ (a file each for CAP, DUP, DAP, P-DAP, GP-DAP and LaP-DAP).
               theory.py has the formulas, regret_bounds.py their sums; published_guarantees.py
               the paper's claims of privacy, refuted with numbers.
Sound          two learners that are not in the paper, with cards in guarantees.py.
               The joint learner: features.py -> sums.py (all that it releases) -> posterior.py ->
               joint.py, with epochs.py (public time), normal_draws.py and waiting_visits.py (each
               visit is learned once). Users call it through model.py (fit, choose, learn, predict).
               The local learner, local_learner.py and grid.py: a device draws and reports.
Vendors        vendor.py, messages.py (what crosses), forwarding.py (contexts are randomised before
               they leave), trust.py (what a neighbour's reports are worth), serve/ (over HTTP).
Evidence       experiment/ (simulations), audit/ (attempts to refute), paper_results.py (the index
               of what the paper prints).
Command line   design.py (the entry in the registry), commands.py (`tacit replay pdap`).
"""
