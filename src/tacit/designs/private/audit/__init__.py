"""`tacit audit private`.

bench.py        all that the command runs: whole fits replayed on pairs of neighbouring tables
plans.py        replays of plans of two fits, and faulty later fits that the audit has to catch
membership.py   a game of membership inference from published files
"""
