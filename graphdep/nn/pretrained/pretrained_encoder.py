"""A Hugging Face encoder over the edges of a PyG batch."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn.inits import reset
from torch_geometric.transforms import BaseTransform

from graphdep.data import trees_data
from graphdep.nn._layout import implicit_edges
from graphdep.nn.attention.dispatch import BACKENDS
from graphdep.nn.dropout import take_over_dropout
from graphdep.nn.models._marks import make_marks, reset_marks
from graphdep.nn.models.selection_model import cls_nodes
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.nn.pretrained._added import check_shared, make_terms, try_terms
from graphdep.nn.pretrained._edge_sender import EdgeSender
from graphdep.nn.pretrained._input import (
    check_nodes,
    check_texts,
    node_inputs,
    positions,
    warn_of_cuts,
    without_places,
)
from graphdep.nn.pretrained._layers import edges_of_layers
from graphdep.nn.pretrained._saving import save
from graphdep.nn.pretrained.anatomy import attention_modules, depths, examine, hook_blocks, run_model
from graphdep.nn.pretrained.graph_attention import NAME, LayerEdges
from graphdep.nn.pretrained.vocabulary import fit_vocabulary
from graphdep.parsing import Parser, enhance, resolve_parser
from graphdep.parsing.parser import parse_joined
from graphdep.transforms import PHRASE_PRESETS
from graphdep.vocab import RelationVocab, SubwordTokens

logger = logging.getLogger("graphdep.nn.pretrained")

Edges: TypeAlias = str | BaseTransform


WINDOWS = ("own", "dropped")


class PretrainedEncoder(TextEncoder):
    r"""A Hugging Face encoder (BERT, RoBERTa, ELECTRA, ...) whose attention follows the edges of the data.

    The model keeps its weights and its code; only its attention function is replaced, by
    :func:`~graphdep.nn.attention.edge_attention` over one packed row, through the attention interface of
    transformers. So no layer spends time on padding, and over complete graphs the states are those of the
    padded model. An encoder that ignores the interface or has attention that edges cannot express (DeBERTa,
    MPNet, T5, GPT) is refused: a short trial at construction compares all hidden states with those of the
    model's own attention.

    What a method adds to the model is given to it afterwards: :meth:`add_relations` for nodes that stand for
    relations, :meth:`add_terms` for what typed edges do to scores and values. It is in the ``state_dict``,
    and neither in :meth:`parameter_groups`, but in :meth:`added_parameters`, nor in what
    :meth:`save_pretrained` writes.

    Args:
        model: A ``transformers.PreTrainedModel`` without a head, as ``AutoModel`` gives it. It is taken over:
            its attention is replaced, its pooler removed.
        tokenizer: The fast tokenizer that belongs to it.
        edges: For single layers, counted from 0, a preset or a transform that builds the edges of that layer
            from the node table; all others have the edges of the data. (default: :obj:`None`)
        eou: The symbol at the end of an utterance. Where the tokenizer does not know it, it is added, with
            the mean of the embedding table and a little noise for a row. (default: ``"[EOU]"``)
        backend: Backend of :func:`~graphdep.nn.attention.edge_attention`. (default: ``"auto"``)
        windows: Of a model some of whose layers see only the places around a word, such as ModernBERT:
            ``"own"``, these attend over the edges within their window, or ``"dropped"``, over all.
            (default: ``"own"``)

    The encoder is in the mode that the model is in: from :func:`load_encoder` in evaluation mode, as
    transformers has it. Call :meth:`train` before training; Lightning does not.

    Attributes:
        hidden_channels: Size of the node states.
        embedding_channels: Size of the word embeddings, which most models have of the same size.
        num_layers: Number of layers.
        heads: Attention heads of a layer.
        max_length: Nodes that an example may have.
        tokens: The :class:`~graphdep.vocab.Tokens` of the tokenizer.
        parser_failures: Texts of the last :meth:`to_data` that have a chain for a tree.

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table as
          :func:`~graphdep.data.encoded` and :func:`~graphdep.data.encoded` make it, and
          edges; output :math:`(|\mathcal{V}|, C)`, row order is node order. With :obj:`return_layers` also a
          list of :math:`L + 1` such states: the embeddings, then the output of each layer. Of
          :meth:`readout` :math:`(B, C)`, one vector an example.

    Raises:
        ValueError: If the model cannot run over edges, model and tokenizer do not belong together, or an
            option is wrong.

    Example:
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> batch = encoder.to_data(["She sings.", "You do?"], edges="dra")
        >>> x, layers = encoder(batch, return_layers=True)
        >>> x.shape == (batch.num_nodes, encoder.hidden_channels), len(layers) == encoder.num_layers + 1
        (True, True)
    """

    parser_failures = 0
    senders: Sequence[EdgeSender] = ()  # of each layer, while an explainer looks at messages

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
        if windows not in WINDOWS:
            raise ValueError(f"'windows' must be one of {', '.join(WINDOWS)} (got {windows!r})")
        if edges is not None and not isinstance(edges, Mapping):
            raise ValueError(
                f"'edges' must map layers to edges, e.g. {{5: 'sia'}} (got {edges!r}): edges of all layers "
                "are those of the data"
            )
        if backend not in BACKENDS:
            raise ValueError(f"'backend' must be one of {', '.join(BACKENDS)} (got {backend!r})")
        if getattr(model, "pooler", None) is not None:
            model.pooler = None  # nothing reads it, and parameters without a gradient hinder DDP
        self.anatomy = examine(model)
        fit_vocabulary(model, tokenizer, eou)
        take_over_dropout(model)
        model.set_attn_implementation(NAME)
        model.state_hooks = [*getattr(model, "state_hooks", ()), *hook_blocks(model, self.anatomy)]
        self.model, self.tokenizer, self.backend, self.windows = model, tokenizer, backend, windows
        self.tokens = SubwordTokens(tokenizer, eou=eou)
        self.hidden_channels, self.heads = self.anatomy.hidden_channels, self.anatomy.heads
        self.num_layers, self.max_length = self.anatomy.num_layers, self.anatomy.max_length
        self.layer_edges = self._resolve_edges(edges or {})
        self.relations: nn.Module | None = None
        self.marks: nn.Embedding | None = None
        self.terms = nn.ModuleDict()
        self.train(model.training)

    @property
    def embedding_channels(self) -> int:
        return self.model.get_input_embeddings().embedding_dim

    def reset_parameters(self) -> None:
        """Draws what was added anew. The model's weights are learnt already: they stay."""
        reset(self.relations)
        reset(self.terms)
        if self.marks is not None:
            reset_marks(self.marks)

    def add_relations(self, embedding: nn.Module) -> PretrainedEncoder:
        """Lets the encoder read RELATION nodes, which ``resolve("dam")`` makes of arcs.

        Their input is ``embedding(deprel)`` in place of a word embedding; positions, segments, LayerNorm and
        dropout come on top as for words, but neither position nor segment for relation nodes of position -1
        (``resolve("dam", position="none")``). Where there are more nodes than positions, the relation nodes
        beyond the last position share it; words beyond it are refused. The module is moved to the device and
        type of the model.

        Args:
            embedding: Such as :class:`~graphdep.nn.models.RelationEmbedding` with
                :attr:`embedding_channels`.

        Raises:
            ValueError: If the encoder has such a module, its vectors are of another size, or the model takes
                no vectors for nodes.
        """
        if self.relations is not None:
            raise ValueError(f"the encoder has an embedding of relations already: {self.relations}")
        self._check_takes_vectors("relations")
        embedding = embedding.to(self.model.device, self.model.dtype)
        with torch.no_grad():
            size = embedding(torch.zeros(1, dtype=torch.long, device=self.model.device)).size(-1)
        if size != self.embedding_channels:
            raise ValueError(
                f"'embedding' must give vectors of size {self.embedding_channels}, that of the word "
                f"embeddings (got {size})"
            )
        self.relations = embedding.train(self.training)
        return self

    def add_marks(self, number: int) -> PretrainedEncoder:
        """As :meth:`TextEncoder.add_marks`; the vectors are added to the word embeddings, before positions,
        segments and LayerNorm.

        Raises:
            ValueError: As there, or if the model takes no vectors for nodes.
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
        """Lets typed edges change scores and values, by a module of its own for each layer.

        A module is called as ``module(x, edge_index, edge_type)`` and gives
        :class:`~graphdep.nn.attention.EdgeTerms`; ``x [N, C]`` are the states that the layer's attention
        reads, the edges those of the layer. Pairs of a clique that are no edge have no terms, unless the
        module has ``untyped="gate"``: then they are written out as edges of relation NONE. The modules are
        moved to the device and type of the model. A trial on one node and one edge shows whether they fit;
        unless all of them do, none is added.

        Args:
            make: Gives a new module, such as :class:`~graphdep.nn.attention.GatedRelationScore` or
                :class:`~graphdep.nn.attention.RelationKeyValue`. Modules may share relation vectors that one
                of them has for its own.
            layers: Numbers of the layers, from 0. (default: all)

        Raises:
            ValueError: If there is no such layer, it has terms already, layers share their parameters, or
                :obj:`make` gives no new modules, none that fit the model, or relation vectors that are no
                part of the encoder.
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
        """States of [CLS], one an example: the texts of a pair are read together, and neither has a vector.

        Raises:
            ValueError: If an example has no CLS node or several.
        """
        return x.index_select(0, cls_nodes(data))

    def extra_repr(self) -> str:
        own = f"edges={self.layer_edges}, " if self.layer_edges else ""
        windows = "" if self.windows == "own" else f", windows={self.windows!r}"
        return f"{own}backend={self.backend!r}{windows}"

    def forward(self, data: Data, return_layers: bool = False) -> Any:
        x, layers = self._run(data, self._edges_of(data), return_layers)
        return (x, layers) if return_layers else x

    def attention(self, data: Data) -> list[tuple[Tensor, Tensor]]:
        r"""What every layer attends to, for heat maps: ``(pairs, alpha)`` a layer, in evaluation mode.

        Shapes:
            - pairs: :math:`(2, |\mathcal{P}|)`, source -> target; alpha: :math:`(|\mathcal{P}|, H)`
        """
        weights: list[tuple[Tensor, Tensor]] = []
        training = self.training
        self.eval()
        try:
            with torch.no_grad():
                self._run(data, self._edges_of(data, weights), False)
        finally:
            self.train(training)
        return weights

    def to_data(
        self,
        texts: Sequence[str | tuple[str, str]],
        parser: str | Parser = "bundled",
        edges: Edges = "transformer",
        *,
        relations: RelationVocab | None = None,
        roots: str = "all",
        arcs: str = "basic",
        copies: str = "word",
        max_length: int | None = None,
    ) -> Batch:
        """Texts as a batch, one example a text, on the device of the encoder.

        Each text is parsed and becomes one tree. What does not fit is cut in whole words, with one warning;
        ``cut_words`` of the batch has the counts, ``[num_texts, 2]``: those of a text, or of both of a pair.
        Texts without a parse have a chain for a tree and are counted in :attr:`parser_failures`.

        Args:
            texts: Strings, or pairs of strings for examples of two segments.
            parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
            edges: A preset, made with ``implicit=True``, or a transform. (default: ``"transformer"``)
            relations: Ids of relations, e.g. those that a model was trained with.
                (default: a fresh :class:`~graphdep.RelationVocab`)
            roots: Of a text of several sentences ``"all"`` roots stay roots, as in response selection, so
                that words have the depths of their own sentences; or those after the ``"first"`` depend on
                it, as in the tasks on sentences. (default: ``"all"``)
            arcs: ``"basic"`` trees, or ``"enhanced"`` or ``"enhanced++"`` graphs, made of trees for which the
                parser gives none (:func:`graphdep.parsing.enhanced`). (default: ``"basic"``)
            copies: What becomes of the copies of words that enhanced++ graphs may have: ``"word"`` gives
                their arcs to the word, ``"node"`` a node to each. (default: ``"word"``)
            max_length: Nodes of an example at most, without relation nodes. (default: :attr:`max_length`)

        Raises:
            ValueError: If there is no text, an entry is blank or neither a string nor a pair, :obj:`roots`,
                :obj:`arcs` or :obj:`copies` is unknown, or :obj:`max_length` is more than the encoder has
                positions for.
        """
        length = self.max_length if max_length is None else max_length
        if length > self.max_length:
            raise ValueError(
                f"'max_length' must be at most {self.max_length}, the positions there are (got {length})"
            )
        parts = check_texts(texts)
        phrases = isinstance(edges, str) and edges in PHRASE_PRESETS
        trees, self.parser_failures = parse_joined(
            resolve_parser(parser, arcs=arcs, constituents=phrases),
            [text for part in parts for text in part],
            roots=roots,
        )
        ordered = iter(trees if arcs == "basic" else enhance(trees, level=arcs))
        relations = RelationVocab() if relations is None else relations
        options: Any = {"tokens": self.tokens, "max_length": length, "arcs": arcs, "copies": copies}
        options["phrases"] = phrases
        examples = [trees_data([next(ordered) for _ in part], relations, **options) for part in parts]
        batch = Batch.from_data_list(examples)
        warn_of_cuts(batch.cut_words, length)
        return implicit_edges(edges)(batch.to(self.model.device))

    def freeze(self, layers: int = 0, embeddings: bool = True) -> PretrainedEncoder:
        """Takes the first layers out of training, and with them the embeddings unless told otherwise.

        Args:
            layers: How many. (default: :obj:`0`)
            embeddings: Freeze the embeddings. (default: :obj:`True`)

        Raises:
            ValueError: If there are not so many layers, or they share their parameters.
        """
        if not 0 <= layers <= self.num_layers:
            raise ValueError(f"'layers' must be between 0 and {self.num_layers} (got {layers})")
        for parameter, depth in depths(self.model, self.anatomy):
            if (depth == 0 and embeddings) or 1 <= depth <= layers:
                parameter.requires_grad_(False)
        return self

    def parameter_groups(
        self, lr: float, weight_decay: float = 0.01, layer_decay: float = 1.0
    ) -> list[dict[str, Any]]:
        r"""What an optimiser takes, with a learning rate that falls layer by layer from the top.

        .. math::
            \eta_l = \eta \cdot \gamma^{L - l}

        for layers :math:`l = 1, \ldots, L` and the embeddings (:math:`l = 0`), from `"How to Fine-Tune BERT
        for Text Classification?" <https://arxiv.org/abs/1905.05583>`_. Biases and the weights of LayerNorm,
        which have one dimension, do not decay. Frozen parameters are left out; those of a head, and of what
        was added to the model, are the caller's.

        Args:
            lr: :math:`\eta`, of the last layer.
            weight_decay: Weight decay of matrices. (default: :obj:`0.01`)
            layer_decay: :math:`\gamma`. (default: :obj:`1.0`)

        Raises:
            ValueError: If :obj:`layer_decay` is not above 0 and at most 1, or below 1 and the layers share
                their parameters.
        """
        if not 0.0 < layer_decay <= 1.0:
            raise ValueError(f"'layer_decay' must be above 0 and at most 1 (got {layer_decay})")
        top = self.num_layers
        same = ((parameter, top) for parameter in self.model.parameters())
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for parameter, depth in same if layer_decay == 1.0 else depths(self.model, self.anatomy):
            if parameter.requires_grad:
                key = (lr * layer_decay ** (top - depth), weight_decay if parameter.dim() > 1 else 0.0)
                groups.setdefault(key, []).append(parameter)
        return [{"params": params, "lr": rate, "weight_decay": wd} for (rate, wd), params in groups.items()]

    def added_parameters(self) -> list[nn.Parameter]:
        """The parameters that :meth:`parameter_groups` leaves out: those of what was added to the model."""
        return [p for name, p in self.named_parameters() if not name.startswith("model.")]

    def gradient_checkpointing(self, use_reentrant: bool = False) -> PretrainedEncoder:
        """Computes the inside of each layer again in the backward pass instead of keeping it.

        Args:
            use_reentrant: Only :obj:`False`: the reentrant kind loses the gradients of what reaches a layer
                as a keyword.

        Raises:
            ValueError: If :obj:`use_reentrant`.
        """
        if use_reentrant:
            raise ValueError(
                "'use_reentrant' must be False: reentrant checkpoints lose the gradients of edge terms"
            )
        self.model.activation_checkpointing_enable({"use_reentrant": False})
        return self

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes model and tokenizer as transformers has them, in safetensors, for :func:`load_encoder` and
        for others. Edges of single layers and what was added to the model are not kept; of the latter, a
        warning tells.

        Raises:
            ValueError: If :obj:`folder` is a file.
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
        save(folder, self.model, self.tokenizer)

    def _run(self, data: Data, graph: LayerEdges, return_layers: bool) -> tuple[Tensor, list[Tensor]]:
        related = check_nodes(data, self.relations is not None)
        position = positions(data, related, self.max_length)
        if not data.num_nodes:  # which transformers cannot reshape
            x = torch.zeros(0, self.hidden_channels, dtype=self.model.dtype, device=data.input_ids.device)
            if graph.weights is not None:
                nothing = data.input_ids.new_zeros(2, 0), x.new_zeros(0, self.heads)
                graph.weights.extend([nothing] * self.num_layers)
            return x, [x] * (self.num_layers + 1)
        nodes = node_inputs(self.model, self.relations, self.marks, data, related)
        with without_places(self.model, data, related):
            return run_model(self.model, self.anatomy, nodes, position, data.segment, graph, return_layers)

    def _edges_of(self, data: Data, weights: list[tuple[Tensor, Tensor]] | None = None) -> LayerEdges:
        modules = attention_modules(self.model, self.anatomy)
        graph = edges_of_layers(data, modules, self.layer_edges, self.terms, self.backend, weights)
        graph.senders.update(zip(modules, self.senders))
        graph.windows = self.windows
        return graph

    def _resolve_edges(self, edges: Mapping[int, Edges]) -> dict[int, BaseTransform]:
        self._check_layers("edges", edges)
        by_name = {name: implicit_edges(name) for name in set(edges.values())}
        return {number: by_name[name] for number, name in edges.items()}

    def _check_layers(self, argument: str, layers: Iterable[int]) -> None:
        """Raises :class:`ValueError` unless these are layers that can be treated one by one."""
        for number in layers:
            if isinstance(number, bool) or not isinstance(number, int):
                raise ValueError(f"{argument!r} must name layers by their numbers (got {number!r})")
            if not 0 <= number < self.num_layers:
                raise ValueError(
                    f"{argument!r} names layer {number}, but the layers are 0 to {self.num_layers - 1}"
                )
        if layers and self.anatomy.shares_layers:
            raise ValueError(
                f"{argument!r} needs layers of their own: those of {type(self.model).__name__} are one block"
            )
