"""A page of what a trained model does with an example."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.data import NodeType
from graphdep.explorer import Answer, Explorer, Side
from graphdep.explorer.drawn import named_edges
from graphdep.explorer.masks import masks_of
from graphdep.parsing import Parser
from graphdep.sentence import Sentence
from graphdep.training.build import backbone_of
from graphdep.training.checkpoint import RunState, load_task
from graphdep.training.estimator import check_weights, parser_to_use
from graphdep.training.family import family_of
from graphdep.training.learning_task import LearningTask
from graphdep.training.runner.attention import example_of, named_layers, parser_for
from graphdep.training.runner.edge_masks import edge_masks
from graphdep.transforms import PHRASE_PRESETS, RandomBrackets, RandomTree
from graphdep.vocab import PhraseVocab, PieceVocab, RelationVocab

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
    """A page of what a trained model does with an example: its tree and edges, the attention of all layers
    and heads, what flows through them, and what it says.

    Args:
        checkpoint: ``best.ckpt`` of a run of any task.
        texts: The example, as :func:`graphdep.attention_map` takes it.
        against: What to compare it with: another checkpoint, or ``"random"`` for the same model with a random
            tree in place of the parse. (default: :obj:`None`)
        edges: Further sets of edges to show, and to look for in the attention. (default: none)
        candidates: Of response selection, further responses to rank beside the last text. (default: none)
        asked: Of a model that labels words, those whose labels are shown and explained. (default: all)
        names: What the sides are called. (default: the models)
        masks: Weights of the edges of the model by name, such as the ``edge_mask`` of an explanation by PyG's
            explainers: a tensor with an entry for each edge of the example, or the ``Explanation``.
            (default: none)
        explain: Masks that are made here, ``"gradient"`` or ``"gnnexplainer"``: on which edges the answer
            depends (:func:`~graphdep.training.runner.edge_masks.edge_masks`). (default: none)
        parser: As of :func:`graphdep.attention_map`. (default: :obj:`None`)
        title: What stands on top. (default: the words)

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        TypeError: If something is no text.
        ValueError: As :func:`graphdep.attention_map`, if edges are not known or read constituents that the
            model's texts have not, candidates are given to a model that ranks none, or :obj:`explain` is
            unknown or asked of a model of dialogues.

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
    if against is not None and os.fspath(against) == "random":
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
        if len(names) != len(sides):
            raise ValueError(f"'names' must be one for each of {len(sides)} sides (got {len(names)})")
        sides = [_renamed(side, name) for side, name in zip(sides, names)]
    if asked is not None:
        sides = [_with_answers(side, [_only(answer, asked) for answer in side.answers]) for side in sides]
    about = f"{config.model}, trained on {config.task}" if len(sides) == 1 else ""
    return Explorer(sides, title=title, about=about)


@dataclasses.dataclass(frozen=True)
class _Asked:
    """What is asked of each side."""

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
    """The labels of some words; other answers as they are."""
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
    # The model's own edges stay its own: those that are asked for by the same name may have other settings.
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
        answers=answers,
        pieces=_pieces(model, batch),
        # SIA reads a block of the encoder, beside those that follow.
        beside=[name for name, *_ in layers if name.startswith("SIA")],
    )
    if asks.explain:
        masks = {**masks, **_explained(model, side, own, asks)}
    if not masks:
        return side
    weights = masks_of(masks, side.edges[own].edge_index)
    return dataclasses.replace(side, masks=weights)


def _check_phrases(edges: Mapping[str, BaseTransform], data: Data, model: str) -> None:
    """Refuses edges that read constituents, of a model that does not."""
    for name in [] if "phrase_index" in data else edges:
        if name in PHRASE_PRESETS:
            raise ValueError(
                f"'edges' {name!r} read constituents, and {model!r} was trained without: its texts are "
                f"parsed without them. Draw them without a model: graphdep draw TEXT --edges {name}"
            )


def _explained(model: Model, side: Side, own: str, asks: _Asked) -> dict[str, Tensor]:
    """Masks of the edges, which are written out, from all that the model says, or of the words asked for."""
    task, state = model
    of, rows = family_of(state.config.task).of, None
    if of not in ("sentences", "spans", "words", "response selection"):
        raise ValueError(
            f"'explain' asks for one answer to an example, which models of {state.config.task!r} do not give"
        )
    if of == "words" and asks.words is not None:
        names = [side.nodes.names[entry] for entry in side.nodes.entry.tolist()]
        rows = torch.tensor([node for node, name in enumerate(names) if name in asks.words], dtype=torch.long)
    batch = Batch.from_data_list([side.edges[own].data]).to(task.device)
    found = edge_masks(task.model.eval(), batch, asks.explain, rows)
    return {name: mask.cpu() for name, mask in found.items()}


def _answers(model: Model, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
    task, state = model
    task.eval()
    return family_of(state.config.task).answers(task, state, batch, trees)


def _ranked(
    model: Model,
    texts: str | Sequence[str],
    parser: Parser,
    candidates: Sequence[str],
    answers: list[Answer],
    tree: Callable[[Data], Data] | None,
) -> list[Answer]:
    """The ranking of the response and of other ones."""
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
    """A text for each node, where the words of the model have pieces."""
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
    """The ids of pieces; those of relation nodes and phrases are of their labels."""
    kinds = batch.node_type
    labels = (kinds == int(NodeType.RELATION)) | (kinds == int(NodeType.PHRASE))
    return ids.masked_fill(labels, 0).tolist()
