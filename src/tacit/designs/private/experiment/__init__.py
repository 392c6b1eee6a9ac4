"""The design `private` tried on generated data."""
