"""A mechanism that has begun and remembers: it exists once, because it was charged once."""

from __future__ import annotations

import os
import threading
from typing import NoReturn

from tacit.errors import PrivacyError


class Running:
    """Stays in the process that started it, and cannot be copied, pickled or saved.

    Steps are taken under `_lock`, one at a time, after `_check_process`: a fork may have copied the
    lock while another thread held it.
    Two copies would release more than was charged, with noise that the one shares with the other.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise PrivacyError(
                f"This {type(self).__name__} belongs to another process. Start a new one here, "
                "and charge for it."
            )

    def __reduce__(self) -> NoReturn:
        raise PrivacyError(
            f"A {type(self).__name__} cannot be copied or saved: two of them would release more "
            "than was charged."
        )
