"""How Sphinx builds this folder; `make docs` runs it. Nothing is fetched from the network."""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

project = "tacit"
author = "The tacit developers"
copyright = author  # Sphinx asks for this name
version = release = installed_version("tacit-rec")

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from executed import with_outputs  # noqa: E402
from notebooks import write_notebooks  # noqa: E402
from site_tables import label_cells  # noqa: E402

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
suppress_warnings = ["toc.not_included"]  # pages of the reference are reached by its tables
OUT_OF_SEARCH = ("decisions/", "mechanisms/")
"""Folders whose pages are reached by their index alone."""
nitpicky = False  # docstrings are plain text: a name in them is no link

html_theme = "furo"
html_title = f"tacit {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "search_scores.js")
html_math_renderer = "mathml"  # the others fetch a script, or need TeX


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f"<p>{tex2mathml(node.astext(), as_block=True)}</p>")
    raise nodes.SkipNode


def _run_notebooks(app: Any, page: str, source: list[str]) -> None:
    if page.startswith("notebooks/"):
        source[0] = _with_download(with_outputs(source[0], page), page)


def _with_download(text: str, page: str) -> str:
    """Put a link to the notebook's file below the title."""
    title, _, rest = text.partition("\n\n")
    while rest and not title.splitlines()[-1].startswith(
        "# "
    ):  # the header of the file comes first
        more, _, rest = rest.partition("\n\n")
        title = f"{title}\n\n{more}"
    name = f"{page.removeprefix('notebooks/')}.ipynb"
    link = f'<p><a href="{name}" download>Download this page as a Jupyter notebook</a></p>'
    return f"{title}\n\n```{{raw}} html\n{link}\n```\n\n{rest}"


def _write_notebooks(app: Any, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        write_notebooks(Path(app.outdir) / "notebooks")


def _leave_out_of_search(app: Any, page: str, source: list[str]) -> None:
    if page.startswith(OUT_OF_SEARCH) and not page.endswith("/index"):
        source[0] = f"---\nnosearch: true\n---\n{source[0]}"


def _plain(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: paragraphs stay, and what is set in columns keeps its columns."""
    found: list[str] = []
    for paragraph in "\n".join(lines).split("\n\n"):
        rows = [row for row in paragraph.splitlines() if row.strip()]
        if any(row[:1] == " " or "   " in row for row in rows):
            found += ["::", "", *("   " + row for row in rows), ""]
        else:
            signs = str.maketrans({"`": "``", "*": r"\*", "|": r"\|", "_": r"\_"})
            found += [*(row if "`" in row else row.translate(signs) for row in rows), ""]
    lines[:] = [row.replace("`", "``") if row[:1] != " " else row for row in found]


def _finish_page(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let what scrolls be reached without a mouse, and give the sidebar's headings their level.

    Marks of a picture without a name of their own are no symbols. Tables of sentences become lists
    on a phone.
    """
    scrolls = re.compile(r'<pre>|<div class="(?:table|math)-wrapper[^">]*">')
    unnamed_marks = re.compile(r' role="graphics-symbol" aria-roledescription="[^"]*"')
    body = unnamed_marks.sub("", context.get("body", ""))
    body = scrolls.sub(lambda found: f'{found[0][:-1]} tabindex="0">', body)
    context["body"] = label_cells(body)
    tree = context.get("furo_navigation_tree", "")
    heading = 'role="heading"'
    context["furo_navigation_tree"] = tree.replace(heading, f'{heading} aria-level="2"')


def setup(app: Any) -> None:
    app.connect("source-read", _run_notebooks)
    app.connect("build-finished", _write_notebooks)
    app.connect("source-read", _leave_out_of_search)
    app.connect("autodoc-process-docstring", _plain)
    app.connect("html-page-context", _finish_page, priority=900)  # after the theme
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
