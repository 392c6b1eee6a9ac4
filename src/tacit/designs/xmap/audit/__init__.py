"""Audits of X-Map, and the bugs that are planted to test them."""
