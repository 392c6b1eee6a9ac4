"""What an adversary learns from what was released.

An attack that fails here shows that this attack fails, never that the data is private.
"""
