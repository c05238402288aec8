"""Optional packages by extra, and the error message for a missing package."""

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
"""The modules that graphdep imports and their packages, by extra; the same as in ``pyproject.toml``."""


def missing(what: str, extra: str, *modules: str) -> str:
    """The error message for packages that are not installed, without a full stop; empty if none is missing.

    Args:
        what: The part that needs them: a parser, an argument, a file.
        extra: Name of the extra.
        *modules: The needed modules of the extra. (default: all)

    Example:
        >>> from graphdep.io.extras import missing
        >>> missing("a graph", "networkx")
        ''
    """
    names = [EXTRAS[extra][module] for module in modules or EXTRAS[extra] if not is_installed(module)]
    return f"{what} {needs(extra, *names)}" if names else ""


def needs(extra: str, *names: str) -> str:
    """The error message for missing packages of an extra, from its verb on.

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
    """Raises :obj:`error` with the message of :func:`missing` if a package is not installed."""
    if said := missing(what, extra, *modules):
        raise error(said)


def missing_import(error: ModuleNotFoundError, what: str) -> str:
    """The error message for a failed import; empty if no extra has the module."""
    for extra, packages in EXTRAS.items():
        for module, name in packages.items():
            if error.name in (module, name):
                return f"{what} {needs(extra, name)}"
    return ""


def known_version(package: str) -> str:
    """The version of a package, or ``"not installed"``."""
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return "not installed"


def is_installed(module: str) -> bool:
    """Whether a module can be imported; does not import it."""
    if module in sys.modules:  # None: it was forbidden
        return sys.modules[module] is not None
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.loader is not None  # without a loader it is a folder of that name
