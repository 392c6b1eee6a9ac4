"""X-Map audited: what the paper claims and what this library claims.

bench.py    lines of the audit, and planted bugs that it must catch
tables.py   pairs of rating tables with and without one person; the game of who was in them
"""
