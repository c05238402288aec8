"""The documentation site: Sphinx, furo and MyST.

    make docs        # the site, in docs/_build/index.html

The source folder is the repository, so that a page may link to the results, corpora and scripts beside it,
and those pages are part of the site as they are, not as copies.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS)]

from graphdep.version import __version__  # noqa: E402

project = "graphdep"
author = copyright = "The graphdep developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "extensions.mathml",
    "extensions.references",
    "extensions.generated",
]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "examples/README.md",
    "examples/research/README.md",
    "examples/research/results/*.md",
    "examples/research/claims/README.md",
    "datasets/README.md",
    "datasets/*/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [
    "docs/_build",
    "docs/_generated/live",
    "docs/_generated/runs",
    "**/.*",
    ".*",
    "**/raw",
    "**/processed",
    "**/cache",
    "runs",
    "tests",
    "graphdep",
    "build",
    "dist",
]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
nitpicky = True
suppress_warnings = ["myst.header"]  # pages of results have two levels of headings in one

# A signature names what stands in the code; the shapes and defaults are in the docstring.
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autosummary_generate = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Shapes", "params_style")]
html_math_renderer = "mathml"

html_theme = "furo"
html_title = f"graphdep {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_extra_path = ["_extra"]  # index.html of the root, llms.txt
html_theme_options: dict[str, Any] = {
    "source_repository": "https://github.com/graphdep/graphdep/",
    "source_branch": "main",
    "source_directory": "",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
