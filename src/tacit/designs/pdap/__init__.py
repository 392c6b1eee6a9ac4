"""P-DAP: vendors that recommend videos, learn from clicks, and forward users to one another.

Source   Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
         recommendation with multimedia big data in social networks (2015).

paper                         here                                  where
M, K, d, T, m, alpha, L, p, A Setting                               control.py
K_i, k                        Arms, Choice.arm                      policy.py
P^t, C, l, M_C                AdaptivePartition, Cell               partition.py
N, N1, r                      Visits.counts, .trained, .means       adaptive.py
G1, G3, G2                    own, trained and served, neighbour    control.py
DAP; CAP [33]                 Dap; Cap                              adaptive.py
DUP [31], m_T                 Dup, slices                           uniform_cells.py
Algorithm 1, ExP-DAP          PDap                                  private.py
Algorithm 2, LaP-DAP, Tree_k  ForwardedUsers                         forwarded_users.py
section VI                    GPDap, ForwardedUsers(geometric=True)  private.py, forwarded_users.py
Gamma, l_max, theorems        gamma, deepest_level, corollary_2     theory.py

How the paper's ambiguities are read, each with its reason in the docs: arms are one's own videos
AND the neighbours (it prints their intersection); the least explored of several arms is tried, and
of equal means taken; children start at zero; a neighbour is trained until each of its videos can
have been tried ln t times, not ln t / K; a tree has floor(log2 T) + 1 levels, and there is one for
each cell and video; what is sent is its noisy total over the number of rewards; rewards of the
training phase are not learned; epsilon grows with the level in GP-DAP (section VI, not VII).

Not in the paper: `practical` of control.py (settings that learn faster), noisy_partition.py (cells
that split by noisy counts at public times; the audit bench has it, and no policy), joint.py and
what it is made of (sums with noise; its own cells may split, joint_cells.py), compiled.py (DAP and
CAP compiled); vendor.py, network.py, messages.py (what crosses between vendors), forwarding.py
(contexts randomised before they leave), hosting.py (forwarded users, from whom nothing is learned),
trust.py (what a neighbour's word is worth), trust_noisy.py (the same from noisy sums, for homes
that promise something), bandit.py (fit and predict over any policy), uniform.py (the baseline).

The published claims are refuted, with numbers, on the cards of guarantees.py.
"""
