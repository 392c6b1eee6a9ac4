"""Contributions to the sums over profiles, compiled, one person after the other.

Every number of a person is made from that person's rows and from public or released arrays, in a
fixed order. So it is the same bit for bit whether a person is alone or among others, and equal to
the number of the readable functions of the tests.

types.py         people's profiles, features, released arrays
clip.py          the clip of one person's whole table
counts.py        sum 1: how often items are used and liked
tastes.py        one person's tastes, on which sum 2a (their second moment), 2b and 3 build
products.py      sum 2b: features of likes times tastes
item_tastes.py   sum 3: tastes of each item's likers
like_pairs.py    pairs of likes, released together with sum 3
popular_counts.py  a second count of likes, which may replace sums 2a, 2b and 3
star_factors.py  the sum of stars times tastes
"""
