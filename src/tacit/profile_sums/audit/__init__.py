"""How sums over profiles are audited, for each design that releases them.

worlds.py         neighbouring data sets, whole fits of them, and the line of one way to fit
planted_bugs.py   faulty steps, which the audit has to catch
"""
