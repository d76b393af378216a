"""Sphinx builds the pages with these settings; scripts/docs runs it."""

import re

import _cresset

project = "Cresset"
copyright = "the authors of Cresset, Apache-2.0"
version = release = _cresset.__version__
extensions = ["sphinx.ext.autodoc", "myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["pages.py"]
html_theme = "alabaster"
html_theme_options = {"description": "PyTorch built anew in C++", "page_width": "1100px"}
html_copy_source = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links from the written pages to files of the repository

CODE = re.compile(r"(``[^`]+``|`[^`]+`)")


def escaped(text):
    """Plain text for reStructuredText: code in backquotes stays code, everything else means itself."""
    parts = CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"``{part.strip('`')}``"
            if i + 1 < len(parts) and parts[i + 1][:1].isalnum():
                parts[i] += "\\ "
        else:
            parts[i] = re.sub(r"([\\*|`]|(?<=\w)_(?!\w))", r"\\\1", part)
    return "".join(parts)


def restructured(lines):
    """A docstring as this project writes them, as reStructuredText."""
    out, example = [], False
    for line in lines:
        starts = line.lstrip().startswith(">>> ")
        if starts and not example and out and out[-1].strip():
            out.append("")
        example = starts or (example and bool(line.strip()))
        out.append(line if example else escaped(line.lstrip()) if line.strip() else "")
    return out


def rewrite(app, what, name, thing, options, lines):
    lines[:] = restructured(list(lines))


def setup(app):
    app.connect("autodoc-process-docstring", rewrite)
