"""Privacy audits of the sums over profiles, for each design that releases them.

worlds.py         small neighbouring data sets, and the audit of each way to fit them
real_sizes.py     fits of thousands of people and items, and bugs that show only at such sizes
planted_bugs.py   faulty steps, which the audit has to catch
"""
