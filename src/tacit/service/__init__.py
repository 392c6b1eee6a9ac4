"""The service: private recommendation over HTTP, started by `tacit serve`.

    app = create_app(Service.open(Settings(folder=Path("shop"))))

One file for one concern: who may ask (keys, access), what is refused (strict_json, middleware,
limits), what is stored before it is answered (idempotency), what is served (deployment), and one
file in `resources/` for each noun of the interface.
"""

from importlib.util import find_spec

from tacit.errors import MissingExtra

if find_spec("fastapi") is None or find_spec("sqlalchemy") is None:
    raise MissingExtra("fastapi", "service")

from tacit.service.app import create_app
from tacit.service.deployment import Service
from tacit.service.settings import Settings

__all__ = ["Service", "Settings", "create_app"]
