"""Rounds of votes as they are served."""
