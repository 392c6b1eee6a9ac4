"""The service: private recommendation over HTTP, started by `tacit serve`.

    app = create_app(Service.open(Settings(folder=Path("shop"))))

One file for one concern: who may ask (keys, access), what is refused (http_bodies, middleware),
what is stored before it is answered (idempotency), what is served (deployment), and in `resources/`
the nouns of the interface, each with a router.
"""

from importlib.util import find_spec

from tacit.errors import MissingExtra

if find_spec("fastapi") is None or find_spec("sqlalchemy") is None:
    raise MissingExtra("fastapi", "service")

from tacit.service.deployment import Service
from tacit.service.serving import create_app
from tacit.service.settings import Settings

__all__ = ["Service", "Settings", "create_app"]
