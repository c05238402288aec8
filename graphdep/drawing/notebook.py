"""Drawings in a notebook."""

from __future__ import annotations


def framed(svg: str) -> str:
    """A drawing that scrolls where it is wider than the notebook, dark on white whatever the theme."""
    style = "overflow-x:auto;background:#fff;color:#2b2b2b;padding:4px"
    return f'<div style="{style}">{svg}</div>'
