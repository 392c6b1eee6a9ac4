"""Experiments with p-REC: simulations, figures and reports."""
