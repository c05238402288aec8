"""A pretrained encoder over the edges of a PyG batch."""

from __future__ import annotations

import inspect
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn.inits import reset
from torch_geometric.transforms import BaseTransform

from graphdep.data.encoded import trees_data
from graphdep.data.node_table import warn_of_unknown
from graphdep.io.files import (
    CHECKSUMS,
    check_folder,
    check_replaced,
    disk_errors,
    file_mode,
    temporary_folder,
    unchanged_files,
    write_checksums,
)
from graphdep.io.limits import check_above, check_between, check_choice, check_count, check_share
from graphdep.nn.attention.dispatch import check_backend
from graphdep.nn.attention.layout import AttentionLayout, implicit_edges, refuse_unread
from graphdep.nn.attention.pairs import pair_scores
from graphdep.nn.attention.relations import EdgeTerms, GateValues, write_out
from graphdep.nn.dropout import take_over_dropout
from graphdep.nn.models.embedding import (
    added_nodes,
    fit_relations,
    make_marks,
    marks_of,
    related_nodes,
    reset_marks,
)
from graphdep.nn.models.selection import cls_nodes
from graphdep.nn.models.transformer import TextEncoder
from graphdep.nn.passes import evaluating, hooked
from graphdep.nn.prepared import is_prepared, kept, own_layout
from graphdep.nn.pretrained.anatomy import (
    NAME,
    Anatomy,
    EdgeSender,
    LayerEdges,
    NearEdges,
    attention_modules,
    depths,
    examine,
    hook_blocks,
    quiet_transformers,
    run_model,
)
from graphdep.parsing.enhanced import enhance
from graphdep.parsing.inputs import has_own_tree, read_examples
from graphdep.parsing.parser import Parser, parse_joined
from graphdep.parsing.resolver import resolve_parser
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import check_roots
from graphdep.transforms.edge_set import CLIQUES, TYPES
from graphdep.transforms.options import require_key
from graphdep.transforms.presets import PHRASE_PRESETS
from graphdep.vocab.pieces import SubwordTokens
from graphdep.vocab.relations import RelationVocab

# Tables may be padded beyond the vocabulary to a multiple of 64 or 128. A table with more spare rows than
# this, or mostly spare rows, belongs to another tokenizer.
_SPARE_ROWS = 256
_CLS = "[CLS]"
_SPECIAL = ("cls_token", "sep_token", "unk_token", "pad_token", "mask_token")


def fit_vocabulary(model: Any, tokenizer: Any, eou: str) -> None:
    """Checks that tokenizer and model belong together, and adds :obj:`eou` to both if it is unknown, and
    [CLS] if there is none.

    A new row is the mean of the table plus noise of 1/100 of the table's standard deviation, the same in
    every run: close to all symbols, equal to none. The table never shrinks.
    """
    name = f"the tokenizer {type(tokenizer).__name__}"
    table = model.get_input_embeddings().weight
    ids = tokenizer.get_vocab()
    size = max(ids.values()) + 1
    if tokenizer.sep_token is None and tokenizer.eos_token is not None:
        tokenizer.sep_token = tokenizer.eos_token
    if size > table.size(0) or table.size(0) - size >= min(_SPARE_ROWS, size):
        raise ValueError(
            f"{name} (of {tokenizer.name_or_path!r}) does not belong to {type(model).__name__} (of "
            f"{model.config.name_or_path!r}): its ids end at {size - 1}, the model has {table.size(0)} rows"
        )
    if tokenizer.cls_token is None:
        tokenizer.cls_token = _CLS
        if _CLS not in ids:
            _add_symbol(model, tokenizer, _CLS, seed=1)
    if eou in ids:
        _check_eou(tokenizer, eou, ids[eou])
    else:
        _add_symbol(model, tokenizer, eou, seed=0)


def _add_symbol(model: Any, tokenizer: Any, symbol: str, seed: int) -> None:
    table = model.get_input_embeddings().weight
    tokenizer.add_tokens([symbol], special_tokens=True)
    row = tokenizer.convert_tokens_to_ids(symbol)
    mean, std = table.detach().mean(dim=0), table.detach().std()
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(seed)).to(mean)
    if row >= table.size(0):
        model.resize_token_embeddings(row + 1, mean_resizing=False)
    with torch.no_grad():
        model.get_input_embeddings().weight[row] = mean + 0.01 * std * noise


def _check_eou(tokenizer: Any, eou: str, number: int) -> None:
    """Raises :class:`ValueError` if the id also has another meaning."""
    special = [name for name in _SPECIAL if getattr(tokenizer, f"{name}_id", None) == number]
    # A bracketed name is a symbol even for a tokenizer of whole words, which would find it in text.
    free = re.fullmatch(r"\[.+\]|<.+>", eou) or eou in tokenizer.get_added_vocab()
    if special or (not free and tokenizer.is_fast and _in_text(tokenizer, eou, number)):
        why = f"the {special[0]!r} of the tokenizer" if special else "which the tokenizer finds in text"
        raise ValueError(f"'eou' must have an id of its own (got {eou!r}, {why})")


def _in_text(tokenizer: Any, piece: str, number: int) -> bool:
    """Whether text can produce a piece; an unused piece such as ``madeupword0`` never appears."""
    backend = tokenizer.backend_tokenizer
    # A piece that only occurs inside words, such as "##s", is found when it is written twice.
    for text in (piece, backend.decode([number, number], skip_special_tokens=False)):
        if backend.normalizer is not None:
            text = backend.normalizer.normalize_str(text)
        splitter = backend.pre_tokenizer
        parts = [text] if splitter is None else [part for part, _ in splitter.pre_tokenize_str(text)]
        if any(token.id == number for part in parts for token in backend.model.tokenize(part)):
            return True
    return False


PAIRS = frozenset({CLIQUES})
"""Kinds of edge information that a layer reads."""
TERMS = PAIRS | {TYPES}
"""Kinds that a layer with terms reads."""


def edges_of_layers(
    data: Data,
    attentions: Sequence[nn.Module],
    edges: Mapping[int, BaseTransform],
    terms: Mapping[str, nn.Module] | nn.ModuleDict,
    backend: str = "auto",
    weights: list[tuple[Tensor, Tensor]] | None = None,
) -> LayerEdges:
    """The edges of all layers. Each set of edges has one layout, shared by its layers.

    Args:
        data: The nodes, with edges unless all layers have their own.
        attentions: The attention module of each layer.
        edges: Transforms that build the edges of single layers.
        terms: The edge terms of single layers, by layer number. For a module whose ``untyped`` is ``"gate"``,
            the pairs of cliques are edges, too.
        backend, weights: As in :class:`LayerEdges`.

    Raises:
        ValueError: If a layer has no edges, edges join two examples, or edges of a layer with terms have no
            types.
    """
    made = {
        # Layers that share edges may do so with layers that have terms.
        transform: own_layout(data, transform, TERMS if _has_terms(edges, transform, terms) else PAIRS)
        for transform in set(edges.values())
    }
    by_layer = {number: made[transform] for number, transform in edges.items()}
    own = {attentions[number]: layout for number, layout in by_layer.items()}
    shared = None
    if len(by_layer) < len(attentions):
        shared = AttentionLayout.of(data)
        by_layer = dict.fromkeys(range(len(attentions)), shared) | by_layer
    added: dict[nn.Module, Callable[[Tensor], EdgeTerms]] = {}
    for number, module in terms.items():
        attention, layout = attentions[int(number)], by_layer[int(number)]
        edge_type = layout.edge_type
        if edge_type is None:
            raise ValueError(
                f"the edges of layer {number} have no 'edge_type', which its terms need: take edges with "
                "types, e.g. resolve('dt')"
            )
        if getattr(module, "untyped", "keep") == "gate":
            layout, edge_type = write_out(layout, edge_type)
            own[attention] = layout
        added[attention] = TermsOver(module, layout, edge_type)
    return LayerEdges(shared, own, added, backend, weights)


def _has_terms(
    edges: Mapping[int, BaseTransform],
    transform: BaseTransform,
    terms: Mapping[str, nn.Module] | nn.ModuleDict,
) -> bool:
    """Whether a layer with these edges has terms."""
    return any(str(number) in terms for number, own in edges.items() if own is transform)


@dataclass(frozen=True, eq=False)
class TermsOver:
    """The edge terms of a layer, as a function of its input states."""

    module: nn.Module
    layout: AttentionLayout
    edge_type: Tensor

    def __call__(self, x: Tensor, **kwargs: Any) -> Any:
        return self.module(x, self.layout.edge_index, self.edge_type, **kwargs)

    @property
    def has_gate(self) -> bool:
        return getattr(self.module, "gate", None) is not None

    @torch.no_grad()
    def gate_values(
        self, x: Tensor, query: Tensor, key: Tensor, near: NearEdges, added: Tensor | None
    ) -> GateValues:
        """The gates of the layer's edges for these states."""
        _, gate, score = self(x, return_gate=True)
        pairs = self.layout.edge_index
        own = pair_scores(query, key, pairs)
        own = own if added is None else own + added[: pairs.size(1)]
        if near.kept is None:
            return GateValues(pairs, self.edge_type, gate, score, own)
        kept = near.kept[: pairs.size(1)]
        return GateValues(pairs[:, kept], self.edge_type[kept], gate[kept], score[kept], own[kept])


def make_terms(
    make: Callable[[], nn.Module], layers: Iterable[int], there: Iterable[nn.Module]
) -> dict[str, nn.Module]:
    """A new module for each layer, by layer number."""
    if isinstance(make, nn.Module) or not callable(make):
        raise ValueError(
            "'make' must be a function that gives a new module for each layer, e.g. "
            f"lambda: RelationKeyValue(...) (got {make})"
        )
    modules: dict[str, nn.Module] = {}
    taken = {id(module) for module in there}
    for number in layers:
        module = make()
        if id(module) in taken:
            raise ValueError(f"'make' must give a new module for each layer (layer {number} gets another's)")
        taken.add(id(module))
        modules[str(number)] = module
    return modules


def check_shared(modules: Mapping[str, nn.Module], there: Iterable[nn.Parameter]) -> None:
    """Raises :class:`ValueError` if modules share relation vectors that belong to none of them."""
    known = {id(parameter) for parameter in there}
    known |= {id(parameter) for module in modules.values() for parameter in module.parameters()}
    for number, module in modules.items():
        relation = getattr(module, "relation", None)
        shared = relation.parameters() if isinstance(relation, nn.Module) else ()
        if any(id(parameter) not in known for parameter in shared):
            raise ValueError(
                f"'make' gives layer {number} relation vectors outside the encoder, which would be "
                "neither trained nor saved: let the first layer own them, and share these"
            )


def try_terms(model: Any, anatomy: Anatomy, terms: Mapping[str, nn.Module]) -> None:
    """Raises PyTorch's error unless the model runs with these terms, on a node with a self loop."""
    node = torch.zeros(1, dtype=torch.long, device=model.device)
    data = Data(num_nodes=1, edge_index=node.new_zeros(2, 1), edge_type=node)
    graph = edges_of_layers(data, attention_modules(model, anatomy), {}, terms)
    with evaluating(model), torch.no_grad():
        run_model(model, anatomy, node, node, node, graph)


logger = logging.getLogger("graphdep.nn.pretrained")


def warn_of_cuts(cut_words: Tensor, max_length: int) -> None:
    """One warning for all texts that do not fit."""
    texts, words = int(cut_words.any(dim=1).sum()), int(cut_words.sum())
    if words:
        logger.warning(
            "%d of %d texts do not fit into %d nodes: %d words are cut (see 'cut_words')",
            texts,
            len(cut_words),
            max_length,
            words,
        )


def check_nodes(data: Data, has_relations: bool) -> Tensor:
    """The RELATION nodes or the PHRASE nodes of a node table; both are treated alike."""
    for key in ("input_ids", "position", "segment", *(("node_type", "deprel") if has_relations else ())):
        require_key(data, key, "make it with to_data(), text_data() or selection_data()")
    return related_nodes(data, has_relations, "encoder.embedding_channels")


def positions(data: Data, related: Tensor, max_length: int) -> Tensor:
    """The position of each node; RELATION nodes beyond the last position share it. Nodes at position -1
    (none) get 0, which :func:`without_places` removes.

    Args:
        data: One example or a batch.
        related: The RELATION nodes.
        max_length: The number of positions.

    Raises:
        ValueError: If another node is beyond the last position.
    """
    inside = data.position[related].clamp(min=0, max=max_length - 1)
    position = data.position.index_copy(0, related, inside)
    if is_prepared(data):
        return position
    beyond = (position >= max_length).nonzero()
    if beyond.numel():
        batch = data.get("batch")
        example = 0 if batch is None else int(batch[beyond[0]])
        own = position if batch is None else position[batch == example]
        raise ValueError(
            f"example {example} has {int(own.max()) + 1} positions, the encoder {max_length}: give a "
            "smaller 'max_length' where the data is made"
        )
    return position


@kept
def _some_without_place(data: Data) -> bool:
    """Whether a RELATION or PHRASE node has no position."""
    return bool((data.position[added_nodes(data)] < 0).any())


@contextmanager
def without_places(model: Any, data: Data, related: Tensor, scored: bool = False) -> Iterator[None]:
    """A context in which the model adds no position and segment embedding to RELATION nodes at position -1.
    Positions that only affect scores are left out by the layers.
    """
    tables = {name: module for name, module in model.named_modules() if _is_place(name, module)}
    has_places = scored or any(name.endswith("position_embeddings") for name in tables)
    if related.numel() and not has_places and _some_without_place(data):
        raise ValueError(
            f"{type(model).__name__} adds no embedding of positions to words, which relations could be "
            "without: give RelationNodes() another 'position' than 'none'"
        )
    if not related.numel() or not tables:
        yield
        return
    nowhere = (data.position < 0)[None, :, None]

    def leave_out(table: nn.Module, inputs: Any, places: Tensor) -> Tensor:
        return places.masked_fill(nowhere, 0)

    with hooked([table.register_forward_hook(leave_out) for table in tables.values()]):
        yield


def _is_place(name: str, module: nn.Module) -> bool:
    of_places = ("position_embeddings", "token_type_embeddings")
    return isinstance(module, nn.Embedding) and name.endswith(of_places)


def node_inputs(
    model: Any, relations: nn.Module | None, marks: nn.Embedding | None, data: Data, related: Tensor
) -> Tensor:
    """Ids of nodes; where relations or marks have an embedding, the vectors that the model adds positions
    to.
    """
    if relations is None and marks is None:
        return data.input_ids
    # A relation id may not be a word id; the word vector read here is replaced.
    words = model.get_input_embeddings()(data.input_ids.index_fill(0, related, 0))
    if relations is not None:
        words = words.index_copy(0, related, relations(data.deprel[related]).to(words.dtype))
    return words if marks is None else words + marks_of(data, marks).to(words.dtype)


def save(folder: str | os.PathLike[str], model: Any, tokenizer: Any, *, overwrite: bool = False) -> None:
    """Writes model and tokenizer to a folder, so that no file is ever incomplete, and their ``SHA256SUMS``,
    by which unchanged files are replaced later.

    Raises:
        ValueError: If :obj:`folder` is a file, or another file would be replaced.
    """
    check_folder("folder", folder)
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    with temporary_folder("saving", path) as temporary:
        with quiet_transformers(), disk_errors(path):
            model.save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
        names = [file.name for file in temporary.iterdir() if file.is_file()]
        check_replaced(path, [*names, CHECKSUMS], unchanged_files(path), overwrite=overwrite)
        write_checksums(temporary, names)
        for file in temporary.iterdir():
            if file.is_file():  # safetensors makes the file readable for its writer only
                file.chmod(file_mode(path / file.name))
            file.replace(path / file.name)


Edges: TypeAlias = str | BaseTransform


WINDOWS = ("own", "dropped")


class PretrainedEncoder(TextEncoder):
    r"""A Hugging Face encoder (BERT, DeBERTa-v3, MPNet, ...) whose attention follows the edges of the data.

    The model keeps its weights and its code; only its attention function is replaced by
    :func:`~graphdep.nn.attention.edge_attention` over one packed row: through the attention interface of
    transformers, or layer by layer for encoders with distance scores (DeBERTa-v2 and v3, MPNet, T5, mT5,
    UMT5, RoFormer). So no layer spends time on padding, and over complete graphs the states equal those of
    the padded model. Distances are those of the node positions, and their score terms belong to the encoder's
    own score, which a gate scales. A short trial at construction compares all hidden states with those of the
    model's own attention, and refuses unsupported models (GPT, MobileBERT).
    A tokenizer without [CLS], such as T5's, gets one in the same way as :obj:`eou`; its end-of-sequence is
    [SEP].

    Additions of a method come afterwards: :meth:`add_relations` for nodes that stand for relations,
    :meth:`add_terms` for score and value terms of typed edges. They are in the ``state_dict`` and in
    :meth:`added_parameters`, but neither in :meth:`parameter_groups` nor in the files of
    :meth:`save_pretrained`.

    Args:
        model: A ``transformers.PreTrainedModel`` without a head, e.g. from ``AutoModel``. It is modified: its
            attention is replaced and its pooler removed.
        tokenizer: The model's fast tokenizer.
        edges: Edges of single layers: a preset or a transform for a layer number, from 0, which builds them
            from the node table; all other layers use the edges of the data. (default: :obj:`None`)
        eou: The end symbol of an utterance. If the tokenizer does not know it, it is added, with the mean of
            the embedding table plus a little noise as its row. (default: ``"[EOU]"``)
        backend: Backend of :func:`~graphdep.nn.attention.edge_attention`. (default: ``"auto"``)
        windows: For a model with local layers, such as ModernBERT: ``"own"``: these attend over the edges
            within their window; ``"dropped"``: over all. (default: ``"own"``)

    The encoder is in the mode of the model, which is evaluation mode after :func:`load_encoder`, as in
    transformers. Call :meth:`train` before training; Lightning does not.

    Attributes:
        hidden_channels: Size of the node states.
        embedding_channels: Size of the word embeddings, in most models the same.
        num_layers: Number of layers.
        heads: Attention heads per layer.
        head_channels: Size of a head.
        max_length: Largest number of nodes in an example.
        tokens: The :class:`~graphdep.vocab.Tokens` of the tokenizer.
        parser_failures: Texts of the last :meth:`to_data` that have a chain instead of a parse.
        own_trees: Whether the tree of each text of the last :meth:`to_data` was given (for a pair, both).
        tree_counts: Numbers of its trees that were given, bad (by reason), or converted (by scheme).

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table of
          :func:`~graphdep.data.text_data` or :func:`~graphdep.data.selection_data`, and edges; output
          :math:`(|\mathcal{V}|, C)` in node order. With :obj:`return_layers` also a list of :math:`L + 1`
          states: the embeddings, then the output of each layer. Output of :meth:`readout` :math:`(B, C)`, one
          vector per example.

    Raises:
        ValueError: If the model cannot run over edges, model and tokenizer do not belong together, or an
            option is invalid.

    Example:
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> batch = encoder.to_data(["She sings.", "You do?"], edges="dra")
        >>> x, layers = encoder(batch, return_layers=True)
        >>> x.shape == (batch.num_nodes, encoder.hidden_channels), len(layers) == encoder.num_layers + 1
        (True, True)
    """

    parser_failures = 0
    own_trees: Sequence[bool] = ()
    tree_counts: dict[str, Any]
    checkpoints = False
    senders: Sequence[EdgeSender] = ()  # one per layer, while an explainer reads messages
    given_vectors: Callable[[Tensor], Tensor] | None = None  # replaces word vectors, for an explainer

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        edges: Mapping[int, Edges] | None = None,
        eou: str = "[EOU]",
        backend: str = "auto",
        windows: str = "own",
    ) -> None:
        super().__init__()
        check_choice("windows", windows, WINDOWS)
        if edges is not None and not isinstance(edges, Mapping):
            raise ValueError(
                f"'edges' must map layers to edges, e.g. {{5: 'sia'}} (got {edges!r}): edges of all layers "
                "are those of the data"
            )
        check_backend(backend)
        if getattr(model, "pooler", None) is not None:
            model.pooler = None  # it is unused, and DDP fails for parameters without gradients
        self.anatomy = examine(model)
        fit_vocabulary(model, tokenizer, eou)
        take_over_dropout(model)
        if self.anatomy.distances is None:
            model.set_attn_implementation(NAME)
        model.state_hooks = [*getattr(model, "state_hooks", ()), *hook_blocks(model, self.anatomy)]
        self.model, self.tokenizer, self.backend, self.windows = model, tokenizer, backend, windows
        self.tokens = SubwordTokens(tokenizer, eou=eou)
        self.hidden_channels, self.heads = self.anatomy.hidden_channels, self.anatomy.heads
        self.head_channels = self.anatomy.head_channels
        self.num_layers, self.max_length = self.anatomy.num_layers, self.anatomy.max_length
        self.layer_edges = self._resolve_edges(edges or {})
        self.relations: nn.Module | None = None
        self.marks: nn.Embedding | None = None
        self.terms = nn.ModuleDict()
        self.train(model.training)

    @property
    def embedding_channels(self) -> int:
        return self.model.get_input_embeddings().embedding_dim

    @property
    def embedding_std(self) -> float:
        """Standard deviation of new vectors: that of the configuration, with which words were initialized, or
        that of the word vectors if there is none, as in T5.
        """
        words = self.model.get_input_embeddings().weight
        return getattr(self.model.config, "initializer_range", None) or words.std().item()

    def reset_parameters(self) -> None:
        """Resets the added parameters; the model keeps its pretrained weights."""
        reset(self.relations)
        reset(self.terms)
        if self.marks is not None:
            reset_marks(self.marks)

    def add_relations(self, embedding: nn.Module) -> PretrainedEncoder:
        """Lets the encoder read RELATION nodes, which ``resolve("dam")`` makes from arcs.

        Their input is ``embedding(deprel)`` instead of a word embedding; positions, segments, LayerNorm and
        dropout follow as for words, but relation nodes at position -1 get neither position nor segment
        (``resolve("dam", position="none")``). Relation nodes beyond the last position share it; words beyond
        it raise an error. The module is moved to the device and type of the model.

        Args:
            embedding: E.g. a :class:`~graphdep.nn.models.RelationEmbedding` with :attr:`embedding_channels`.

        Raises:
            ValueError: If the encoder already has such a module, its vectors have another size, or the model
                accepts no vectors for nodes.
        """
        self._check_takes_vectors("relations")
        embedding = embedding.to(self.model.device, self.model.dtype)
        made = fit_relations(self.relations, embedding, self.embedding_channels)
        self.relations = made.train(self.training)
        return self

    def add_marks(self, number: int) -> PretrainedEncoder:
        """As :meth:`TextEncoder.add_marks`; the vectors are added to the word embeddings, before positions,
        segments and LayerNorm.

        Raises:
            ValueError: As there, or if the model accepts no vectors for nodes.
        """
        self._check_takes_vectors("marks")
        marks = make_marks(self.marks, number, self.embedding_channels)
        self.marks = marks.to(self.model.device, self.model.dtype)
        return self

    def _check_takes_vectors(self, what: str) -> None:
        if "inputs_embeds" not in inspect.signature(self.model.forward).parameters:
            raise ValueError(f"{type(self.model).__name__} takes no 'inputs_embeds', which {what} need")

    def add_terms(
        self, make: Callable[[], nn.Module], layers: Iterable[int] | None = None
    ) -> PretrainedEncoder:
        """Lets typed edges change scores and values, with a separate module for each layer.

        A module is called as ``module(x, edge_index, edge_type)`` and returns
        :class:`~graphdep.nn.attention.EdgeTerms`; ``x [N, C]`` are the input states of the layer's attention,
        the edges those of the layer. Pairs that only a clique has get no terms, unless the module has
        ``untyped="gate"``: then they become edges of relation NONE. The modules are moved to the device and
        type of the model. A trial on one node and one edge checks all of them before any is added.

        Args:
            make: Returns a new module, such as :class:`~graphdep.nn.attention.GatedRelationScore` or
                :class:`~graphdep.nn.attention.RelationKeyValue`. Modules may share relation vectors if one of
                them owns these.
            layers: Numbers of the layers, from 0. (default: all)

        Raises:
            ValueError: If a layer does not exist or already has terms, layers share their parameters, or
                :obj:`make` returns no new modules, modules that do not fit, or relation vectors outside the
                encoder.
        """
        numbers = [*range(self.num_layers)] if layers is None else [*layers]
        self._check_layers("layers", numbers)
        taken = [number for number in numbers if str(number) in self.terms]
        if taken:
            raise ValueError(f"layer {taken[0]} has terms already: {self.terms[str(taken[0])]}")
        made = make_terms(make, dict.fromkeys(numbers), self.terms.values())
        check_shared(made, self.parameters())
        for module in made.values():
            module.to(self.model.device, self.model.dtype).eval()
        try_terms(self.model, self.anatomy, made)
        self.terms.update(made)
        self.terms.train(self.training)
        return self

    def readout(self, data: Data, x: Tensor) -> Tensor:
        """States of [CLS], one per example: the texts of a pair are read together and have no separate
        vectors.

        Raises:
            ValueError: If an example does not have one CLS node.
        """
        return x.index_select(0, cls_nodes(data))

    def extra_repr(self) -> str:
        own = f"edges={self.layer_edges}, " if self.layer_edges else ""
        windows = "" if self.windows == "own" else f", windows={self.windows!r}"
        return f"{own}backend={self.backend!r}{windows}"

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        # Here, before the data moves, a check does not synchronize a device.
        related = check_nodes(data, self.relations is not None)
        positions(data, related, self.max_length)
        if related.numel():
            _some_without_place(data)
        self._edges_of(data)

    def forward(self, data: Data, return_layers: bool = False) -> Any:
        x, layers = self._run(data, self._edges_of(data), return_layers)
        return (x, layers) if return_layers else x

    def attention(self, data: Data) -> list[tuple[Tensor, Tensor]]:
        r"""The attention of every layer, for heat maps: ``(pairs, alpha)`` per layer, in evaluation mode.

        Shapes:
            - pairs: :math:`(2, |\mathcal{P}|)`, source -> target; alpha: :math:`(|\mathcal{P}|, H)`
        """
        weights: list[tuple[Tensor, Tensor]] = []
        self._look(data, self._edges_of(data, weights))
        return weights

    def gates(self, data: Data) -> list[GateValues | None]:
        """The gates of every layer, for the share of relations in its scores, in evaluation mode; :obj:`None`
        for a layer without a gate.
        """
        graph = self._edges_of(data)
        graph.scored = {}
        self._look(data, graph)
        return [
            terms.gate_values(*graph.scored[attention])
            if isinstance(terms := graph.terms.get(attention), TermsOver) and terms.has_gate
            else None
            for attention in attention_modules(self.model, self.anatomy)
        ]

    @torch.no_grad()
    def _look(self, data: Data, graph: LayerEdges) -> None:
        """A forward pass in evaluation mode that records into ``graph``."""
        with evaluating(self):
            self._run(data, graph, False)

    def to_data(
        self,
        texts: Any,
        parser: str | Parser = "bundled",
        edges: Edges = "transformer",
        *,
        relations: RelationVocab | None = None,
        roots: str = "all",
        arcs: str = "basic",
        engine: str = "rules",
        copies: str = "word",
        max_length: int | None = None,
        bad_trees: str = "error",
    ) -> Batch:
        """Texts as a batch, one example per text, on the device of the encoder.

        Each text is parsed to one tree; given words and trees are used unchanged. Texts that do not fit lose
        whole words, with one warning; ``cut_words`` of the batch counts them, ``[num_texts, 2]``: those of a
        text, or of both texts of a pair. Texts whose parse fails get a chain and are counted in
        :attr:`parser_failures`.

        Args:
            texts: Texts, lists of words, or parses; for two segments, pairs of these; as in
                :class:`~graphdep.SequenceClassifier`.
            parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
            edges: A preset, made with ``implicit=True``, or a transform; typed edges need :meth:`add_terms`
                first. (default: ``"transformer"``)
            relations: Ids of relations, e.g. those of a trained model. (default: a new
                :class:`~graphdep.RelationVocab`, with a warning about unknown labels)
            roots: For a text of several sentences, ``"all"`` roots stay roots, as in response selection, so
                that words keep the depths in their sentences; or all but the ``"first"`` depend on the first,
                as in the tasks on sentences. (default: ``"all"``)
            arcs: ``"basic"`` trees, or ``"enhanced"`` or ``"enhanced++"`` graphs, derived from the trees if
                the parser has none (:func:`graphdep.parsing.enhance`). (default: ``"basic"``)
            engine: Derives these graphs, ``"rules"`` or ``"pybart"``. (default: ``"rules"``)
            copies: Copies of words in enhanced++ graphs: ``"word"`` moves their arcs to the word, ``"node"``
                makes each a node. (default: ``"word"``)
            max_length: Largest number of nodes, without relation nodes. (default: :attr:`max_length`)
            bad_trees: Treatment of a parse that is not a tree, ``"error"``, ``"attach"`` or ``"parse"``, as
                in :class:`~graphdep.sentence.Intake`. (default: ``"error"``)

        Raises:
            TypeError: If an entry is none of these; the message has its position.
            ValueError: If there is no text, an entry is blank or not a tree, :obj:`roots`, :obj:`arcs`,
                :obj:`engine`, :obj:`copies` or :obj:`bad_trees` is unknown, :obj:`max_length` exceeds the
                encoder's positions, or the edges have marks, or types without terms in the encoder.
        """
        length = self.max_length if max_length is None else max_length
        check_between("max_length", length, 1, self.max_length)
        check_roots(roots)
        check_choice("bad_trees", bad_trees, ("error", "attach", "parse"))  # each text is an example
        mends = resolve_parser(parser) if bad_trees == "parse" else None
        intake = Intake(bad_trees=bad_trees, parser=mends, advice="bad_trees='attach' or 'parse' takes it")
        parts = read_examples("texts", texts, intake, roots=roots)
        phrases = isinstance(edges, str) and edges in PHRASE_PRESETS
        trees, self.parser_failures = parse_joined(
            lambda: resolve_parser(parser, arcs=arcs, engine=engine, constituents=phrases),
            [one for part in parts for one in part],
            roots=roots,
        )
        self.own_trees = has_own_tree([one for part in parts for one in part]).tolist()
        self.tree_counts = intake.counts()
        ordered = iter(trees if arcs == "basic" else enhance(trees, arcs, engine))
        known = RelationVocab() if relations is None else relations
        options: Any = {"tokens": self.tokens, "max_length": length, "arcs": arcs, "copies": copies}
        options["phrases"] = phrases
        examples = [trees_data([next(ordered) for _ in part], known, **options) for part in parts]
        if relations is None:  # else their owner sees the count
            warn_of_unknown(known, [label for tree in trees for label in tree.deprel])
        batch = Batch.from_data_list(examples)
        warn_of_cuts(batch.cut_words, length)
        batch = implicit_edges(edges)(batch.to(self.model.device))
        refuse_unread(batch, TERMS if len(self.terms) else PAIRS, edges)
        return batch

    def freeze(self, layers: int = 0, embeddings: bool = True) -> PretrainedEncoder:
        """Freezes the first layers and, by default, the embeddings.

        Args:
            layers: Number of layers. (default: :obj:`0`)
            embeddings: Freeze the embeddings. (default: :obj:`True`)

        Raises:
            ValueError: If the model has fewer layers, or its layers share their parameters.
        """
        check_between("layers", layers, 0, self.num_layers)
        for parameter, depth in depths(self.model, self.anatomy):
            if (depth == 0 and embeddings) or 1 <= depth <= layers:
                parameter.requires_grad_(False)
        return self

    def parameter_groups(
        self, lr: float, weight_decay: float = 0.01, layer_decay: float = 1.0
    ) -> list[dict[str, Any]]:
        r"""Parameter groups for an optimiser, with a learning rate that decays layer by layer from the top.

        .. math::
            \eta_l = \eta \cdot \gamma^{L - l}

        for layers :math:`l = 1, \ldots, L` and the embeddings (:math:`l = 0`), from `"How to Fine-Tune BERT
        for Text Classification?" <https://arxiv.org/abs/1905.05583>`_. Biases and LayerNorm weights, which
        are one-dimensional, have no weight decay. Frozen parameters are left out; parameters of a head and of
        additions to the model are the caller's responsibility.

        Args:
            lr: :math:`\eta`, the rate of the last layer.
            weight_decay: Weight decay of matrices. (default: :obj:`0.01`)
            layer_decay: :math:`\gamma`. (default: :obj:`1.0`)

        Raises:
            ValueError: If :obj:`layer_decay` is not in (0, 1], or is below 1 and the layers share their
                parameters.
        """
        check_above("layer_decay", layer_decay, 0)
        check_share("layer_decay", layer_decay)
        top = self.num_layers
        same = ((parameter, top) for parameter in self.model.parameters())
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for parameter, depth in same if layer_decay == 1.0 else depths(self.model, self.anatomy):
            if parameter.requires_grad:
                key = (lr * layer_decay ** (top - depth), weight_decay if parameter.dim() > 1 else 0.0)
                groups.setdefault(key, []).append(parameter)
        return [{"params": params, "lr": rate, "weight_decay": wd} for (rate, wd), params in groups.items()]

    def added_parameters(self) -> list[nn.Parameter]:
        """The parameters of additions to the model, which :meth:`parameter_groups` leaves out."""
        return [p for name, p in self.named_parameters() if not name.startswith("model.")]

    def gradient_checkpointing(self, use_reentrant: bool = False) -> PretrainedEncoder:
        """Recomputes the inside of each layer in the backward pass instead of storing it.

        Args:
            use_reentrant: Only :obj:`False`: reentrant checkpoints lose the gradients of a layer's keyword
                arguments.

        Raises:
            ValueError: If :obj:`use_reentrant` is true.
        """
        if use_reentrant:
            raise ValueError(
                "'use_reentrant' must be False: reentrant checkpoints lose the gradients of edge terms"
            )
        self.checkpoints = True
        if self.anatomy.distances is None:
            self.model.activation_checkpointing_enable({"use_reentrant": False})
        return self

    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes model and tokenizer in transformers' format, with safetensors, for :func:`load_encoder` and
        others. Edges of single layers and additions to the model are not saved; a warning names the
        additions.

        Args:
            folder: The folder.
            overwrite: Replace files of the same names that this has not written, or that were changed since.
                (default: :obj:`False`)

        Raises:
            ValueError: If :obj:`folder` is a file, or a file would be replaced that is not as this wrote it.
        """
        left = {
            "relations": self.relations is not None,
            "marks": self.marks is not None,
            "terms": len(self.terms) > 0,
        }
        if any(left.values()):
            names = " and ".join(name for name, there in left.items() if there)
            logger.warning(
                "%s: without the %s that were added to the model (see state_dict())", os.fspath(folder), names
            )
        save(folder, self.model, self.tokenizer, overwrite=overwrite)

    def _run(self, data: Data, graph: LayerEdges, return_layers: bool) -> tuple[Tensor, list[Tensor]]:
        related = check_nodes(data, self.relations is not None)
        position = positions(data, related, self.max_length)
        if not data.num_nodes:  # transformers cannot reshape an empty batch
            x = torch.zeros(0, self.hidden_channels, dtype=self.model.dtype, device=data.input_ids.device)
            if graph.weights is not None:
                nothing = data.input_ids.new_zeros(2, 0), x.new_zeros(0, self.heads)
                graph.weights.extend([nothing] * self.num_layers)
            if graph.scored is not None:
                states = x.new_zeros(0, self.heads, self.head_channels)
                near = NearEdges(AttentionLayout(data.input_ids.new_zeros(2, 0), 0))
                graph.scored.update(dict.fromkeys(graph.terms, (x, states, states, near, None)))
            return x, [x] * (self.num_layers + 1)
        nodes = node_inputs(self.model, self.relations, self.marks, data, related)
        if self.given_vectors is not None:
            vectors = nodes if nodes.is_floating_point() else self.model.get_input_embeddings()(nodes)
            nodes = self.given_vectors(vectors)
        if related.numel() and self.anatomy.scores_distances:
            graph.placeless = data.position < 0
        with without_places(self.model, data, related, self.anatomy.scores_distances):
            return run_model(self.model, self.anatomy, nodes, position, data.segment, graph, return_layers)

    def _edges_of(self, data: Data, weights: list[tuple[Tensor, Tensor]] | None = None) -> LayerEdges:
        modules = attention_modules(self.model, self.anatomy)
        graph = edges_of_layers(data, modules, self.layer_edges, self.terms, self.backend, weights)
        graph.senders.update(zip(modules, self.senders))
        graph.windows, graph.checkpoints = self.windows, self.checkpoints
        return graph

    def _resolve_edges(self, edges: Mapping[int, Edges]) -> dict[int, BaseTransform]:
        self._check_layers("edges", edges)
        by_name = {name: implicit_edges(name) for name in set(edges.values())}
        return {number: by_name[name] for number, name in edges.items()}

    def _check_layers(self, argument: str, layers: Iterable[int]) -> None:
        """Raises :class:`ValueError` unless these layers exist and have their own parameters."""
        for number in layers:
            check_count(argument, number)
            check_between(argument, number, 0, self.num_layers - 1)
        if layers and self.anatomy.shares_layers:
            raise ValueError(
                f"{argument!r} needs layers of their own: those of {type(self.model).__name__} are one block"
            )
