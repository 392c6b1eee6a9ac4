"""How Sphinx builds this folder; `make docs` runs it. Nothing is fetched from the network."""

from importlib.metadata import version as installed_version
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

project = "tacit"
author = "The tacit developers"
copyright = author  # Sphinx asks for this name
version = release = installed_version("tacit-rec")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = "tacit"
html_math_renderer = "mathml"  # the others fetch a script, or need TeX


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f"<p>{tex2mathml(node.astext(), as_block=True)}</p>")
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
