"""P-DAP: vendors that recommend videos, learn from clicks, and forward users to one another.

Source   Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
         recommendation with multimedia big data in social networks (2015).

paper                         here                                  where
M, K, d, T, m, alpha, L, p, A Setting                               control.py
K_i, k                        Arms, Choice.arm                      policy.py
P^t, C, l, M_C                AdaptivePartition; Cell               control.py; policy.py
N, N1, r                      Visits.counts, .trained, .means       published.py
G1, G3, G2                    own, trained and served, neighbour    control.py
DAP; CAP [33]; DUP [31], m_T  Dap; Cap; Dup, slices                 published.py
Algorithm 1, ExP-DAP          PDap                                  published.py
Algorithm 2, LaP-DAP, Tree_k  ForwardedUsers                        published.py
section VI                    GPDap, ForwardedUsers(geometric=True) published.py
Gamma, l_max, theorems        gamma, deepest_level, corollary_2     theory.py

How the paper's ambiguities are read, each with its reason in the docs: arms are one's own videos
AND the neighbours (it prints their intersection); the least explored of several arms is tried, and
of equal means taken; children start at zero; a neighbour is trained until each of its videos can
have been tried ln t times, not ln t / K; a tree has floor(log2 T) + 1 levels, and there is one for
each cell and video; what is sent is its noisy total over the number of rewards; rewards of the
training phase are not learned; epsilon grows with the level in GP-DAP (section VI, not VII).

Not in the paper: joint.py (sums with noise), local.py (the device draws and reports), vendor.py,
messages.py (what crosses between vendors), forwarding.py (contexts randomised before they leave,
and `Host`, which serves others' users and learns nothing of them), trust.py (what a neighbour's
word is worth), model.py (fit and predict over any policy; settings that learn faster).

The published claims are refuted, with numbers, on the cards of published_guarantees.py.
"""
