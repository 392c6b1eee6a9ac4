"""A person's device over HTTP: what it sends, it decided itself.

Needs the standard library alone, so that it runs where no numerical package is.
"""

from tacit.client.client import Client, Sent
from tacit.client.keeping import FileMemory, Kept, Memory, PassingMemory, secret_in
from tacit.client.transport import ServiceError
from tacit.recommenders.sketches.device import Limits, new_secret

__all__ = [
    "Client",
    "FileMemory",
    "Kept",
    "Limits",
    "Memory",
    "PassingMemory",
    "Sent",
    "ServiceError",
    "new_secret",
    "secret_in",
]
