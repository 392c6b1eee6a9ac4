"""Disclosures as a service: devices fetch tables, send letters and get scores.

operator.py     what the operator provides: settings, the model, the public log of digests
disclosure.py   one served disclosure: which letters are accepted, and what is stored of them
router.py       the HTTP resources
"""
