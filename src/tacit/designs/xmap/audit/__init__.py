"""Audits of X-Map: the paper's claims and this library's claims.

bench.py    the audited claims, and planted bugs that the audit must catch
tables.py   pairs of rating tables with and without one person; the attack on who was in the data
"""
