"""Makes the description that a package index shows: README.md, its links leading to the repository."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent


def description() -> str:
    """README.md with addresses in place of paths, at the tag of this version, and a name that pip finds."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    code = (ROOT / "graphdep" / "version.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "(.+)"', code)[1]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for link, kind in ((r"(!\[[^\]]*\]\()", "raw"), (r"(?<!!)(\[[^\]]*\]\()", "blob")):
        text = re.sub(link + r"(?!\w+:|#)", rf"\1{urls['Source']}/{kind}/v{version}/", text)
    return text.replace('pip install ".[all]"', 'pip install "graphdep[all]"')


setup(long_description=description(), long_description_content_type="text/markdown")
