"""The design on the audit's bench.

bench.py        pairs of neighbours in both modes, in one domain and across two
membership.py   the game of who was in the rows
"""
