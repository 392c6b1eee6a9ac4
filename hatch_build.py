"""The wheel holds the page, which is built before, and a README that reads alone.

Without Node, and without a page that was built before, the build stops with a sentence: a wheel
without the page would be found out by the people it serves. An editable install builds nothing:
`make page` does.

The README in the metadata is what a package index shows. No file of the checkout lies beside it
there, so its links to files become their words, and its pictures are left out.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

WITHOUT = "TACIT_WITHOUT_PAGE"
"""In the environment: 1 builds no page; the service then says that it has none."""
_PICTURE = re.compile(r"<picture>.*?</picture>\n+(?:\*[^*\n]+\*\n+)?", re.DOTALL)
"""A picture, and the caption below it."""
_IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]+\)\n*")
_LINK = re.compile(r"\[(?P<words>[^\]]+)\]\((?!https?:|#)[^)]+\)")


def read_alone(readme: str) -> str:
    """Write a README without links to files that lie beside it, and without their pictures."""
    text = _IMAGE.sub("", _PICTURE.sub("", readme))
    return _LINK.sub(r"\g<words>", text)


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


class ReadmeHook(MetadataHookInterface):
    """Puts the README into the metadata as it reads alone."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": read_alone(readme)}
