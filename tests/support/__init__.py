"""Conformance suites, reference implementations and small worlds that tests share."""
