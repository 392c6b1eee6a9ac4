"""Campaigns of sketches as they are served."""
