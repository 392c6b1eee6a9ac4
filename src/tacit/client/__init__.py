"""A person's device over HTTP: what it sends, it decided itself.

It fetches what is public, makes the message itself, stores it durably, and only then sends it. The
service gets reports and letters, never a star or an attribute. It needs the standard library alone,
so that it runs where no numerical package is.

`client` (what a device's program calls), `backend` (what a shop's program calls, which sends
histories), `letters` (the standard scheme's calendar), `accounts` and
`memories` (what is stored), `transport` (requests), `private_files`, `strict_json`.
"""

from tacit.client.accounts import Account as Account
from tacit.client.accounts import FileAccount as FileAccount
from tacit.client.backend import Backend as Backend
from tacit.client.backend import ServedList as ServedList
from tacit.client.client import Client as Client
from tacit.client.client import SentReport as SentReport
from tacit.client.letters import LetterResult as LetterResult
from tacit.client.memories import FileMemory as FileMemory
from tacit.client.memories import Memory as Memory
from tacit.client.memories import MemoryContent as MemoryContent
from tacit.client.transport import ServiceError as ServiceError
from tacit.designs.sketches.device import Limits as Limits
from tacit.designs.sketches.device import new_secret as new_secret
