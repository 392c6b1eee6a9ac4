"""The wheel holds the page: it is built before, where it can be.

Without Node, and without a page that was built before, the build stops with a sentence: a wheel
without the page would be found out by the people it serves. An editable install builds nothing:
`make page` does.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "TACIT_WITHOUT_PAGE"
"""In the environment: 1 builds no page; the service then says that it has none."""


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the page from client/page."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get(WITHOUT) == "1":
            return
        sys.path.insert(0, str(Path(self.root) / "tools"))
        import build_page

        try:
            build_page.build()
        except build_page.Unbuilt as error:
            raise SystemExit(f"{error}\nWithout the page:  {WITHOUT}=1 pip install .") from None
