"""The task of response selection and its models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import BatchSampler, DataLoader, Sampler
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform, Compose
from torch_geometric.utils import scatter

from graphdep import transforms as T
from graphdep.data.encoded import selection_data
from graphdep.data.filler import without_fillers
from graphdep.data.node_table import EncodedUtterance, NodeType
from graphdep.datasets.base.parsed import example_digest
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.datasets.selection.objectives import Key, ObjectivePairs
from graphdep.io.limits import check_choice
from graphdep.metrics.ranking import RANKING, Pools, pool_metrics, random_floor, ranking_metrics
from graphdep.nn import conv as C
from graphdep.nn import models as M
from graphdep.nn.models.baselines.matching import MatchingModel
from graphdep.nn.models.selection import SPEAKERS, SelectionModel, selected_pairs
from graphdep.nn.static_batch import Flattener
from graphdep.parsing.parser import Parser, parse_joined
from graphdep.sentence.sentence import Sentence
from graphdep.tasks.selection.settings import MATCHING_ENCODERS, SelectionConfig
from graphdep.training.build import (
    BuildInputs,
    backbone_of,
    describe_carried,
    embed_nodes,
    grouped_optimizer,
    training_options,
)
from graphdep.training.config import TrainConfig
from graphdep.training.floors import frozen_vectors
from graphdep.training.learning_task import LearningTask, MakeOptimizer, Outputs, graphs_of
from graphdep.training.splits import EpochSampler, SharedBatches, Splits, loader_options
from graphdep.transforms.carried import carried, unread
from graphdep.transforms.controls import example_hash, mix
from graphdep.transforms.edge_set import CLS
from graphdep.transforms.nodes import Nodes
from graphdep.visualization.side import Answer
from graphdep.vocab.pieces import VocabTokens
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import UNK_ID, Tokens, Vocab

if TYPE_CHECKING:
    from graphdep.datasets.selection.objectives import Objective
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.vocab import Tokens


class Speakers(BaseTransform):
    """Writes the speakers of nodes: two speakers alternate, and the second gives the response.

    Corpora do not name speakers, so consecutive utterances of one person get different speakers.

    Args:
        place: ``"added"`` writes ``mark``: 1 and 2 for words and [EOU], 0 for [CLS] and [SEP]; ``"segments"``
            writes ``segment``: 0 and 1, for [SEP] that of the utterance before, for [CLS] 0.

    Raises:
        ValueError: If :obj:`place` is unknown.
    """

    def __init__(self, place: str) -> None:
        self.place = check_choice("place", place, SPEAKERS)

    def forward(self, data: Any) -> Any:
        utterance, batch = data.utterance, data.get("batch")
        example = torch.zeros_like(utterance) if batch is None else batch
        last = scatter(utterance, example, reduce="max")[example]
        second = 1 - (last - utterance) % 2
        if self.place == "segments":
            data.segment = second * (data.node_type != NodeType.CLS)
        else:
            spoken = (data.node_type == NodeType.WORD) | (data.node_type == NodeType.EOU)
            data.mark = (1 + second) * spoken
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"


class WithoutMarks(BaseTransform):
    """Sets all marks to 0 in batches without marks, such as those for scoring."""

    def forward(self, data: Any) -> Any:
        if "mark" not in data:
            data.mark = torch.zeros_like(data.input_ids)
        return data


Options = dict[str, Any]


def objective_model(config: SelectionConfig, encoder: nn.Module, options: Options) -> M.SelectionModel:
    """The model for the objective of the settings, if any."""
    if config.objective is None:
        return M.SelectionModel(encoder, **options)
    return _PARTS[config.objective].model(config, encoder, options)


def objective_of(config: SelectionConfig, tokens: Tokens) -> Objective | None:
    """The examples of the objective, if any."""
    return None if config.objective is None else _PARTS[config.objective].examples(config, tokens)


def objective_edges(config: SelectionConfig) -> list[BaseTransform]:
    """Transforms of all batches after the edges."""
    marks = None if config.objective is None else _PARTS[config.objective].marks
    return [] if marks is None else [marks(config)]


class _Parts(NamedTuple):
    """The components of an objective."""

    model: Callable[[SelectionConfig, nn.Module, Options], M.SelectionModel]
    examples: Callable[[SelectionConfig, Any], Objective]
    marks: Callable[[SelectionConfig], BaseTransform] | None = None


def _manipulation_model(config: SelectionConfig, encoder: nn.Module, options: Options) -> M.SelectionModel:
    return M.UtteranceManipulationModel(encoder, loss=config.manipulation_loss, **options)


def _manipulation(config: SelectionConfig, tokens: Tokens) -> Objective:
    from graphdep.datasets.selection.objectives import UtteranceManipulation

    return UtteranceManipulation(tokens, config.max_length, config.manipulated_turns)


def _speaker_model(config: SelectionConfig, encoder: nn.Module, options: Options) -> M.SelectionModel:
    return M.SpeakerSelectionModel(encoder, speakers=config.speakers, **options)


def _augmentation(config: SelectionConfig, tokens: Tokens) -> Objective:
    from graphdep.datasets.selection.objectives import DialogueAugmentation

    return DialogueAugmentation(tokens, config.max_length, config.cuts)


def _structural_model(config: SelectionConfig, encoder: nn.Module, options: Options) -> M.SelectionModel:
    return M.StructuralDialogueModel(encoder, places=config.order_places, **options)


def _order(config: SelectionConfig, tokens: Tokens) -> Objective:
    from graphdep.datasets.selection.objectives import OrderRestoration

    return OrderRestoration(tokens, config.max_length, config.order_form, config.order_places)


_PARTS: dict[str, _Parts] = {
    "ums": _Parts(_manipulation_model, _manipulation, lambda config: WithoutMarks()),
    "ss-da": _Parts(_speaker_model, _augmentation, lambda config: Speakers(config.speakers)),
    "spider": _Parts(_structural_model, _order),
}


class EpochKeys(Sampler[Key]):
    """The order of :class:`~graphdep.training.splits.EpochSampler`, as pairs of epoch and number, so that
    random choices in workers do not depend on the process.

    Args:
        size: Number of pairs.
        seed: Seed of the order.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.order = EpochSampler(size, seed)

    def set_epoch(self, epoch: int) -> None:
        self.order.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[Key]:
        epoch = self.order.epoch
        yield from ((epoch, number) for number in self.order)


@dataclass(frozen=True)
class SelectionSplits(Splits):
    """Splits of response selection. Training batches of ``batch_size`` pairs also have the examples of the
    objective made from them.

    Args:
        **others: See :class:`Splits`.
    """

    def loader(
        self,
        split: str,
        config: TrainConfig,
        edges: BaseTransform | None = None,
        *,
        shuffle: bool = False,
        shared: bool = False,
        flatten: Flattener | None = None,
    ) -> DataLoader:
        config = cast(SelectionConfig, config)
        dataset = cast(SelectionDataset, self.datasets[split])
        objective = objective_of(config, dataset.tokens) if shuffle else None
        if objective is None:
            return super().loader(split, config, edges, shuffle=shuffle, shared=shared, flatten=flatten)
        pairs, order = ObjectivePairs(dataset, objective, config.seed), EpochKeys(len(dataset), config.seed)
        whole: Any = BatchSampler(cast(Any, order), config.batch_size, drop_last=False)
        return DataLoader(
            pairs,
            batch_sampler=SharedBatches(whole) if shared else whole,
            collate_fn=ObjectivePairs.collate,
            generator=torch.Generator().manual_seed(config.seed),
            **loader_options(config, len(dataset), None),
        )


def encode_pair(
    texts: Sequence[str],
    parser: Parser,
    tokens: Tokens,
    relations: RelationVocab,
    config: Any,
    max_turns: int | None = None,
) -> tuple[Data, list[Sentence]]:
    """The model's input for a context and its response, and their trees.

    Args:
        texts: The turns of the context, oldest first, and the response.
        parser: The parser.
        tokens: Ids of words.
        relations: Ids of relations.
        config: The settings.
        max_turns: Number of last turns of the context to read. (default: all)

    Raises:
        ValueError: If there are fewer than two texts.
    """
    if len(texts) < 2:
        raise ValueError(
            f"'texts' must be the turns of a context and a response, at least two (got {len(texts)})"
        )
    *context, response = texts
    trees, _ = parse_joined(parser, [*context[-(max_turns or sys.maxsize) :], response], roots="all")
    *before, last = encoded_turns(trees, tokens, relations, config)
    return selection_data(before, last, tokens, max_length=config.max_length), trees


def encoded_turns(
    trees: list[Sentence], tokens: Tokens, relations: RelationVocab, config: Any
) -> list[EncodedUtterance]:
    """Utterances with the arcs and constituents of the settings."""
    arcs = "basic" if config.arcs == "basic" else "enhanced"
    read = graphs_of(trees, config)
    phrases = config.reads_constituents
    return [EncodedUtterance.of(tree, tokens, relations, arcs, phrases=phrases) for tree in read]


def example_keys(batch: Batch) -> Tensor:
    """A 64-bit hash of the nodes (words, trees, utterances) of each example of a batch."""
    return example_hash(Nodes(batch), 0)


def shared_scores(scores: Tensor, group: Tensor, key: Tensor) -> Tensor:
    r"""The mean scores of equal candidates of a pool, in double precision.

    .. math::
        \bar{s}_i = \frac{1}{|E_i|} \sum_{j \in E_i} s_j, \qquad
        E_i = \{j : \text{pool}_j = \text{pool}_i, \text{key}_j = \text{key}_i\}

    The output of a model for the same text differs in the last digits between batches. Without the mean,
    equal candidates would be ranked by rounding errors instead of tied.

    Args:
        scores: Score of each candidate.
        group: Number of its pool.
        key: Its hash (:func:`example_keys`).

    Shapes:
        - all, and the output: :math:`(N)`

    Example:
        >>> import torch
        >>> group, key = torch.tensor([0, 0, 1]), torch.tensor([7, 7, 7])
        >>> shared_scores(torch.tensor([1.0, 3.0, 5.0]), group, key).tolist()
        [2.0, 2.0, 5.0]
    """
    _, same = (mix(group) ^ key).unique(return_inverse=True)
    return scatter(scores.double(), same, reduce="mean")[same]


_CLASSES: dict[str, Callable[..., M.MatchingModel]] = {
    "smn": M.SMN,
    "dua": M.DUA,
    "dam-2018": M.DeepAttentionMatching,
    "ioi": M.IOI,
}
# Settings whose arguments have other names.
_ARGUMENTS = {
    "image_words": "max_words",
    "image_turns": "max_turns",
    "matching_form": "form",
    "block_objective": "objective",
}


def build_matching_model(config: Any, num_words: int, vectors: Tensor | None = None) -> M.MatchingModel:
    """A new model of the settings.

    Args:
        config: A :class:`SelectionConfig` with one of :data:`MATCHING_ENCODERS`.
        num_words: Size of the vocabulary.
        vectors: Initial word vectors, ``[num_words, dim]``; that of [UNK] is set to 0
            (:class:`MatchingModel`). (default: :obj:`None`)
    """
    if vectors is not None:
        vectors = vectors.clone()
        vectors[UNK_ID] = 0
    own = {_ARGUMENTS.get(name, name): getattr(config, name) for name in MATCHING_ENCODERS[config.encoder]}
    return _CLASSES[config.encoder](
        num_words, hidden_channels=config.hidden_channels, dropout=config.dropout, vectors=vectors, **own
    )


_SEGMENTS = 2  # context and response


def build_selection_model(
    config: SelectionConfig,
    num_words: int,
    vectors: Tensor | None = None,
    pretrained: PretrainedEncoder | None = None,
) -> M.SelectionModel | M.MatchingModel:
    """A new model: an encoder, perhaps with SIA, and the score; or a matching model.

    Args:
        config: The settings.
        num_words: Size of the vocabulary.
        vectors: Initial word vectors. (default: :obj:`None`)
        pretrained: The pretrained encoder, if any. (default: :obj:`None`)
    """
    if config.encoder in MATCHING_ENCODERS:
        return build_matching_model(config, num_words, vectors)
    encoder = _scratch(config, num_words, vectors) if pretrained is None else pretrained
    if pretrained is not None and config.freeze_layers:
        pretrained.freeze(config.freeze_layers)
    if config.sia_edges is not None:
        depth: Any = encoder.num_layers
        if config.sia_layer is not None and config.sia_layer > depth:
            raise ValueError(
                f"'sia_layer' must be at most {depth}, the layers of the encoder (got {config.sia_layer})"
            )
        encoder = M.SIA(
            encoder,
            layer=config.sia_layer,
            edges=sia_edges(config),
            sia_layers=config.sia_layers,
            mask=config.sia_mask,
            block=config.sia_block,
            dropout=config.dropout,
        )
    options: dict[str, Any] = {"mlp_layers": config.mlp_layers, "readout": config.readout}
    return objective_model(config, encoder, {"dropout": config.dropout, **options})


def sia_edges(config: SelectionConfig) -> BaseTransform:
    """The edges of SIA's layers."""
    assert config.sia_edges is not None
    options = T.preset_options(config.sia_edges)
    given = [name for name in ("max_sum", "direction", "special") if name in options]
    own: dict[str, Any] = {name: getattr(config, name) for name in given}
    # The multiplicative mask needs explicit pairs.
    return T.resolve(config.sia_edges, implicit=config.sia_mask != "multiplicative", **own)


def check_sia_edges(config: SelectionConfig) -> None:
    """Raises :class:`ValueError` if SIA's edges carry data that its layers do not read."""
    if config.sia_edges is not None and (ignored := unread(carried(sia_edges(config)), C.SIAConv.reads)):
        raise ValueError(
            f"'sia_edges' cannot be {config.sia_edges!r}: they carry {describe_carried(ignored)}, which SIA "
            "does not read"
        )


def _scratch(config: SelectionConfig, num_words: int, vectors: Tensor | None) -> nn.Module:
    size, heads = config.hidden_channels, config.heads
    return M.GraphTransformer(
        num_words,
        lambda layer: C.AttentionConv(size, size // heads, heads, dropout=config.dropout),
        hidden_channels=size,
        num_layers=config.num_layers,
        ff_channels=config.ff_channels,
        dropout=config.dropout,
        position_embedding=config.position_embedding,
        norm_first=config.norm_first,
        segments=_SEGMENTS,
        max_positions=config.max_length,
        vectors=vectors,
    )


def tokens_of(model: nn.Module, vocab: Vocab) -> Tokens:
    """The tokenizer of a model's pretrained encoder, or else the vocabulary."""
    return getattr(backbone_of(model), "tokens", None) or VocabTokens(vocab)


class SelectionTask(LearningTask):
    r"""Learns whether a candidate is the response to a context.

    The loss is the binary cross entropy of :math:`g(c, r) = \sigma(\text{logit})`, from "Improving
    Retrieval-based Dialogue System via Syntax-Informed Attention" (Eq. 2). Scores rank the candidates of each
    pool; equal candidates are tied (:func:`~graphdep.tasks.selection.model.shared_scores`).

    Args:
        model: Gives logits: ``model(batch) -> [num_graphs]``.
        edges: Transform that builds the edges of a batch, including the tree control.
        ties, filter, recall: See :func:`~graphdep.metrics.ranking_metrics`.
        optimizer: See :class:`LearningTask`.
        **options: See :class:`LearningTask`.

    Example:
        >>> from graphdep.nn.conv import AttentionConv
        >>> from graphdep.nn.models import GraphTransformer, SelectionModel
        >>> from graphdep.tasks import SelectionTask
        >>> from graphdep.transforms import resolve
        >>> encoder = GraphTransformer(50, lambda layer: AttentionConv(8, 8), hidden_channels=8, segments=2)
        >>> [metric.name for metric in SelectionTask(SelectionModel(encoder), resolve("sia")).metrics]
        ['MRR']
    """

    # Its name does not depend on the size of pools, and with few pools it has fewer ties than P@1.
    metrics = (RANKING["MRR"],)
    model: SelectionModel | MatchingModel

    def __init__(
        self,
        model: SelectionModel | MatchingModel,
        edges: BaseTransform,
        optimizer: MakeOptimizer | None = None,
        *,
        ties: str = "mid",
        filter: str = "both",
        recall: str = "fraction",
        **options: Any,
    ) -> None:
        super().__init__(model, edges, optimizer, **options)
        self.ties, self.filter, self.recall = ties, filter, recall

    @classmethod
    def build(cls, config: SelectionConfig, parts: BuildInputs) -> SelectionTask:
        model = build_selection_model(config, parts.num_words, parts.vectors, parts.pretrained)
        options = {name: getattr(config, name) for name in ("ties", "filter", "recall")}
        options |= training_options(config)
        # After the head, so that models of a seed differ only in the vectors of added nodes.
        if config.edges is not None:
            embed_nodes(config, parts.num_relations, backbone_of(model))
        edges, optimizer = cls.make_edges(config), grouped_optimizer(config, model)
        if config.objective is None:
            return SelectionTask(model, edges, optimizer, **options)
        model = cast(SelectionModel, model)  # the settings refuse an objective over others
        return ObjectiveTask(model, edges, optimizer, weights=config.weights, **options)

    @classmethod
    def predictor(cls, task: str) -> str | None:
        return "graphdep.tasks.selection.predict.ResponseSelector"

    @classmethod
    def load(cls, config: SelectionConfig, splits: tuple[str, ...], *known: Any) -> Splits:
        """Splits of the corpus, from which objectives make further examples."""
        return SelectionSplits(**vars(super().load(config, splits, *known)))

    @classmethod
    def make_edges(cls, config: SelectionConfig) -> BaseTransform:
        """The edges, and the transforms of the objective after them."""
        check_sia_edges(config)
        edges, further = super().make_edges(config), objective_edges(config)
        return Compose([edges, *further]) if further else edges

    @classmethod
    def reads(cls, config: SelectionConfig) -> frozenset[str]:
        if config.readout != "cls" or (config.sia_edges and CLS in carried(sia_edges(config))):
            return super().reads(config)
        return super().reads(config) | {CLS}

    @classmethod
    def comparable(cls, mine: Splits, other: Splits) -> bool:
        """Whether the pools are the same; words and pieces may differ."""
        return mine.same_examples(other)

    @classmethod
    def floor_frozen(
        cls, config: SelectionConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        return {
            name: value
            for split in config.splits[1:]
            for name, value in cosine_scores(config, splits[split], split, encoder).items()
        }

    def adapt(self, config: SelectionConfig, trained: SelectionConfig) -> None:
        super().adapt(config, trained)
        self.ties, self.filter, self.recall = config.ties, config.filter, config.recall
        encoder = self.model.encoder
        if isinstance(encoder, M.SIA) != (config.sia_edges is not None):
            raise ValueError(
                f"'sia_edges' cannot be {config.sia_edges!r}: the model was trained "
                f"{'with' if config.sia_edges is None else 'without'} layers of SIA"
            )
        if isinstance(encoder, M.SIA):
            encoder.edges = sia_edges(config)

    @property
    def counts_fillers(self) -> bool:
        return isinstance(self.model, MatchingModel)

    def loss(self, batch: Batch) -> Tensor:
        if isinstance(self.model, MatchingModel):
            return self.model.loss(batch, batch.y)
        logits, y = (without_fillers(batch, rows) for rows in (self(batch), batch.y))
        return F.binary_cross_entropy_with_logits(logits.float(), y)

    def outputs(self, batch: Batch) -> Outputs:
        """Logits, labels, numbers of pools, and hashes of examples."""
        return self(batch), batch.y, batch.group, example_keys(batch)

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        logits, y, group, key = outputs
        loss = F.binary_cross_entropy_with_logits(logits, y)
        ranked = shared_scores(logits, group, key)
        scores = ranking_metrics(ranked, y, group, self.ties, prefix=prefix, **self._options(group))
        return {f"{prefix}_loss": float(loss), **scores}

    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        """The expected scores of random rankings of the same pools."""
        _, y, group, _ = outputs
        return random_floor(y, group, prefix=split, **self._options(group))

    def example(
        self,
        config: SelectionConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        """The model's input for the last turns of a context and the response."""
        tokens = tokens_of(self.model, vocab)
        return encode_pair(texts, parser, tokens, relations, config, config.max_turns)

    def answers(self, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The probability of the response."""
        score = float(self.model(batch).double().sigmoid()[0])
        return [Answer("ranking", "how well the response fits", ((trees[-1].text, score),))]

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """P@1 of every pool that counts, expected for random scores and of the model."""
        logits, y, group, key = outputs
        ranked = shared_scores(logits, group, key)
        found, chance = (
            pool_metrics(scores, y, group, ties, **self._options(group))["P@1"]
            for scores, ties in ((ranked, self.ties), (torch.zeros_like(ranked), "mid"))
        )
        return chance, found

    def digests(self, splits: Splits, split: str, outputs: Outputs) -> list[str]:
        """The digest of every pool that counts."""
        y, group = (column.numpy() for column in outputs[1:3])
        pools = Pools.of(y, group).kept(self.filter)
        pairs = splits.example_digests(split)
        found: list[list[str]] = [[] for _ in pools.names]
        for row, pool in zip(pools.rows.tolist(), pools.pool.tolist()):
            found[pool].append(pairs[row])
        return [example_digest(*pool) for pool in found]

    def _options(self, group: Tensor) -> dict[str, Any]:
        return {"filter": self.filter, "recall": self.recall, "sizes": sizes_of(group)}


def sizes_of(group: Tensor) -> str:
    """``"equal"`` if all pools have the same size, else ``"any"``."""
    sizes = group.unique(return_counts=True)[1]
    return "equal" if bool((sizes == sizes[0]).all()) else "any"


# Examples in memory at a time.
_CHUNK = 4096


def cosine_scores(
    config: SelectionConfig, pairs: Any, split: str, encoder: PretrainedEncoder, pool: str = "mean"
) -> dict[str, float]:
    """The scores of ranking candidates by the cosine of their vector and that of the context.

    Args:
        config: The settings of scoring.
        pairs: The pairs of a split.
        split: Name of the split.
        encoder: The encoder as loaded.
        pool: See :func:`~graphdep.training.floors.frozen_vectors`. (default: ``"mean"``)
    """
    parts = []
    for start in range(0, len(pairs), _CHUNK):
        some = [pairs[number] for number in range(start, min(start + _CHUNK, len(pairs)))]
        context, candidate = frozen_vectors(encoder, some, pool).unbind(dim=1)
        batch = Batch.from_data_list(some)
        parts.append(((context * candidate).sum(dim=-1), batch.y, batch.group, example_keys(batch)))
    scores, y, group, key = (torch.cat(column) for column in zip(*parts))
    scores = shared_scores(scores, group, key)
    options: Any = {"filter": config.filter, "recall": config.recall, "sizes": sizes_of(group)}
    return ranking_metrics(scores, y, group, config.ties, prefix=split, **options)


class ObjectiveTask(SelectionTask):
    r"""Learns response selection and an auxiliary objective.

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \sum_k \lambda_k \mathcal{L}_k

    Only the selection decides which epoch is the best.

    Each loss is a mean over its own items. If several processes share a batch, process :math:`r` with
    :math:`n_r` pairs and :math:`c_{kr}` items, it is the mean over the items of all processes: since losses
    are weighted by pairs (:meth:`items`), each :math:`\mathcal{L}_k` is multiplied by

    .. math::
        \frac{c_{kr}}{\sum_q c_{kq}} \cdot \frac{\sum_q n_q}{n_r}

    Args:
        model: Gives the logits of the pairs and further losses
            (:meth:`~graphdep.nn.models.SelectionModel.training_losses`).
        weights: :math:`\lambda_k` by names of losses. (default: 1 each)
        edges, optimizer: See :class:`SelectionTask`.
        **options: See :class:`SelectionTask`.
    """

    model: SelectionModel

    def __init__(
        self,
        model: SelectionModel,
        edges: BaseTransform,
        optimizer: MakeOptimizer | None = None,
        *,
        weights: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, edges, optimizer, **options)
        self.weights = dict(weights or {})

    @property
    def counts_fillers(self) -> bool:
        return True

    def loss(self, batch: Batch) -> Tensor:
        logits, losses = self.model.training_losses(batch)
        target = selected_pairs(batch, batch.y)
        loss = F.binary_cross_entropy_with_logits(logits.float(), target)
        self.log_loss("train_selection", loss, len(target))
        shares = self._shares(len(target), [count for _, count in losses.values()])
        for (name, (value, count)), share in zip(losses.items(), shares):
            # All processes must log it, even without items, or they would wait for each other.
            self.log_loss(f"train_{name}", value, max(1, count))
            loss = loss + self.weights.get(name, 1.0) * share * value
        return loss

    def _shares(self, pairs: int, counts: list[int]) -> list[float]:
        """The factors of further losses, 1 with a single process."""
        if self._trainer is None or self.trainer.world_size == 1:
            return [1.0] * len(counts)
        own = torch.tensor([pairs, *counts], dtype=torch.double, device=self.device)
        own *= self.counts(self._batch_idx)
        total = own.clone()
        dist.all_reduce(total)
        return (own[1:] / total[1:].clamp(min=1) * (total[0] / own[0].clamp(min=1))).tolist()

    def items(self, batch: Batch) -> float:
        """Number of pairs, without further examples."""
        return float((batch.kind == 0).sum()) if "kind" in batch else batch.num_graphs
