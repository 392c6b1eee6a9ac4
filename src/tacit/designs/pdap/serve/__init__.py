"""Vendors as they are served: visits, and what vendors send one another."""
