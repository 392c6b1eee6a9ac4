"""The nouns of the interface: each has a router."""
