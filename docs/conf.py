"""How Sphinx builds this folder; `make docs` runs it. Nothing is fetched from the network."""

from importlib.metadata import version as installed_version

project = "tacit"
author = "The tacit developers"
copyright = author  # Sphinx asks for this name
version = release = installed_version("tacit-rec")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4  # the anchors that tools/check_links.py knows
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = "tacit"
html_theme_options = {"top_of_page_buttons": []}
