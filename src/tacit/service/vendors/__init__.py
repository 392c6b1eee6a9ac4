"""Vendors as they are served: visits, and what vendors send one another.

`served.py` is what [vendors.NAME] becomes, `settings.py` and `peers.py` what may stand there. The
learner works at its `vendor_state.py`, which is kept in the ledger as the bytes of `packing.py`.
`visits.py` and `reward_handlers.py` are what happens at a request; `calls.py`, `reach.py` and
`signatures.py` are the way to a neighbour.
"""
