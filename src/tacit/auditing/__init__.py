"""What an adversary learns from what was released, and whether a claim about it holds.

An attack that fails here shows that this attack fails, and an audit that passes that no violation
was found: neither shows that the data is private.
"""
