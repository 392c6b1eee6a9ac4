"""Disclosures as a service: tables out, letters in, scores out.

operator.py     what an operator names and keeps: settings, model, the public log of digests
disclosure.py   one disclosure as it is served: which letters count, and what is kept of them
router.py       the resources
"""
