"""The service: private recommendation over HTTP, started by `tacit serve`.

    app = create_app(open_service(Settings(folder=Path("shop"))))

Each file has one concern. In the order in which a request meets them: `http_protocol` (bytes of a
connection), `middleware` (every request), `keys` and `limits` (who asks, how often), `http_bodies`
and `strict_json` (what is read), `operations` and `access` (routes and their roles), `resources/`
(the routes, by subject), `idempotency` and `commits` (what is stored before it is answered),
`problems` (refusals), `refused_requests` (who counts although a request is refused). What is
served: `served_things`, `deployment`, `served_models`, `kinds`, and for comparisons of lists,
`splits` and `split_releases`. How it runs: `settings`, `service`, `application`, `processes`;
beside the requests, `model_watch`, `event_log` and `metrics`. The remaining files are parts of
these, or folders to start from (`demo`, `model_folder`).

The names of this package load on first use: `tacit init` and `tacit keys` need no web framework.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.service import required_packages as required_packages  # first: it names what is missing

if TYPE_CHECKING:
    from tacit.service.application import create_app
    from tacit.service.kinds import open_service
    from tacit.service.service import Service
    from tacit.service.settings import Settings

_MODULE_OF = {
    "Service": "service",
    "Settings": "settings",
    "create_app": "application",
    "open_service": "kinds",
}
"""Module of each name that loads on first use."""

__all__ = ["Service", "Settings", "create_app", "open_service"]


def __getattr__(name: str) -> Any:
    """Load a name on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
