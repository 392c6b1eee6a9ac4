"""Tests, which mirror the package; `support` holds what several of them need."""
