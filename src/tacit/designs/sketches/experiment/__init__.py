"""Experiments with the sketches: simulations, figures and reports."""
