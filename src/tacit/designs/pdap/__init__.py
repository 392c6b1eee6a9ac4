"""P-DAP: vendors that recommend videos, learn from clicks, and forward users to one another.

Source   Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
         recommendation with multimedia big data in social networks (2015). Which name of the paper
         is which one here, and how its ambiguities are read: docs/pdap.md.

As published: published.py, with control.py and theory.py. Its claims are refuted, with numbers, on
the cards of published_guarantees.py. Sound, and not in the paper: joint.py (sums with noise),
local.py (the device draws and reports), model.py (fit and predict). Between vendors: vendor.py,
messages.py (what crosses), forwarding.py (contexts are randomised before they leave), trust.py
(what a neighbour's word is worth).
"""
