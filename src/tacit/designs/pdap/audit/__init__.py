"""Audits of P-DAP: the paper's claims, this library's claims, and planted bugs.

devices.py              what leaves a person's device (the local learner), by exact distributions
forwarded_messages.py   what neighbours receive about a context
joint.py                what the joint learner releases
published_policies.py   the paper's claims, which must be refuted, and a corrected one
planted_bugs.py         bugs that the audits must catch
plan.py                 all of these together: `tacit audit pdap`
"""
