"""The link check finds what is dead and lets live what is alive."""

from __future__ import annotations

import check_links
import pytest

PAGE = """# First steps

## A `code` heading, with: signs!
(a-target)=
## Twice
## Twice
"""


@pytest.fixture
def page(tmp_path):
    (tmp_path / "other.md").write_text(PAGE)
    (tmp_path / "sub").mkdir()
    return tmp_path / "page.md"


def problems(page, text):
    page.write_text(text)
    return list(check_links.problems(page, text))


@pytest.mark.parametrize(
    "target",
    [
        "other.md",
        "sub",
        "other.md#first-steps",
        "other.md#a-code-heading-with-signs",
        "other.md#twice-1",
        "other.md#a-target",
        "#here",
        "https://example.org/nothing",
        "mailto:someone@example.org",
    ],
)
def test_live_links(page, target):
    """Files, folders, headings (repeated too) and set targets are found; the web is not asked."""
    assert problems(page, f"# Here\n\n[text]({target})\n") == []


@pytest.mark.parametrize("target", ["gone.md", "other.md#nowhere", "#nowhere", "sub/gone.png"])
@pytest.mark.parametrize("form", ["[text]({})", "![picture]({})", "[text][1]\n\n[1]: {}"])
def test_dead_links(page, target, form):
    """A missing file or heading is reported, however the link is written."""
    assert len(problems(page, "# Here\n\n" + form.format(target))) == 1


@pytest.mark.parametrize(
    "text", ["`[text](gone.md)`", "```md\n[text](gone.md)\n```", "~~~\n[text](gone.md)\n~~~"]
)
def test_code_makes_no_links(page, text):
    """What stands in code is shown, not linked."""
    assert problems(page, text) == []


def test_line_number(page):
    """The line of a dead link is counted through the code before it."""
    assert ":6: no file" in problems(page, "# A\n\n```\nx\n```\n[t](gone.md)\n")[0]
