"""Judged from outside: how good predictions and recommended lists are."""
