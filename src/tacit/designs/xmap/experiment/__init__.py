"""Experiments with X-Map: simulations, figures and reports."""
