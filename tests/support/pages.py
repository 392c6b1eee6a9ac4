"""A page of an experiment, read as a person or a screen reader would."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Page(HTMLParser):
    """Body rows of the tables, the text outside styles and drawings, tags left open."""

    VOID = ("meta", "br")

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.words, self.rows, self.attributes = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "svg" not in self.open:
            self.words.append(data)
        if self.open[-1:] != ["style"] and {"td", "th"} & set(self.open):
            self.rows[-1][-1] += f"{data.strip()} "

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def row(self, name):
        """Cells after the name, of the first row that is called so."""
        return next(
            cells[1:] for cells in self.rows if re.sub("[▸ ]", "", cells[0]).startswith(name)
        )
