"""References of docstrings that Sphinx does not find by itself.

A docstring names a class of another package by its last name, ``:class:`AttentionLayout```, or by its module,
``graphdep.nn.attention.layout.AttentionLayout``, while the site has it once, at the package that is its home.
Such names are looked up by the last name. What is no part of the reference is set as code: arguments,
``:obj:`edges```; names of other libraries, which have no inventory here, as the site is built offline; and
what is there in the package's source and not public. Whatever is nowhere is a warning.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.nodes import make_refnode

PACKAGE = Path(__file__).parents[2] / "graphdep"
OTHERS = re.compile(
    r"(abc|enum|torch|torch_geometric|torch_sparse|lightning|numpy|scipy|sklearn|pandas|matplotlib|stanza|spacy"
    r"|conllu|networkx|transformers|tokenizers|datasets|huggingface_hub|safetensors|typer|rich|pathlib|typing"
    r"|collections|concurrent|logging|sqlite3|warnings|multiprocessing|functools|contextlib|threading)(\.\w+)*"
)
LARGE = ("class", "function", "exception", "data", "module")


@cache
def names() -> frozenset[str]:
    """Everything that the source of the package gives a name to."""
    found = {name for path in PACKAGE.rglob("*.py") for name in (path.stem, path.parent.name)}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return frozenset(found)


def find(app: Any, env: Any, node: Any, contnode: nodes.Element) -> nodes.Node | None:
    """The object that is meant, or its name as code."""
    if node.get("refdomain") != "py":
        return None
    target, kind = node.get("reftarget", ""), node.get("reftype")
    last = target.rpartition(".")[2]
    if OTHERS.fullmatch(target) and not target.startswith("graphdep"):
        return contnode
    entry = _entry(env.domains["py"].objects, target, node)
    if entry is not None:
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode)
    known = last in names() or hasattr(builtins, last)
    is_argument = kind == "obj" and not target.startswith("graphdep.")
    return contnode if known or is_argument else None


def _entry(objects: Any, target: str, node: Any) -> Any:
    """The entry of the index that a name means; None where there is none, or several."""
    name, last = f".{target}", target.rpartition(".")[2]
    found = {key: entry for key, entry in objects.items() if key.rpartition(".")[2] == last}
    if target.startswith("graphdep."):
        package = target.rpartition(".")[0]
        found = {k: e for k, e in found.items() if e.objtype in LARGE and _is_home(k, package)}
    else:
        found = {k: e for k, e in found.items() if f".{k}".endswith(name)}
        large = {k: e for k, e in found.items() if e.objtype in LARGE}
        own = {k: e for k, e in found.items() if node.get("py:class") and f".{node['py:class']}." in k}
        found = large or own or found
    return next(iter(found.values())) if len(found) == 1 else None


def _is_home(key: str, package: str) -> bool:
    """Whether a package documents what one of its modules, or a package above it, has."""
    home = key.rpartition(".")[0]
    return package.startswith(home) or home.startswith(package)


def skip(app: Any, what: str, name: str, of: Any, skipped: bool, options: Any) -> bool | None:
    """Leaves out what other libraries add to a class: their words are not ours."""
    module = getattr(of, "__module__", None)
    if what == "class" and isinstance(module, str) and not module.startswith("graphdep"):
        return True
    return None


def keep_colon(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Keeps napoleon from taking what stands before the first colon of an attribute for its type."""
    if what in ("attribute", "property", "data") and lines:
        lines[0] = re.sub(r"(?<!:):(?!:)(?=\s|$)", " \N{EN DASH}", lines[0], count=1)


def setup(app: Any) -> dict[str, Any]:
    app.connect("missing-reference", find)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", keep_colon, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
