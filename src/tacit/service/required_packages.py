"""The packages that the service needs.

They are looked for when this is imported, before any other file of the service, so that a missing
one is a sentence and no ImportError.
"""

from importlib.util import find_spec

from tacit.errors import MissingExtra

for _package in ("fastapi", "sqlalchemy"):
    if find_spec(_package) is None:
        raise MissingExtra("fastapi", "service")
