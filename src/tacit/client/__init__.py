"""A person's device over HTTP: what it sends, it decided itself.

Needs the standard library alone, so that it runs where no numerical package is.
"""

from tacit.client.client import Client, Sent
from tacit.client.device_memory import Account, FileAccount, FileMemory, Kept, Memory
from tacit.client.letters import Spoken
from tacit.client.transport import ServiceError
from tacit.designs.sketches.device import Limits, new_secret

__all__ = [
    "Account",
    "Client",
    "FileAccount",
    "FileMemory",
    "Kept",
    "Limits",
    "Memory",
    "Sent",
    "ServiceError",
    "Spoken",
    "new_secret",
]
