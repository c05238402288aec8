"""What is installed by extra alone, and the one sentence that says which extra has what is missing."""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

EXTRAS: dict[str, dict[str, str]] = {
    "parse": {"stanza": "stanza"},
    "train": {
        "lightning": "lightning",
        "sklearn": "scikit-learn",
        "scipy": "scipy",
        "pydantic": "pydantic",
        "yaml": "pyyaml",
        "typer": "typer",
        "rich": "rich",
        "matplotlib": "matplotlib",
        "filelock": "filelock",
        "huggingface_hub": "huggingface-hub",
        "safetensors": "safetensors",
    },
    "dialogue": {"nltk": "nltk", "sacrebleu": "sacrebleu"},
    "pretrained": {"transformers": "transformers"},
    "bpe": {"tokenizers": "tokenizers"},
    "parquet": {"pyarrow": "pyarrow"},
    "networkx": {"networkx": "networkx"},
    "spacy": {"spacy": "spacy"},
    "enhanced": {"pybart": "pybart-nlp"},
    "cluster": {"distributed": "distributed"},
    "scatter": {"torch_scatter": "torch-scatter"},
    "triton": {"triton": "triton"},
}
"""Of each extra the modules that graphdep imports, with their packages; as in ``pyproject.toml``."""


def missing(what: str, extra: str, *modules: str) -> str:
    """A sentence about what is not installed, without a full stop; empty if all is there.

    Args:
        what: What needs it: a parser, an argument, a file.
        extra: Name of the extra.
        *modules: Modules of it that are needed. (default: all of the extra)

    Example:
        >>> from graphdep.io.extras import missing
        >>> missing("a graph", "networkx")
        ''
    """
    names = [EXTRAS[extra][module] for module in modules or EXTRAS[extra] if not _is_there(module)]
    return f"{what} {needs(extra, *names)}" if names else ""


def needs(extra: str, *names: str) -> str:
    """The sentence from its verb on, about packages of an extra.

    Example:
        >>> from graphdep.io.extras import needs
        >>> print(needs("parse", "stanza"))
        needs stanza, which comes with graphdep[parse] (pip install "graphdep[parse]"; in a clone: \
pip install ".[parse]")
    """
    *first, last = names
    listed = f"{', '.join(first)} and {last}" if first else last
    comes = "come" if first else "comes"
    return (
        f"needs {listed}, which {comes} with graphdep[{extra}] "
        f'(pip install "graphdep[{extra}]"; in a clone: pip install ".[{extra}]")'
    )


def check_extra(what: str, extra: str, *modules: str, error: type[Exception] = ImportError) -> None:
    """Raises :obj:`error` with the sentence of :func:`missing`, which see, if something is not installed."""
    if said := missing(what, extra, *modules):
        raise error(said)


def said_of(error: ModuleNotFoundError, what: str) -> str:
    """The sentence about what an import did not find; empty if no extra has it."""
    for extra, packages in EXTRAS.items():
        for module, name in packages.items():
            if error.name in (module, name):
                return f"{what} {needs(extra, name)}"
    return ""


def known_version(package: str) -> str:
    """The version of a package for a signature, ``"not installed"`` if there is none."""
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return "not installed"


def _is_there(module: str) -> bool:
    if module in sys.modules:  # None: it was forbidden
        return sys.modules[module] is not None
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.loader is not None  # without a loader it is a folder of that name
