"""Audits of p-REC, and the bugs that are planted to test them."""
