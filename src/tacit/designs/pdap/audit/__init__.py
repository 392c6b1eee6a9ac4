"""Audits of P-DAP, and the bugs that are planted to test them."""
