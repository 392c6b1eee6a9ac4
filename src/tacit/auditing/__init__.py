"""What an adversary learns from what was released, and whether a claim about it holds.

An attack that fails shows only that this attack fails. An audit that passes shows only that no
violation was found. Neither shows that the data is private.
"""
