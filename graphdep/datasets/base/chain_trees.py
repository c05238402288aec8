"""What is said of texts that have no parse."""

from __future__ import annotations

import logging
import re

from graphdep.io.limits import plural

logger = logging.getLogger("graphdep.datasets")
_LIMIT = re.compile(r"max_words=(\d+)")


def warn_of_chains(corpus: str, split: str, failures: int, parser: str) -> None:
    """Logs a warning where texts have a chain for a tree.

    Args:
        corpus, split: What the texts are of.
        failures: How many have one.
        parser: Fingerprint of the parser, which may have a limit of words in it.
    """
    if not failures:
        return
    limit = _LIMIT.search(parser)
    why = f" (as all of more than {limit[1]} words)" if limit else ""
    logger.warning(
        "%s (%s): %s with a chain tree instead of a parse%s; without processed/ in the root they are tried "
        "again (in Python with force_reload=True)",
        *(corpus, split, plural(failures, "text"), why),
    )
