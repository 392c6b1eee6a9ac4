"""Audits of the standard scheme: what its disclosure reveals about training people."""
