"""Experiments with P-DAP: simulations, figures and reports."""
