"""Attacks and audits: what an adversary learns from a release, and whether a claim about it holds.

An attack that fails shows only that this attack fails. An audit that passes shows only that no
violation was found. Neither shows that the data is private.
"""
