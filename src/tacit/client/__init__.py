"""The client of a service over HTTP: for a person's device, and for a shop's backend.

A device decides itself what it sends. It fetches public files, makes each message from the person's
ratings, stores the message durably, and only then sends it. The service receives randomised reports
and letters: true stars and attributes stay on the device. A letter is the standard scheme's message
of one epoch: the obfuscated ratings that the device releases. Only the standard library is needed.

client.py          what a device's program calls
letters.py         the part of it that sends letters by the standard scheme's calendar
backend.py         what a shop's program calls, which sends customers' true histories
accounts.py        the account: the secret of a device
memories.py        the memory: what a device has decided and sent
transport.py       HTTP requests
private_files.py   files that only their owner can read
strict_json.py     JSON without ambiguities
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
