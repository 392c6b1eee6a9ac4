"""A check that the extra `service` is installed, by two of its packages.

It runs when this file is imported, before any other file of the service. If one of the two is
missing, that is reported as MissingExtra, which says how to install it, and not as an ImportError.
"""

from importlib.util import find_spec

from tacit.errors import MissingExtra

for _package in ("fastapi", "sqlalchemy"):
    if find_spec(_package) is None:
        raise MissingExtra(_package, "service")
