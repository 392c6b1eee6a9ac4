"""Experiments with the standard scheme: attacks, accuracy, reports."""
