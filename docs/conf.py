"""Sphinx configuration."""

import re
from importlib.metadata import version as installed_version

project = "zitter"
author = "the zitter developers"
release = version = installed_version("zitter")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"zitter {release}"

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False


def plain_text_to_rest(app, what, name, obj, options, lines):
    """Our docstrings are plain text with `code` and indented formulas; make that safe reST.

    Indented blocks after an empty line become literal blocks. Elsewhere | and *, which stand for
    |ψ| and ψ* and not for markup, are escaped outside of backticks.
    """
    result = []
    literal = False
    before = ""  # the last line that was not empty
    for number, line in enumerate(lines):
        indented = line.startswith(" ")
        after_gap = number > 0 and not lines[number - 1].strip()
        if line.strip() and not indented:
            literal = False
        markup = before.lstrip().startswith(("..", ":", "*", "-"))
        if indented and line.strip() and after_gap and not literal and not markup:
            literal = True
            result += ["::", ""]
        if not literal and not line.lstrip().startswith(("..", ":", "* ")):
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [re.sub(r"(?<!\\)([|*])", r"\\\1", part) for part in parts[::2]]
            line = "".join(parts)
        result.append(line)
        if line.strip():
            before = line
    lines[:] = result


def setup(app):
    # After napoleon (500), which turns "Args:" sections into fields.
    app.connect("autodoc-process-docstring", plain_text_to_rest, priority=600)
