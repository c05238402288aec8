"""The rows of a result table on a pretrained encoder, by name: which syntax is added to it."""

from __future__ import annotations

from collections.abc import Mapping

from graphdep.training.family.model_preset import ModelPreset

# As BERT is fine-tuned, but for warm-up and decay, which are a matter of steps (warmup_steps). What is new
# has a rate of its own, since at BERT's it would stay where it starts: zeros, mostly.
_FINE_TUNING: dict[str, object] = {
    "encoder": "bert-base-uncased",
    "optimizer": "adamw",
    "lr": 3e-5,
    "head_lr": 1e-3,
    "weight_decay": 0.01,
    "dropout": 0.1,
    "max_epochs": 3,
    "patience": None,
    "level_embedding": False,
}


def _bert(summary: str, edges: str = "transformer", **overrides: object) -> ModelPreset:
    own = {"relation_attention": False, **_FINE_TUNING, **overrides}
    return ModelPreset(summary, edges=edges, overrides=own)


def _bert_dt(summary: str, gate: str | None = "tanh", **overrides: object) -> ModelPreset:
    return _bert(summary, "dt", relation_attention=True, gate=gate, **overrides)


def _bert_g2g(summary: str, **overrides: object) -> ModelPreset:
    return _bert(summary, "g2g", relation_attention=True, relation_terms="key-value", **overrides)


def _bert_dam(summary: str, arcs: str = "enhanced++", **overrides: object) -> ModelPreset:
    return _bert(summary, "dam", arcs=arcs, **overrides)


PRETRAINED_MODELS: Mapping[str, ModelPreset] = {
    "bert": _bert("the pretrained encoder alone"),
    "bert-dt": _bert_dt(
        "DT on it, without levels: relation scores whose gate (tanh, as the text says) reads the query "
        "(Eq. 3) and starts closed"
    ),
    "bert-dt-text": _bert_dt(
        "DT on it whose gate reads the key word's state, as the text says", gate_state="key"
    ),
    "bert-dt-sigmoid": _bert_dt(
        "DT on it with the sigmoid of Eq. 3: related pairs start at half their score", gate="sigmoid"
    ),
    "bert-dt-lr": _bert_dt("DT on it without gate: relation scores are added", gate=None),
    "bert-g2g": _bert_g2g("Graph2Graph on it: relation keys and values, scaled as in the paper"),
    "bert-g2g-code": _bert_g2g("Graph2Graph on it, relation keys not scaled, as in its code", scaling="code"),
    "bert-g2g-start": _bert_g2g(
        "Graph2Graph on it whose relation vectors start at random, as published", relation_start="random"
    ),
    "bert-dra": _bert("DRA's edges on it, and all of [CLS] and [SEP]", "dra"),
    "bert-sia": _bert("SIA's edges on it, in all layers", "sia"),
    "bert-dam": _bert_dam(
        "DAM on it: a node for each arc (of the enhanced++ graph by pybart; bert-dam-ud: by our rules; "
        "bert-dam-basic: of the other rows' trees)"
    ),
    "bert-dam-ud": _bert_dam(
        "DAM on the enhanced++ graph by graphdep's own rules, without another package", arcs="ud++"
    ),
    "bert-dam-basic": _bert_dam("DAM on the basic tree", arcs="basic"),
    "bert-dam-basic-nopos": _bert_dam(
        "DAM on the basic tree, its relation nodes without position and segment (section 3.3)",
        arcs="basic",
        relation_position="none",
    ),
    "bert-dam-enhanced": _bert_dam("DAM on the enhanced graph, without what ++ adds", arcs="enhanced"),
    "bert-dam-untyped": _bert_dam(
        "DAM without the vector that all relation nodes share", type_embedding=False
    ),
    "bert-dam-nopos": _bert_dam(
        "DAM whose relation nodes have no position and no segment: label and type alone (section 3.3)",
        relation_position="none",
    ),
    "bert-dam-nocls": _bert_dam("DAM whose [CLS] and relation nodes do not see one another", cls_links=False),
    "bert-dam-to-word": _bert_dam("DAM whose words read relations and not the other way", links="to_word"),
    "bert-dam-to-relation": _bert_dam(
        "DAM whose relations read words and not the other way", links="to_relation"
    ),
    "bert-dam-self": _bert_dam("DAM whose words and relations do not see one another", links="none"),
    "bert-dam-linked": _bert_dam("DAM whose relation nodes of one word see one another", relation_links=True),
    "bert-dam-pieces": _bert_dam("DAM in which all pieces stand for a word", pieces="all"),
    "bert-constituents": _bert("as DAM with a node for each constituent of the parse", "constituents"),
}
"""Models of every family whose encoder may be a pretrained one; their names begin with ``bert``."""
