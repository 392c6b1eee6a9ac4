"""Disclosures as they are served."""
