"""The paper's policies, a file each, and the base class of all policies of vendors.

base.py        what a policy is: choose an arm for a context, learn from the reward
cells.py       the space of contexts in cells that split, and what a cell has learned
controls.py    how often an arm is tried in a cell before its mean is trusted
dap.py         DAP: Algorithm 1 without privacy; the base class of the paper's other policies
cap.py         CAP: one learner, no neighbours
dup.py         DUP: a fixed grid of cells
p_dap.py       P-DAP (ExP-DAP): own videos are drawn by the exponential mechanism
gp_dap.py      GP-DAP: its epsilon grows with the level of the cell
forwarded_users.py   LaP-DAP (Algorithm 2): serve users that other vendors forward
uniform.py     any arm at random, for comparison
"""
