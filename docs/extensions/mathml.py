"""Formulas as MathML, made by docutils while the site is built: browsers draw it without a script or a font
from elsewhere.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml


def to_mathml(latex: str, block: bool) -> str:
    """A formula as a ``<math>`` element.

    Raises:
        ValueError: If docutils cannot read it; names the formula.
    """
    try:
        return latex2mathml.tex2mathml(_plain(latex), as_block=block)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"no MathML of {latex!r}: {error}") from error


# What docutils has no name for, in words that it knows: delimiters of a fixed size, dots, code, numbers.
OTHERS = (
    (r"\\[bB]ig+[lrm]?(?![A-Za-z])", ""),
    (r"\\dots(?![A-Za-z])", r"\\ldots"),
    (r"\\[td]frac(?![A-Za-z])", r"\\frac"),
    (r"\\texttt(?![A-Za-z])", r"\\text"),
    (r"\\tag\{([^}]*)\}", r"\\qquad (\1)"),
)


def _plain(latex: str) -> str:
    for old, new in OTHERS:
        latex = re.sub(old, new, latex)
    return latex


def visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(to_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{to_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
