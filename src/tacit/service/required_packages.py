"""A check that the packages of the service are installed.

It runs when this file is imported, before any other file of the service. A missing package is then
reported as MissingExtra, which says how to install it, and not as an ImportError.
"""

from importlib.util import find_spec

from tacit.errors import MissingExtra

for _package in ("fastapi", "sqlalchemy"):
    if find_spec(_package) is None:
        raise MissingExtra(_package, "service")
