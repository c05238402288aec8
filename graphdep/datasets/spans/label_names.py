"""The labels of corpora that are known before a file is read; their tasks name them."""

from __future__ import annotations

NONE = "none"
"""CoNLL04's class of two entities without relation."""
RELATIONS = (
    "Cause-Effect",
    "Component-Whole",
    "Content-Container",
    "Entity-Destination",
    "Entity-Origin",
    "Instrument-Agency",
    "Member-Collection",
    "Message-Topic",
    "Product-Producer",
)
OTHER = "Other"
LABELS = (*(f"{name}({ends})" for name in RELATIONS for ends in ("e1,e2", "e2,e1")), OTHER)
UNDIRECTED = (*RELATIONS, OTHER)
