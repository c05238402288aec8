"""Attention of trained models, as pictures and explorer pages."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.transforms import BaseTransform

from graphdep.data.node_table import NodeType
from graphdep.datasets.spans.rows import SpanExample
from graphdep.io.limits import (
    MAX_PAGE_WORDS,
    check_choice,
    check_length,
    check_list,
    check_page_words,
    check_text,
)
from graphdep.nn.attention.relations import GateValues
from graphdep.nn.conv.sia_conv import SIAConv
from graphdep.nn.explain import ExplainableModel
from graphdep.nn.models.baselines.tree_transformer import TreeTransformer
from graphdep.nn.models.transformer import FrozenEncoder, TextEncoder
from graphdep.parsing.parser import Input, Parser
from graphdep.parsing.resolver import resolve_parser
from graphdep.sentence.intake import is_own
from graphdep.sentence.sentence import Sentence
from graphdep.training.build import backbone_of
from graphdep.training.checkpoint import RunState, check_scheme, labels_of, load_task
from graphdep.training.config import TrainConfig
from graphdep.training.estimator import check_weights, parser_to_use
from graphdep.training.learning_task import LearningTask
from graphdep.transforms.controls import RandomBrackets, RandomTree
from graphdep.transforms.presets import PHRASE_PRESETS
from graphdep.visualization.explorer import Explorer, named_edges
from graphdep.visualization.head_measures import masks_of
from graphdep.visualization.plots import (
    ATTENTION,
    GATE_NAMES,
    AttentionMap,
    Layer,
    attention_layers,
    gate_layers,
)
from graphdep.visualization.side import Answer, Side, WordNodes
from graphdep.vocab.pieces import PieceVocab
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import PhraseVocab


def attention_map(
    checkpoint: str | os.PathLike[str],
    texts: str | Sequence[str],
    *,
    parser: str | Parser | None = None,
    return_gate: bool = False,
    edges: str | BaseTransform | None = None,
) -> AttentionMap:
    """The attention between the words of an example in a trained model: the layers of its encoder over words,
    followed by those of SIA.

    Args:
        checkpoint: ``best.ckpt`` of a run on any task.
        texts: The example: a text; two texts for a model of pairs; the turns of a context for a dialogue
            model; the turns and the response for response selection and post-training.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for the
            checkpoint's parser if that is ``"bundled"``. (default: :obj:`None`)
        return_gate: Also return the gates of relation scores, in :attr:`AttentionMap.gates`. (default:
            :obj:`False`)
        edges: The edges that the model was trained with, if they are not registered. (default: :obj:`None`)

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        TypeError: If an element of :obj:`texts` is not a text.
        ValueError: If the file is no checkpoint, its model has no attention between words or no gate, the
            number of texts is wrong, they are too long, or the parser must be given.

    Example:
        >>> from graphdep import attention_map
        >>> shown = attention_map("best.ckpt", "It rains.")
        >>> shown.plot().savefig("attention.png")
        >>> shown.alpha.shape == (len(shown.layers), shown.heads, len(shown.words), len(shown.words))
        True
        >>> shown.without_special().words
        ['It', 'rains', '.']
    """
    task, state = load_task(checkpoint, edges)
    check_weights(task.model, os.fspath(checkpoint))
    own = parser_to_use(checkpoint, state.config.parser, parser)
    return attention_of(task, state, texts, parser_for(state.config, own), return_gate=return_gate)


def parser_for(config: TrainConfig, name: str | Parser) -> Parser:
    """The parser, with the options that the edges of a run need."""
    return resolve_parser(name, **config.parser_options())


def attention_of(
    task: LearningTask,
    state: RunState,
    texts: str | Sequence[Input],
    parser: Parser,
    *,
    return_gate: bool = False,
) -> AttentionMap:
    """:func:`attention_map` of a loaded model."""
    data, trees = example_of(task, state, texts, parser)
    batch: Data = task.edges(Batch.from_data_list([data]).to(task.device))
    layers = named_layers(task, state.config.model, batch)
    nodes = WordNodes.of(batch, [tree.form for tree in trees], state.relations)
    gates = _gates_over_words(task, batch) if return_gate else []
    if return_gate and not any(gates):
        raise ValueError(f"{state.config.model!r} has no gate of relation scores")
    return AttentionMap.of(nodes.names, nodes.special, nodes.entry, layers, gates)


def example_of(
    task: LearningTask, state: RunState, texts: str | Sequence[Input | SpanExample], parser: Parser
) -> tuple[Data, list[Sentence]]:
    """The input of a model without edges, and its trees."""
    config = state.config
    texts = [texts] if isinstance(texts, str) else texts
    check_list("texts", texts)
    for number, text in enumerate(texts):
        if isinstance(text, SpanExample) and not task.reads_spans:
            raise ValueError(
                f"'texts[{number}]' has marked spans, which models of {config.task!r} do not read"
            )
        if not isinstance(text, tuple | Sentence | SpanExample):  # not parsed yet
            check_text(f"texts[{number}]", text, "text")
    data, trees = task.example(config, state.vocab, state.relations, cast(list[str], [*texts]), parser)
    check_page_words(sum(map(len, trees)), MAX_PAGE_WORDS)
    own = (text.tree if isinstance(text, SpanExample) else text for text in texts)
    parsed = not all(map(is_own, own))
    check_scheme("the model", state, labels_of(state, trees), parsed=parsed)
    cut = int(data.cut_words.sum()) if "cut_words" in data else 0
    if cut:
        raise ValueError(f"'texts' are too long for the model by {cut} words")
    return data, trees


def named_layers(task: LearningTask, model: str, batch: Data) -> list[tuple[str, Tensor, Tensor]]:
    """Name, pairs and weights of each attention layer over the words of an example with edges."""
    return _named(_layers_over_words(task, model, batch))


def _gates_over_words(task: LearningTask, batch: Data) -> list[GateValues | None]:
    """The gates of each layer over words."""
    known = _known_layers(task)[1]
    encoder: Any = task.model.encoder
    return [values for layer, values in gate_layers(encoder, batch) if layer in known]


def _known_layers(task: LearningTask) -> tuple[list[TextEncoder], set[nn.Module]]:
    """The encoders over words, and their attention layers."""
    encoder: Any = task.model.encoder
    over_words = [module for module in encoder.modules() if isinstance(module, TextEncoder)]
    return over_words, {
        layer for module in over_words for layer in module.modules() if isinstance(layer, ATTENTION)
    }


def _layers_over_words(task: LearningTask, name: str, data: Data) -> list[Layer]:
    """The layers of the encoder over words, with their weights."""
    encoder: Any = task.model.encoder
    over_words, known = _known_layers(task)
    why = "has no attention between words in its encoder" if not known else ""
    if any(isinstance(module, TreeTransformer) for module in over_words):
        why = (
            "attends within families of the tree, where each word occurs as governor and as dependent: two "
            "words have no single weight"
        )
    elif any(isinstance(module, FrozenEncoder) for module in over_words):
        why = "has no trained attention: its encoder is frozen"
    if why:
        raise ValueError(f"{name!r} {why}")
    return [(layer, weights) for layer, weights in attention_layers(encoder, data) if layer in known]


def _gate_maps(
    layers: Sequence[tuple[str, Tensor, Tensor]], gates: Sequence[GateValues | None]
) -> list[tuple[str, Tensor, Tensor]]:
    """Name, pairs and values of the gates and scores of each layer with gates."""
    return [
        (f"{what} of {name}", values.edge_index[:, values.gated], getattr(values, key)[values.gated])
        for (name, *_), values in zip(layers, gates)
        if values is not None
        for key, what in GATE_NAMES.items()
    ]


def _named(layers: Sequence[Layer]) -> list[tuple[str, Tensor, Tensor]]:
    """Layers with names; SIA's are numbered separately."""
    named, count = [], {"layer": 0, "SIA": 0}
    for layer, (pairs, alpha) in layers:
        kind = "SIA" if isinstance(layer, SIAConv) else "layer"
        count[kind] += 1
        named.append((f"{kind} {count[kind]}", pairs, alpha))
    return named


_EPOCHS = 100


def edge_masks(
    model: nn.Module, data: Data, names: Iterable[str], rows: Tensor | None = None
) -> dict[str, Tensor]:
    r"""The importance of each edge for a model's answer, over all layers that use the edge.

    ``"gradient"`` is the gradient of the log odds of the predicted class, or of a predicted number, with
    respect to a factor :math:`m_e = 1` on all messages along the edge: to first order, the change without the
    edge, as `"Are Sixteen Heads Really Better than One?" <https://arxiv.org/abs/1905.10650>`_ (section 4.1)
    does for heads. The log odds are used because the gradient of a probability near 1 vanishes.

    .. math::
        g_e = \left| \frac{\partial}{\partial m_e} \log \frac{p(\hat{y})}{1 - p(\hat{y})} \right|_{m = 1}

    ``"gnnexplainer"`` is :class:`torch_geometric.explain.GNNExplainer`, which learns a mask in 100 steps with
    a fixed seed.

    Args:
        model: A model for :class:`~graphdep.nn.explain.ExplainableModel`, in evaluation mode.
        data: One example with an ``edge_index``.
        names: ``"gradient"``, ``"gnnexplainer"`` or both.
        rows: For models that label words, the nodes whose labels are explained. (default: all)

    Shapes:
        - rows: :math:`(R)`
        - output: :math:`(|\mathcal{E}|)` each, at least 0

    Raises:
        ValueError: If a name is unknown, or the model cannot be explained.

    Example:
        >>> from graphdep.visualization.attention import edge_masks
        >>> masks = edge_masks(model, resolve("dra")(data), ["gradient"])
        >>> masks["gradient"].shape == (data.num_edges,)
        True
    """
    names = [*dict.fromkeys(names)]
    for name in names:
        check_choice("explain", name, EXPLAINERS)
    known = {parameter: parameter.requires_grad for parameter in model.parameters()}
    model.requires_grad_(False)
    try:
        with torch.enable_grad(), torch.inference_mode(False):
            explained = ExplainableModel(model, data)
            return {name: EXPLAINERS[name](explained, data.edge_index, rows) for name in names}
    finally:
        for parameter, needed in known.items():
            parameter.requires_grad_(needed)


def _gradient(model: ExplainableModel, edge_index: Tensor, rows: Tensor | None) -> Tensor:
    mask = nn.Parameter(torch.ones(edge_index.size(1), device=edge_index.device))
    set_masks(model, mask, edge_index, apply_sigmoid=False)
    try:
        out = model(model.x, edge_index)
    finally:
        clear_masks(model)
    out = out if rows is None else out[rows]
    out = _log_odds(out) if _classifies(out) else out
    (gradient,) = torch.autograd.grad(out.sum(), mask)
    return gradient.abs()


def _log_odds(logits: Tensor) -> Tensor:
    """The log odds of the predicted class of each row."""
    best = logits.argmax(dim=-1, keepdim=True)
    others = logits.scatter(-1, best, float("-inf"))
    return logits.gather(-1, best).squeeze(-1) - others.logsumexp(dim=-1)


def _gnn_explainer(model: ExplainableModel, edge_index: Tensor, rows: Tensor | None) -> Tensor:
    with torch.no_grad():
        out = model(model.x, edge_index)
    explainer = Explainer(
        model,
        algorithm=GNNExplainer(epochs=_EPOCHS),
        explanation_type="model",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification" if _classifies(out) else "regression",
            "task_level": "node" if len(out) == len(model.x) else "graph",
            "return_type": "raw",
        },
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found: Any = explainer(model.x, edge_index, index=rows)
    mask: Tensor = found.edge_mask
    return mask


def _classifies(out: Tensor) -> bool:
    return out.dim() == 2 and out.size(1) > 1


EXPLAINERS: dict[str, Callable[[ExplainableModel, Tensor, Tensor | None], Tensor]] = {
    "gradient": _gradient,
    "gnnexplainer": _gnn_explainer,
}
"""Explainers by name."""


Model = tuple[LearningTask, RunState]


def explore(
    checkpoint: str | os.PathLike[str],
    texts: str | Sequence[str],
    *,
    against: str | os.PathLike[str] | None = None,
    edges: Sequence[str | BaseTransform] = (),
    candidates: Sequence[str] = (),
    asked: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    masks: Mapping[str, Any] | None = None,
    explain: Sequence[str] = (),
    parser: str | Parser | None = None,
    title: str = "",
) -> Explorer:
    """A page for the browser that shows how a trained model processes an example: tree and edges, attention
    of all layers and heads, attention rollout, and the model's answer.

    Args:
        checkpoint: ``best.ckpt`` of a run on any task.
        texts: The example, as for :func:`graphdep.attention_map`.
        against: Comparison: another checkpoint, or ``"random"`` for the same model with a random tree.
            (default: :obj:`None`)
        edges: More sets of edges to show, and to compare attention with. (default: none)
        candidates: For response selection, more responses to rank. (default: none)
        asked: For models that label words, the words whose labels are shown and explained. (default: all)
        names: Names of the sides. (default: the models)
        masks: Weights of the model's edges by name, such as the ``edge_mask`` of PyG's explainers: a tensor
            with a weight for each edge of the example, or an ``Explanation``. (default: none)
        explain: Masks to compute, ``"gradient"`` or ``"gnnexplainer"``: the edges on which the answer depends
            (:func:`~graphdep.visualization.attention.edge_masks`). (default: none)
        parser: As for :func:`graphdep.attention_map`. (default: :obj:`None`)
        title: Title of the page. (default: the words)

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        TypeError: If an element of :obj:`texts` is not a text.
        ValueError: As for :func:`graphdep.attention_map`; or if edges are unknown or need constituents that
            the model's input lacks, candidates are given but the model does not rank, or :obj:`explain` is
            unknown or the model generates dialogues.

    Example:
        >>> from graphdep import explore
        >>> page = explore("best.ckpt", "It rains.", against="random")
        >>> page
        Explorer('It rains .', 2 sides, 4 nodes)
        >>> page.save("page.html").name
        'page.html'
    """
    model = _load(checkpoint)
    config = model[1].config
    own = parser_for(config, parser_to_use(checkpoint, config.parser, parser))
    if isinstance(edges, (str, BaseTransform)):
        edges = [edges]
    named = named_edges(edges)
    asks = _Asked([*candidates], named, [*explain], None if asked is None else [*asked])
    sides = [_side(model, texts, own, asks, masks or {})]
    one_model = against is not None and os.fspath(against) == "random"
    if one_model:
        sides = [
            _renamed(sides[0], "the parse"),
            _side(model, texts, own, asks, {}, name="a random tree", tree=_random_tree),
        ]
    elif against is not None:
        other = _load(against)
        other_config = other[1].config
        theirs = parser_for(other_config, parser_to_use(against, other_config.parser, parser))
        sides.append(_side(other, texts, theirs, asks, {}))
        if sides[0].name == sides[1].name:
            both = zip(sides, (checkpoint, against))
            sides = [_renamed(side, f"{side.name} ({_folder(place)})") for side, place in both]
    if names is not None:
        check_length("names", names, len(sides), "sides")
        sides = [_renamed(side, name) for side, name in zip(sides, names)]
    if asked is not None:
        sides = [_with_answers(side, [_only(answer, asked) for answer in side.answers]) for side in sides]
    about = f"{config.model}, trained on {config.task}" if len(sides) == 1 else ""
    return Explorer(sides, title=title, about=about, one_model=one_model)


@dataclasses.dataclass(frozen=True)
class _Asked:
    """What each side shows."""

    candidates: list[str]
    edges: dict[str, BaseTransform]
    explain: list[str]
    words: list[str] | None


def _random_tree(data: Data) -> Data:
    found: Data = RandomTree()(RandomBrackets()(data) if "phrase_index" in data else data)
    return found


def _load(checkpoint: str | os.PathLike[str]) -> Model:
    task, state = load_task(checkpoint)
    check_weights(task.model, os.fspath(checkpoint))
    return task, state


def _folder(checkpoint: str | os.PathLike[str]) -> str:
    path = Path(checkpoint)
    return path.parent.name if path.is_file() else path.name


def _renamed(side: Side, name: str) -> Side:
    return dataclasses.replace(side, name=name)


def _with_answers(side: Side, answers: Sequence[Answer]) -> Side:
    return dataclasses.replace(side, answers=answers)


def _only(answer: Answer, asked: Sequence[str]) -> Answer:
    """An answer of words, restricted to some words; other answers unchanged."""
    if answer.kind != "words":
        return answer
    rows = tuple(row for row in answer.rows if row[0].partition("\t")[0] in asked)
    return Answer(answer.kind, answer.title, rows)


@torch.no_grad()
def _side(
    model: Model,
    texts: str | Sequence[str],
    parser: Parser,
    asks: _Asked,
    masks: Mapping[str, Any],
    *,
    name: str = "",
    tree: Callable[[Data], Data] | None = None,
) -> Side:
    task, state = model
    data, trees = example_of(task, state, texts, parser)
    _check_phrases(asks.edges, data, state.config.model)
    data = data if tree is None else tree(data)
    batch: Data = task.edges(Batch.from_data_list([data]).to(task.device))
    layers = named_layers(task, state.config.model, batch)
    own = str(getattr(state.config, "edges", None) or state.config.model)
    # Requested edges with the name of the model's own may have other settings.
    asked = {f"{name}, as asked for" if name == own else name: made for name, made in asks.edges.items()}
    answers = _answers(model, batch, trees)
    if asks.candidates:
        answers = _ranked(model, texts, parser, asks.candidates, answers, tree)
    side = Side.of(
        name or state.config.model,
        data,
        [one.form for one in trees],
        {own: task.edges, **asked},
        relations=state.relations,
        layers=layers,
        gates=_gate_maps(layers, _gates_over_words(task, batch)),
        answers=answers,
        pieces=_pieces(model, batch),
        # SIA reads a block of the encoder and is not on the path to the last layer.
        beside=[name for name, *_ in layers if name.startswith("SIA")],
    )
    if task.reads_spans:
        side = dataclasses.replace(side, nodes=side.nodes.with_spans(data))
    if asks.explain:
        masks = {**masks, **_explained(model, side, own, asks)}
    if not masks:
        return side
    weights = masks_of(masks, side.edges[own].edge_index)
    return dataclasses.replace(side, masks=weights)


def _check_phrases(edges: Mapping[str, BaseTransform], data: Data, model: str) -> None:
    """Raises :class:`ValueError` if edges need constituents but the input has none."""
    for name in [] if "phrase_index" in data else edges:
        if name in PHRASE_PRESETS:
            raise ValueError(
                f"'edges' {name!r} need constituents, which the input of {model!r} lacks. Draw them without "
                f"a model: graphdep draw TEXT --edges {name}"
            )


def _explained(model: Model, side: Side, own: str, asks: _Asked) -> dict[str, Tensor]:
    """Masks of the edges for the whole answer, or for the labels of the chosen words."""
    task, state = model
    unit, rows = state.config.task_family.unit_name, None
    if unit not in ("sentences", "spans", "words", "response selection"):
        raise ValueError(
            f"'explain' needs one answer per example, which models of {state.config.task!r} do not give"
        )
    if unit == "words" and asks.words is not None:
        names = [side.nodes.names[entry] for entry in side.nodes.entry.tolist()]
        rows = torch.tensor([node for node, name in enumerate(names) if name in asks.words], dtype=torch.long)
    batch = Batch.from_data_list([side.edges[own].data]).to(task.device)
    found = edge_masks(task.model.eval(), batch, asks.explain, rows)
    return {name: mask.cpu() for name, mask in found.items()}


def _answers(model: Model, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
    task, state = model
    task.eval()
    return task.answers(state, batch, trees)


def _ranked(
    model: Model,
    texts: str | Sequence[str],
    parser: Parser,
    candidates: Sequence[str],
    answers: list[Answer],
    tree: Callable[[Data], Data] | None,
) -> list[Answer]:
    """The ranking of the response and the candidates."""
    if isinstance(texts, str) or not answers or answers[0].kind != "ranking":
        raise ValueError(f"'candidates' are for response selection, which {model[1].config.task!r} is not")
    rows = list(answers[0].rows)
    for text in candidates:
        data, trees = example_of(*model, [*texts[:-1], text], parser)
        data = data if tree is None else tree(data)
        batch: Data = model[0].edges(Batch.from_data_list([data]).to(model[0].device))
        rows += _answers(model, batch, trees)[0].rows
    rows.sort(key=lambda row: -(row[1] or 0.0))
    return [Answer("ranking", "responses, the best first", tuple(rows))]


def _pieces(model: Model, batch: Data) -> list[str]:
    """A text for each node, if the model's words have pieces."""
    task, state = model
    if "input_ids" not in batch:
        return []
    if state.config.pretrained:
        texts = backbone_of(task.model).tokenizer.convert_ids_to_tokens(_safe(batch.input_ids, batch))
    elif isinstance(state.vocab, PieceVocab):
        texts = [state.vocab.decode([number]) for number in _safe(batch.input_ids, batch)]
    else:
        return []
    kinds = [NodeType(kind) for kind in batch.node_type.tolist()]
    vocabs: dict[NodeType, RelationVocab | PhraseVocab] = {
        NodeType.RELATION: state.relations,
        NodeType.PHRASE: PhraseVocab(),
    }
    return [
        text if kind is NodeType.WORD else f"[{vocabs[kind].label(label) if kind in vocabs else kind.name}]"
        for text, kind, label in zip(texts, kinds, batch.deprel.tolist())
    ]


def _safe(ids: Tensor, batch: Data) -> list[int]:
    """The ids of pieces; 0 for relation nodes and phrases, whose ids are labels."""
    kinds = batch.node_type
    labels = (kinds == int(NodeType.RELATION)) | (kinds == int(NodeType.PHRASE))
    return ids.masked_fill(labels, 0).tolist()
