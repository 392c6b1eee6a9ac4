"""Audits of the design `private`, and the bugs that are planted to test them."""
