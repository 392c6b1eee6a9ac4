"""Audits of the sketches, and the bugs that are planted to test them."""
