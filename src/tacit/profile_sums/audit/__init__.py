"""How sums over profiles are audited, for each design that releases them.

worlds.py         neighbouring data sets, whole fits of them, and the line of one way to fit
real_sizes.py     whole fits of thousands of people and items, and faults that begin at a size
planted_bugs.py   faulty steps, which the audit has to catch
"""
