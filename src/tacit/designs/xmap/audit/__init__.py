"""Audits of X-Map: of the paper's claims, and of the sound variant's.

bench.py    the audited claims, and planted bugs that the audit must find
tables.py   pairs of rating tables with and without one person; an attack that guesses who was in
            the data
"""
