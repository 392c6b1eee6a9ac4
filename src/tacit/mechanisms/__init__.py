"""Noise. Fields are public, the call's argument is sensitive, the result is released."""
