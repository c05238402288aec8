"""All models: outputs of a batch are those of its examples, and every weight has a gradient."""

from __future__ import annotations

import copy
import functools

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import NodeType
from graphdep.nn.pretrained import load_encoder
from graphdep.tasks.dialogues.settings import DIALOGUE_MODELS
from graphdep.tasks.labels.settings import LABEL_MODELS
from graphdep.tasks.selection.settings import MATCHING_ENCODERS, SELECTION_MODELS
from graphdep.tasks.sentences.settings import MODELS
from graphdep.training import load_splits
from graphdep.training.build import BuildInputs
from graphdep.training.family import build_task
from graphdep.training.learning_task import join_outputs
from graphdep.transforms import PRESETS, CompleteEdges, RelationNodes, register_edges, resolve
from graphdep.transforms.carried import carried
from graphdep.transforms.edge_set import MARKS, NODES, TYPES, Compose
from tests.kit.decay import check_decay
from tests.kit.runs import build_edges

READOUTS = [{"readout": "mean", "path": False}, {"readout": "top", "path": True}]
# Other models differ from these as on sentences.
ON_WORDS = [
    name
    for name in LABEL_MODELS
    if not name.startswith("bert") and not {"nopos", "nolevel", "wide"} & {*name.split("-")}
]
ON_WORDS += ["bert", "bert-dt", "bert-g2g", "bert-dra", "bert-constituents"]
ON_SPANS = ("dt", "bilstm", "dt@random", "bert", "bert-dt", "bert-dam-basic")


loaded = functools.cache(load_encoder)


def made(config, splits):
    """A task in double precision, with new weights large enough for different predictions."""
    torch.manual_seed(0)
    pretrained = copy.deepcopy(loaded(config.encoder)) if config.pretrained else None
    parts = BuildInputs(
        len(splits.vocab), len(splits.relations), pretrained=pretrained, labels=splits.labels()
    )
    task = build_task(config, parts)
    for name, parameter in task.named_parameters():
        if name.endswith("head.lin.weight") or "marks" in name or "transition" in name:
            torch.nn.init.normal_(parameter)
    return task.double().eval()


@pytest.fixture(scope="module")
def splits_of():
    """The splits of settings, loaded once for all models with the same data."""
    known = {}

    def splits_of(config):
        key = str((config.task, config.encoder if config.pretrained else None, config.data_settings()))
        if key not in known:
            known[key] = load_splits(config, ("train", "val"))
        return known[key]

    return splits_of


def check_row(config, splits, split="val", size=3, batch=None):
    """Outputs do not depend on batch or order. Each trained weight has a gradient and a decay: the same for
    all from scratch, and none for biases and norms with a pretrained encoder.
    """
    config = config.replace(weight_decay=0.125)
    dataset, task = splits[split], made(config, splits)
    groups = task.make_optimizer(task.parameters()).param_groups
    if getattr(config, "pretrained", False):
        check_decay(groups, task, 0.125)
    else:
        (group,) = groups
        assert (group["weight_decay"], len(group["params"])) == (0.125, len([*task.parameters()]))
    examples = list(dataset)[:size]

    def batch_of(some):
        return task.edges(Batch.from_data_list(some, follow_batch=dataset.follow_batch))

    with torch.no_grad():
        alone = [task.outputs(batch_of([data])) for data in examples]
        together = task.outputs(batch_of(examples))
        turned = task.outputs(batch_of(examples[::-1]))
    for whole, back, part, other in zip(
        together, turned, join_outputs(alone), join_outputs(alone[::-1]), strict=True
    ):
        torch.testing.assert_close(whole, part)
        torch.testing.assert_close(back, other)
    number = [place for place, data in enumerate(examples) for _ in task.rows(batch_of([data]))]
    assert task.rows(batch_of(examples)).tolist() == number
    task.train().loss(batch_of(examples) if batch is None else task.edges(batch)).backward()
    assert [name for name, p in task.named_parameters() if p.requires_grad and p.grad is None] == []
    return task, examples, batch_of


# Frozen encoders are tested in tests/tasks/test_sentences.py.
@pytest.mark.parametrize("model", [name for name in MODELS if name != "bert-frozen"])
def test_pairs_of_sentences(model, config_of, splits_of):
    config = config_of("sick-e", model, dropout=0.0)
    config = config.replace(parser="bundled") if config.reads_constituents else config
    task, *_ = check_row(config, splits_of(config))
    if config.pretrained:
        added = task.model.encoder.added_parameters()
        assert bool(added) == (config.relation_attention or config.edges in ("dam", "constituents"))


@pytest.mark.parametrize("model", ["dt", "transformer", "tree-lstm", "bert-dam"])
def test_single_sentences(model, config_of, splits_of):
    config = config_of("sst", model, dropout=0.0)
    check_row(config, splits_of(config))


@pytest.mark.parametrize("model", [*ON_WORDS, "dt@random", "dra@chain", "dt@unlabelled"])
def test_roles_of_words(model, config_of, splits_of):
    options = {"form": "spans", "word_state": "mean"} if model.startswith("bert") else {}
    config = config_of("propbank-ewt", model, dropout=0.0, **options)
    if config.reads_constituents:
        config = config.replace(trees="parser", parser="bundled")
    splits = splits_of(config)
    task, _, batch_of = check_row(config, splits)
    # Two predicates of a sentence differ only in the mark.
    first, second = (data for data in splits["train"][2:4])
    assert first.input_ids.equal(second.input_ids)
    with torch.no_grad():
        one, two = (task(batch_of([data])) for data in (first, second))
    assert bool(((one - two).abs() > 1e-6).any(dim=1).all())  # each word reads the marked word


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("dt", {"crf": True}),
        ("dt", {"decode": "viterbi"}),
        ("bert-dt", {"word_state": "first", "decode": "viterbi"}),
        ("bert", {"word_state": "first", "crf": True}),
    ],
    ids=str,
)
def test_roles_by_a_chain(model, options, config_of, splits_of):
    config = config_of("propbank-ewt", model, form="spans", dropout=0.0, **options)
    check_row(config, splits_of(config))


def test_labels_of_words_over_all_edges(config_of, splits_of):
    splits = splits_of(config_of("ud-tags", "dt"))
    for model, beyond in (("transformer", {TYPES, MARKS, NODES}), ("dt", {MARKS, NODES})):
        for edges in PRESETS:
            if not carried(resolve(edges)) & beyond:
                check_row(config_of("ud-tags", model, edges=edges, dropout=0.0), splits, size=2)


@pytest.mark.parametrize("model", ON_SPANS)
@pytest.mark.parametrize("options", READOUTS, ids=str)
def test_marked_spans(model, options, config_of, splits_of):
    config = config_of("semeval2010", model, dropout=0.0, **options)
    _, examples, _ = check_row(config, splits_of(config), "train", 5)
    assert {int(data.lost) for data in examples} == ({0, 1} if config.pretrained else {0})


@pytest.mark.parametrize("task", ["conll04", "aspects", "spans"])
def test_spans_of_other_tasks(task, config_of, splits_of):
    config = config_of(task, "dt", dropout=0.0)
    made, *_ = check_row(config, splits_of(config))
    assert made.model.readout.num_spans == (1 if task == "aspects" else 2)


@pytest.mark.parametrize("model", SELECTION_MODELS)
def test_response_selection(model, config_of, splits_of):
    own = SELECTION_MODELS[model].overrides.get("encoder")
    own = {"encoder": own, "image_words": 8} if own in MATCHING_ENCODERS else {}
    own |= {"arcs": "basic"} if SELECTION_MODELS[model].overrides.get("engine") else {}
    config = config_of("ubuntu", model, dropout=0.0, **own)
    splits = splits_of(config)
    # An objective adds examples to a batch.
    batch = next(iter(splits.loader("train", config, shuffle=True))) if config.objective else None
    check_row(config, splits, batch=batch)


@pytest.mark.parametrize("model", [name for name in DIALOGUE_MODELS if "pe" not in name.split("-")])
def test_dialogues(model, config_of, splits_of):
    pieces = {"pieces": 280} if "pieces" in DIALOGUE_MODELS[model].overrides else {}
    config = config_of("dailydialog", model, dropout=0.0, **pieces)
    check_row(config, splits_of(config))


# --------------------------------------------------------------------------- edges that add nodes
# Models of all families that read edges, from scratch and pretrained.
WITH_NODES = [
    ("sick-e", "transformer"),
    ("sick-e", "dt"),
    ("sick-e", "bert-dt"),
    ("ud-tags", "transformer"),
    ("propbank-ewt", "bert"),
    ("semeval2010", "dt"),
    ("semeval2010", "bert"),
    ("dailydialog", "transformer"),
    ("dailydialog", "dialogbert"),
    ("ubuntu", "bert"),
    ("ubuntu", "bert-sia"),
    ("ubuntu", "bert-ums"),
    ("ubuntu", "bert-ss-da"),
    ("ubuntu", "bert-spider"),
    ("ubuntu", "pretrained"),
    ("post-train", "bert-fp"),
]
ADDED = {"dam": NodeType.RELATION, "constituents": NodeType.PHRASE, "own-nodes": NodeType.RELATION}


@pytest.fixture
def with_nodes(config_of, splits_of, encoder, no_own_edges):
    """The settings and the splits of a model with edges that add nodes."""
    register_edges("own-nodes", Compose([RelationNodes("zero"), CompleteEdges()]))

    def with_nodes(task, model, edges, **others):
        own = {"parser": "bundled", "edges": edges, "dropout": 0.0, **others}
        own |= {"trees": "parser"} if edges == "constituents" else {}
        own |= {"encoder": encoder} if model == "pretrained" else {}
        config = config_of(task, "bert" if model == "pretrained" else model, **own)
        return config, splits_of(config)

    return with_nodes


def examples_of(splits, config):
    """Examples of the training split, and the function that makes a batch of them."""
    if config.task == "ubuntu":
        batch = next(iter(splits.loader("train", config, shuffle=True)))
        return batch.to_data_list(), Batch.from_data_list
    dataset = getattr(splits, "samples", splits.datasets)["train"]
    follow = getattr(dataset, "follow_batch", [])
    return list(dataset)[:4], functools.partial(Batch.from_data_list, follow_batch=follow)


def loss_of(task, batch):
    return task.loss(batch)


@pytest.mark.parametrize("edges", ADDED)
@pytest.mark.parametrize(("task", "model"), WITH_NODES)
def test_nodes_that_edges_add_are_read(task, model, edges, with_nodes):
    """Vectors of their labels are trained, and outputs of a batch are those of its examples."""
    config, splits = with_nodes(task, model, edges)
    made_task = made(config, splits)
    examples, batch_of = examples_of(splits, config)
    batch = made_task.edges(batch_of(examples))
    assert bool((batch.node_type == ADDED[edges]).any())
    with torch.no_grad():
        together = made_task.outputs(batch)
        alone = join_outputs([made_task.outputs(made_task.edges(batch_of([data]))) for data in examples])
    for whole, part in zip(together, alone, strict=True):
        torch.testing.assert_close(whole, part)
    loss_of(made_task, batch).backward()
    tables = [p for name, p in made_task.named_parameters() if name.endswith("relations.relation.weight")]
    assert len({id(table) for table in tables}) == 1
    used = tables[0].grad.abs().sum(dim=1).nonzero().view(-1)
    assert used.numel()
    assert {*used.tolist()} <= {*batch.deprel[batch.node_type == ADDED[edges]].tolist()}


# In layers of SIA, special nodes see all nodes, including added ones.
@pytest.mark.parametrize("edges", ["dam", "constituents"])
@pytest.mark.parametrize(("task", "model"), [row for row in WITH_NODES if row[1] != "bert-sia"])
def test_nodes_that_nobody_sees_change_nothing(task, model, edges, with_nodes):
    """Nodes that no node sees change no output, since they are never scored, pooled, copied or decoded."""
    own = {"cross_nodes": False} if (task, model) == ("dailydialog", "transformer") else {}
    config, splits = with_nodes(task, model, edges, links="none", cls_links=False, **own)
    made_task = made(config, splits)
    examples, batch_of = examples_of(splits, config)
    plain = config.replace(edges="transformer", links="both", cls_links=True, **dict.fromkeys(own, True))
    with torch.no_grad():
        found = []
        for transform in (made_task.edges, build_edges(plain)):
            batch = transform(batch_of(examples))
            found.append((*made_task.outputs(batch), loss_of(made_task, batch)))
    assert len(found[0]) == len(found[1])
    for number, (one, other) in enumerate(zip(*found)):
        if task != "ubuntu" or number != len(found[0]) - 2:  # this output is a digest of all nodes
            torch.testing.assert_close(one, other)
