"""Audit of p-REC.

audits.py          the plan of the audit, and claims that are tested by sampling hostile clients
exact_checks.py    checks that compute losses exactly: all views of short runs, and worst cases
walk.py            runs of the shipped curator with fixed outputs, and the exact chance of each view
planted_bugs.py    faulty curators that the checks must detect
"""
