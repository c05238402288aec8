"""The task of response generation and its models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import segment

from graphdep.data.node_table import join_utterances, utterance_data
from graphdep.datasets.dialogues import DialogueDataset
from graphdep.decoding.decoding import Hypothesis
from graphdep.io.extras import check_extra
from graphdep.io.files import atomic_path
from graphdep.metrics.generation import generation_floors, generation_metrics
from graphdep.metrics.scores import PERPLEXITY, PERPLEXITY_RESPONSES, PERPLEXITY_WORDS, unigram_losses
from graphdep.nn import models as M
from graphdep.nn.models.dialogue import ContextTransformer, DialogueModel, TransformerDecoder, target_bounds
from graphdep.parsing.parser import Parser, parse_joined
from graphdep.sentence.sentence import Sentence, truncate
from graphdep.tasks.dialogues.settings import DialogueConfig, responses_name
from graphdep.training.build import (
    ATTENTION,
    BuildInputs,
    attention_of,
    embed_nodes,
    make_optimizer,
    preset_edges,
    training_options,
)
from graphdep.training.family import SplitScores
from graphdep.training.learning_task import LearningTask, Outputs, graphs_of
from graphdep.training.splits import Splits
from graphdep.transforms.carried import carried
from graphdep.transforms.controls import RewiredEdges
from graphdep.transforms.edge_set import CLIQUES, ROOT, EdgeConstructor
from graphdep.visualization.side import Answer, WordNodes
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import EOU, Vocab, detokenize

_SHOWN = 3
check_extra("response generation", "dialogue")  # now, rather than after the first epoch
TITLE = "each word attends most to (decoder, last layer, mean of its heads)"


@torch.no_grad()
def attended_context(
    model: DialogueModel, state: Any, batch: Data, trees: Sequence[Sentence], response: Hypothesis
) -> list[Answer]:
    """The words or turns of the context that each word of a response attends to most, by the mean over the
    heads of the decoder's last layer; empty if the decoder has no such attention, or for an empty response.

    Args:
        model: The model, in evaluation mode.
        state: The state of its checkpoint.
        batch: One context with its edges.
        trees: The trees of its turns.
        response: The model's response.
    """
    if not isinstance(model.decoder, TransformerDecoder) or not response.ids:
        return []
    memory = model.encoder(batch)
    ids = torch.tensor(response.ids, device=memory.x.device)
    weights = model.decoder.attention(memory, ids)[-1].mean(dim=0).cpu()
    if isinstance(model.encoder, ContextTransformer):
        nodes = WordNodes.of(batch.cpu(), [tree.form for tree in trees], state.relations)
        names, entry = _with_turns(nodes), nodes.entry[model.encoder.rows(batch.cpu())]
    elif weights.size(1) == len(trees):
        names, entry = [f"turn {number + 1}" for number in range(len(trees))], torch.arange(len(trees))
    else:
        return []
    joined = weights.new_zeros(len(weights), len(names)).index_add_(1, entry, weights)
    words = state.vocab.words_of(response.ids)
    rows = tuple((f"{word}\t{_most(row, names)}", None) for word, row in zip(words, joined))
    return [Answer("words", TITLE, rows)]


def _with_turns(nodes: WordNodes) -> list[str]:
    """The names of nodes, with the number of the turn if a name is not unique."""
    several = {name for name, count in Counter(nodes.names).items() if count > 1}
    pairs = zip(nodes.names, nodes.utterance)
    return [f"{name} (turn {turn + 1})" if name in several else name for name, turn in pairs]


def _most(weights: Tensor, names: Sequence[str]) -> str:
    best = weights.topk(min(_SHOWN, len(names)))
    return ", ".join(
        f"{names[n]} {value:.2f}" for value, n in zip(best.values.tolist(), best.indices.tolist())
    )


def build_dialogue_model(
    config: DialogueConfig, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.DialogueModel:
    """A new encoder and decoder."""
    encoder = build_context_encoder(config, num_words, num_relations, vectors)
    recurrent = {"hred": M.HREDDecoder, "hran": M.HRANDecoder}
    if config.encoder in recurrent:
        own = recurrent[config.encoder](encoder.embedding, encoder.hidden_channels, dropout=config.dropout)
        return M.DialogueModel(encoder, own)
    decoder = M.TransformerDecoder(
        encoder.embedding,
        encoder.hidden_channels,
        num_layers=config.decoder_layers,
        **_sizes(config),
        norm_first=config.norm_first,
    )
    return M.DialogueModel(encoder, decoder)


def build_context_encoder(
    config: DialogueConfig, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.ContextEncoder:
    """A new encoder."""
    common: dict[str, Any] = {"hidden_channels": config.hidden_channels, "vectors": vectors}
    if config.encoder in ("hred", "hran"):
        kind = M.HREDEncoder if config.encoder == "hred" else M.HRANEncoder
        return kind(num_words, dropout=config.dropout, **common)
    if config.encoder == "recosa":
        return M.ReCoSa(num_words, num_layers=config.context_layers, **_sizes(config), **common)
    words = _word_encoder(config, num_words, num_relations, common)
    embed_nodes(config, num_relations, words)
    if config.encoder != "dialogbert":
        return M.ContextTransformer(words, cross_nodes=config.cross_nodes)
    objectives = [name for name in ("mur", "duor") if getattr(config, name)]
    return M.DialogBERT(words, num_layers=config.context_layers, objectives=objectives, **_sizes(config))


def _word_encoder(
    config: DialogueConfig, num_words: int, num_relations: int, common: dict[str, Any]
) -> M.TextEncoder:
    position = config.position_embedding
    if config.encoder == "constituent":
        return M.ConstituentTransformer(
            num_words, num_layers=config.num_layers, position_embedding=position, **_sizes(config), **common
        )
    return M.GraphTransformer(
        num_words,
        attention_of(config, num_relations),
        num_layers=config.num_layers,
        ff_channels=config.ff_channels,
        dropout=config.dropout,
        position_embedding=position,
        norm_first=config.norm_first,
        embedding_scale=config.embedding_scale,
        **common,
    )


def _sizes(config: DialogueConfig) -> dict[str, Any]:
    return {"heads": config.heads, "ff_channels": config.ff_channels, "dropout": config.dropout}


class DialogueTask(LearningTask):
    r"""Learns to generate the response to the context of a dialogue.

    The loss is the mean negative log-likelihood of the target tokens of a batch, including the end symbol,
    plus the objectives of the encoder. Scores are perplexities over a split, without dropout.

    Args:
        model: The model; ``model.token_losses(batch)`` gives the losses of target tokens.
        edges: Transform that builds the edges of a batch, including the tree control.
        optimizer: See :class:`LearningTask`.
        **options: See :class:`LearningTask`.

    Example:
        >>> from graphdep.nn.models import DialogueModel, HREDDecoder, HREDEncoder
        >>> from graphdep.tasks import DialogueTask
        >>> from graphdep.transforms import resolve
        >>> encoder = HREDEncoder(50, hidden_channels=8)
        >>> task = DialogueTask(DialogueModel(encoder, HREDDecoder(encoder.embedding, 8)), resolve("dra"))
        >>> [metric.name for metric in task.metrics]
        ['perplexity']
    """

    metrics = (PERPLEXITY,)
    model: DialogueModel

    @classmethod
    def build(cls, config: DialogueConfig, parts: BuildInputs) -> Self:
        model = build_dialogue_model(config, parts.num_words, parts.num_relations, parts.vectors)
        return cls(model, cls.make_edges(config), make_optimizer(config), **training_options(config))

    @classmethod
    def predictor(cls, task: str) -> str | None:
        return "graphdep.tasks.dialogues.predict.Responder"

    @classmethod
    def own_edges(cls, config: DialogueConfig, name: str) -> list[BaseTransform]:
        edges, errors = preset_edges(config, name), config.parse_errors
        if not errors:
            return [edges]
        if not isinstance(edges, EdgeConstructor) or CLIQUES in carried(edges):
            raise ValueError(f"'parse_errors' needs edges that are explicit pairs (got edges={name!r})")
        return [RewiredEdges(edges, errors, config.seed)]

    @classmethod
    def reads(cls, config: DialogueConfig) -> frozenset[str]:
        reads = ATTENTION[config.encoder].reads
        return reads | {ROOT} if config.encoder == "dialogbert" else reads  # ROOT represents an utterance

    @property
    def counts_fillers(self) -> bool:
        encoder = getattr(self.model, "encoder", None)
        return encoder is None or type(encoder).auxiliary is not M.ContextEncoder.auxiliary

    def loss(self, batch: Batch) -> Tensor:
        losses = self.model.losses(batch)
        if len(losses) > 1:
            for name, value in losses.items():
                self.log_loss(f"train_{name}", value, batch.num_graphs)
        return torch.stack([value.float() for value in losses.values()]).sum()

    def items(self, batch: Batch) -> float:
        """Number of tokens of responses, also used as weight of the other losses."""
        return batch.target_ids.numel()

    def outputs(self, batch: Batch) -> Outputs:
        """Per response: negative log-likelihoods of all tokens and of the end symbol, number of tokens, and
        number of the dialogue.
        """
        ptr = target_bounds(batch)
        losses = self.model.token_losses(batch).double()
        whole, ends = segment(losses, ptr, reduce="sum"), losses[ptr[1:] - 1]
        return whole.float(), ends.float(), ptr.diff(), batch.dialogue

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        losses, ends, tokens = (output.double().numpy() for output in outputs[:3])
        return {
            f"{prefix}_loss": float(losses.sum() / tokens.sum()),
            f"{prefix}_{PERPLEXITY.name}": PERPLEXITY(losses, tokens),
            f"{prefix}_{PERPLEXITY_WORDS.name}": PERPLEXITY_WORDS(losses - ends, tokens - 1),
            f"{prefix}_{PERPLEXITY_RESPONSES.name}": PERPLEXITY_RESPONSES(losses, tokens),
        }

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of tokens and negative log-likelihoods of the responses."""
        losses, _, tokens, _ = outputs
        return tokens.numpy(), losses.double().numpy()

    def groups(self, outputs: Outputs) -> np.ndarray:
        """The dialogue of each response."""
        return outputs[3].numpy()

    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return unigram_floor(splits, split)

    def extra_scores(
        self, splits: Splits, split: str, config: DialogueConfig, folder: Path | None = None
    ) -> SplitScores:
        return score_responses(self, splits, split, config, folder)

    def example(
        self, config: DialogueConfig, vocab: Vocab, relations: RelationVocab, texts: list[str], parser: Parser
    ) -> tuple[Data, list[Sentence]]:
        """The last ``max_turns`` turns of a context, each cut to ``max_words``."""
        trees, _ = parse_joined(parser, texts[-config.max_turns :], roots=config.roots)
        trees = [truncate(tree, config.max_words) for tree in graphs_of(trees, config)]
        return self.encoded(trees, config, vocab, relations), trees

    def encoded(
        self, trees: list[Sentence], config: DialogueConfig, vocab: Vocab, relations: RelationVocab
    ) -> Data:
        """The model's input for the turns of a context."""
        read: dict[str, Any] = {"arcs": config.arcs, "phrases": config.reads_constituents}
        return join_utterances([utterance_data(tree, vocab, relations, **read) for tree in trees])

    def answers(self, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The response, decoded by the settings of the run, and the context that it attends to."""
        config = cast(DialogueConfig, state.config)
        [found] = self.model.generate(cast(Batch, batch), config.decoding())
        texts = [detokenize(state.vocab.words_of(one.ids), truecase=config.lower) for one in found]
        said = Answer("texts", "response", tuple((text or "(nothing)", None) for text in texts))
        return [said, *attended_context(self.model, state, batch, trees, found[0])]


def unigram_floor(splits: Splits, split: str) -> dict[str, float]:
    """Perplexities of a unigram model of responses."""
    train, target = (_target_ids(splits, name) for name in ("train", split))
    losses = unigram_losses(train, target, len(splits.vocab))
    words = target != splits.vocab[EOU]
    return {
        f"{split}_{PERPLEXITY.name}": PERPLEXITY(losses, np.ones_like(losses)),
        f"{split}_{PERPLEXITY_WORDS.name}": PERPLEXITY_WORDS(losses[words], np.ones(int(words.sum()))),
    }


def _target_ids(splits: Splits, split: str) -> np.ndarray:
    dataset = splits.in_memory(split)
    whole = dataset if dataset._indices is None else dataset.copy()
    return whole._data.target_ids.numpy()


def score_responses(
    task: DialogueTask, splits: Splits, split: str, config: DialogueConfig, folder: Path | None = None
) -> SplitScores:
    """Generates responses to a split and scores them against the references.

    The floor of BLEU is the higher score of shuffled references and of a constant response of the most
    frequent words. The references are also scored.

    Args:
        task: The trained task.
        splits: The data.
        split: Name of the split.
        config: The settings of decoding and the number of responses.
        folder: Folder to write the responses to. (default: :obj:`None`)
    """
    dataset = splits[split]
    assert isinstance(dataset, DialogueDataset)
    chosen = spread_over(len(dataset), config.limit_generate)
    if not chosen:
        return SplitScores()
    hypotheses = respond(task, dataset, chosen, config)
    references = responses_of(dataset, chosen, config)
    if folder is not None:
        _write(folder / responses_name(split), dataset, chosen, hypotheses, config)
    length = round(sum(map(len, references)) / len(references))
    constant = frequent_words(splits, length, config)
    if len(references) < 2:  # a single reference cannot be shuffled
        return SplitScores(_of(split, generation_metrics(hypotheses, references)))
    floors = generation_floors(references, seed=0, constant=constant)
    # Only for BLEU: the diversity of human responses is not a floor.
    no_skill = {
        name: max(floors["shuffled"][name], floors["constant"][name])
        for name in floors["shuffled"]
        if "bleu" in name
    }
    scores = generation_metrics(hypotheses, references), no_skill, floors["reference"]
    return SplitScores(*(_of(split, part) for part in scores))


def _of(split: str, scores: dict[str, float]) -> dict[str, float]:
    return {f"{split}_{name}": value for name, value in scores.items()}


def frequent_words(splits: Splits, number: int, config: DialogueConfig) -> list[str]:
    """The most frequent words of the training responses."""
    train = splits["train"]
    assert isinstance(train, DialogueDataset)
    counts = Counter(w for words in responses_of(train, range(len(train)), config) for w in words)
    return [word for word, _ in counts.most_common(number)]


def respond(
    task: DialogueTask, dataset: DialogueDataset, chosen: list[int], config: DialogueConfig
) -> list[list[str]]:
    """The words of the best response to each of the chosen examples."""
    device, words = next(task.parameters()).device, []
    loader = DataLoader(dataset[chosen], config.batch_size, follow_batch=["target_ids"])
    for batch in loader:
        found = task.model.generate(task.edges(batch.to(device)), config.decoding())
        words += [dataset.vocab.words_of(hypotheses[0].ids) for hypotheses in found]
    return words


def responses_of(dataset: DialogueDataset, chosen: Iterable[int], config: DialogueConfig) -> list[list[str]]:
    """The words of the references of examples, in lower case if the model's words are."""
    words = (dataset.response(i) for i in chosen)
    return [[word.lower() for word in response] if config.lower else response for response in words]


def read_responses(path: Path) -> list[dict[str, Any]]:
    """Reads a file of responses: ``context``, ``response``, ``reference`` per line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def spread_over(size: int, limit: int | None) -> list[int]:
    """``limit`` of ``size`` numbers from 0, evenly spread; all of them without a limit."""
    if limit is None or limit >= size:
        return list(range(size))
    return [number * size // limit for number in range(limit)]


def _write(
    path: Path,
    dataset: DialogueDataset,
    chosen: list[int],
    hypotheses: list[list[str]],
    config: DialogueConfig,
) -> None:
    lines: list[dict[str, Any]] = [
        {
            "context": dataset.raw_context(i),
            "response": detokenize(words, truecase=config.lower),
            "reference": dataset.raw_response(i),
        }
        for i, words in zip(chosen, hypotheses)
    ]
    with atomic_path(path) as temporary:
        temporary.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
        )
