"""Models of response selection and their further objectives."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter

from graphdep.data.encoded import MANIPULATIONS
from graphdep.data.node_table import NodeType
from graphdep.io.limits import check_between, check_choice, check_count, check_divides
from graphdep.nn.conv.sia_conv import SIAConv
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.embedding import NodeEmbedding
from graphdep.nn.models.transformer import TextEncoder, check_each, example_bounds, example_of, words_of
from graphdep.nn.prepared import kept, no_states, own_layout
from graphdep.transforms.presets import preset_options, resolve
from graphdep.vocab.relations import RelationVocab

READOUTS = ("cls", "mean", "pair")
_FEATURES = {"cls": 1, "mean": 1, "pair": 4}
Loss = tuple[Tensor, int]
"""A mean, and over how many items."""


def draw_as_bert(module: nn.Module) -> None:
    """Draws the linear layers within a module as BERT's are; norms start anew."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=0.02)
            nn.init.zeros_(part.bias)
        elif isinstance(part, nn.LayerNorm):
            part.reset_parameters()


class SelectionModel(nn.Module):
    r"""An encoder and an MLP on the state of each example's [CLS] node, or on means of its words, from
    `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 2).

    .. math::
        g(c, r) = \sigma(\mathbf{W} \mathbf{T}_{[\mathrm{CLS}]} + b)

    The sigmoid is left to the loss: the output are logits. The paper calls this "a simple MLP"; more layers
    than that one are put before it, each with a tanh, as BERT's pooler is.

    With ``readout="mean"`` the mean over the nodes :math:`W` of words takes the place of
    :math:`\mathbf{T}_{[\mathrm{CLS}]}`, all pieces of context and response, without [CLS], [EOU] and [SEP]:

    .. math::
        g(c, r) = \sigma\Big(\mathbf{W} \frac{1}{|W|} \sum_{k \in W} \mathbf{T}_k + b\Big)

    It is no part of the paper. It is there since the [CLS] of an encoder that was made to compare means of
    words, such as MiniLM's, has to be learnt anew, for which a few thousand pairs do not do: the means of the
    encoder before its training then rank better than the state of [CLS] after it.

    With ``readout="pair"`` the means :math:`\mathbf{u}` of the words of the context and :math:`\mathbf{v}` of
    those of the response, which is the last utterance of an example, are compared as sentence encoders
    compare theirs (`InferSent <https://arxiv.org/abs/1705.02364>`_), which is no part of the paper either; a
    side without words is zeros:

    .. math::
        g(c, r) = \sigma\big(\mathbf{W} [\mathbf{u}; \mathbf{v}; |\mathbf{u} - \mathbf{v}|; \mathbf{u} \odot
        \mathbf{v}] + b\big)

    A mean over both texts at once does not tell them apart, so that how alike they are has to be learnt in
    the attention between them: MiniLM, after 8,000 pairs of DailyDialog once, has an R10@1 of .49 with
    ``"mean"`` and of .59 with ``"pair"`` (validation, one seed, standard errors of .02 and .04; the cosine of
    the means of both texts by themselves, before any training, has .66).

    Args:
        encoder: Gives node states; has :attr:`hidden_channels`.
        mlp_layers: Number of linear layers. (default: :obj:`1`, Eq. 2)
        dropout: Dropout probability of what the last linear layer reads. (default: :obj:`0.1`)
        readout: ``"cls"``, ``"mean"`` over words, or ``"pair"`` of means. (default: ``"cls"``, Eq. 2)

    Shapes:
        - data: a batch of :math:`B` examples, for ``"cls"`` with a CLS node each, or one example; output:
          :math:`(B)`

    Raises:
        ValueError: If :obj:`mlp_layers` is below 1, :obj:`readout` is unknown, or for ``"cls"`` an example
            has no CLS node or several.

    Example:
        >>> from graphdep.nn.models import SelectionModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does ."), ("Who sings ?", "The bus is late .")])
        >>> SelectionModel(encoder)(data).shape
        torch.Size([2])
    """

    def __init__(
        self, encoder: nn.Module, *, mlp_layers: int = 1, dropout: float = 0.1, readout: str = "cls"
    ) -> None:
        super().__init__()
        check_count("mlp_layers", mlp_layers, 1)
        check_choice("readout", readout, READOUTS)
        self.readout = readout
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder = encoder
        sizes = [_FEATURES[readout] * size, *[size] * (mlp_layers - 1)]
        hidden = [module for pair in pairwise(sizes) for module in (nn.Linear(*pair), nn.Tanh())]
        self.mlp = nn.Sequential(*hidden, Dropout(dropout), nn.Linear(sizes[-1], 1))
        draw_as_bert(self.mlp)  # the encoder comes with its weights

    def reset_parameters(self) -> None:
        """Draws everything anew, the MLP as BERT's layers are, added relations and terms too; pretrained
        weights stay.
        """
        reset(self.encoder)
        draw_as_bert(self.mlp)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        self._read(data, no_states(data))
        if "kind" in data:
            pairs_of_kinds(data)

    def forward(self, data: Data) -> Tensor:
        return self.score(data, self.encoder(data))

    def score(self, data: Data, x: Tensor) -> Tensor:
        """The logits of examples, of the states of their nodes."""
        return self.mlp(self._read(data, x)).squeeze(-1)

    def _read(self, data: Data, x: Tensor) -> Tensor:
        if self.readout == "cls":
            return x.index_select(0, cls_nodes(data))
        if self.readout == "mean":
            return _word_means(data, x, words_of(data))
        u, v = (_word_means(data, x, words) for words in _words_of_sides(data))
        return torch.cat([u, v, (u - v).abs(), u * v], dim=-1)

    def training_losses(self, data: Data) -> tuple[Tensor, dict[str, Loss]]:
        """The logits of the pairs of a training batch, and by its name each further loss that a model of
        other objectives has, with the number of items that it is the mean over; here there is none.
        """
        return self(data), {}

    def extra_repr(self) -> str:
        return f"readout={self.readout!r}"


def _of_response(data: Data) -> Tensor:
    """Which nodes are of the last utterance of their example: not those of segment 1, where segments are
    speakers.
    """
    example = example_of(data)
    last = scatter(data.utterance, example, dim_size=example_bounds(data).numel() - 1, reduce="max")
    return data.utterance == last[example]


@kept
def _words_of_sides(data: Data) -> tuple[Tensor, Tensor]:
    """The words of contexts and those of responses."""
    words = words_of(data)
    response = _of_response(data)[words]
    return words[~response], words[response]


def _word_means(data: Data, x: Tensor, words: Tensor) -> Tensor:
    """The mean over some nodes of every example; zeros where there are none."""
    example = example_of(data)[words]
    size = example_bounds(data).numel() - 1
    return scatter(x.index_select(0, words), example, dim_size=size, reduce="mean")


def selected_pairs(data: Data, logits: Tensor) -> Tensor:
    """The logits of the pairs alone, where a batch has examples of other objectives, too (``kind`` not 0)."""
    return logits.index_select(0, pairs_of_kinds(data)) if "kind" in data else logits


@torch.compiler.disable  # reads values
@kept
def pairs_of_kinds(data: Data) -> Tensor:
    """The examples that are pairs, of a batch with examples of other objectives."""
    return (data.kind == 0).nonzero().view(-1)


@torch.compiler.disable  # reads values
@kept
def cls_nodes(data: Data) -> Tensor:
    """The CLS node of every example."""
    cls = (data.node_type == NodeType.CLS).nonzero().view(-1)
    check_each(torch.searchsorted(cls, example_bounds(data)).diff(), 1, "an example has one CLS node")
    return cls


BLOCKS = ("attention", "bert")


class SIA(TextEncoder):
    r"""Syntax-Informed Attention around an encoder, from `"Improving Retrieval-based Dialogue System via
    Syntax-Informed Attention" <https://arxiv.org/abs/2303.06605>`_ (Eq. 6).

    .. math::
        \mathbf{H}' = \mathbf{H} + \mathbf{H}^{\mathrm{SIA}}, \quad
        \mathbf{H}^{\mathrm{SIA}} = \mathrm{SIAConv}_2(\mathrm{SIAConv}_1(\mathbf{H}^{(k)}))

    where :math:`\mathbf{H}^{(k)}` is the output of the encoder's :math:`k`-th block and :math:`\mathbf{H}`
    that of its last. The new layers attend over edges of their own, which are derived once a forward pass
    from the trees of the data; the encoder keeps to the edges of the data. For Table 2's rows take
    ``edges="transformer"`` (vanilla attention), ``"sia-intra"``, ``"sia-inter"`` or ``"sia"``; for a control
    without syntax a ``Compose`` of a tree transform and ``resolve("sia")``.

    The paper says no more of the new layers than "two stacked multi-head self-attention layers" and Eq. 5. So
    ``block="attention"`` is Eq. 5 and nothing else: no skip, output projection or norm. ``block="bert"``
    makes of each the attention part of a BERT block,
    :math:`\mathrm{LN}(\mathbf{x} + \mathbf{W}_o \, \mathrm{SIAConv}(\mathbf{x}))`. New weights are drawn as
    BERT's are (normal, standard deviation 0.02; biases 0). Untrained layers then change little with
    ``"attention"``: on a pretrained MiniLM :math:`\mathbf{H}^{\mathrm{SIA}}` is 0.13 times as long as
    :math:`\mathbf{H}`. With ``"bert"``, whose norm sets the length, it is 3 times as long.

    Args:
        encoder: Gives node states, with ``return_layers=True`` those of all layers too; has
            :attr:`hidden_channels`, :attr:`num_layers`, :attr:`heads`.
        layer: :math:`k`, counted from 1; 0 are the embeddings. (default: the middle, so the paper's 6 of 12)
        max_sum: :math:`m` of Eq. 4, of presets that have it; the paper does not say which it takes.
            (default: :obj:`4` with such a preset)
        edges: Edges of the new layers: the name of a preset or a transform, which keeps the nodes.
            (default: ``"sia"``)
        sia_layers: Number of new layers. (default: :obj:`2`)
        heads: Their attention heads. (default: those of the encoder)
        mask: ``"additive"``, or ``"multiplicative"`` for Eq. 5 read literally, see
            :class:`~graphdep.nn.conv.SIAConv`. (default: ``"additive"``)
        block: ``"attention"`` or ``"bert"``. (default: ``"attention"``)
        dropout: Dropout probability of attention weights, and of the output projection. (default: :obj:`0.1`)

    Attributes:
        num_layers: Number of the encoder's layers.

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch that the encoder takes; output
          :math:`(|\mathcal{V}|, C)`; with :obj:`return_layers` also the states of the encoder's layers, the
          last one replaced by the output

    Raises:
        ValueError: If :obj:`encoder` lacks an attribute, an option is none of those, :obj:`heads` does not
            divide the channels, :obj:`max_sum` is given with edges that have none, or the edges change the
            nodes or join two examples.

    Example:
        >>> from graphdep.nn.models import SIA
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> model = SIA(encoder, max_sum=4)
        >>> data = encoder.to_data([("Who sings ?", "She does .")])
        >>> model(data).shape == (data.num_nodes, encoder.hidden_channels)
        True
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        layer: int | None = None,
        max_sum: int | None = None,
        edges: str | BaseTransform = "sia",
        sia_layers: int = 2,
        heads: int | None = None,
        mask: str = "additive",
        block: str = "attention",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        depth, size = _attribute(encoder, "num_layers"), _attribute(encoder, "hidden_channels")
        heads = _attribute(encoder, "heads") if heads is None else heads
        layer = max(depth // 2, 1) if layer is None else layer
        check_between("layer", layer, 0, depth)
        check_count("sia_layers", sia_layers, 1)
        check_divides("heads", heads, "hidden_channels", size)
        check_choice("block", block, BLOCKS)
        self.encoder, self.layer, self.heads = encoder, layer, heads
        self.hidden_channels, self.num_layers = size, depth
        self.edges = _resolve(edges, max_sum, implicit=mask != "multiplicative")
        convs = (SIAConv(size, size // heads, heads, mask=mask, dropout=dropout) for _ in range(sia_layers))
        self.layers = nn.ModuleList(_BertBlock(conv, dropout) if block == "bert" else conv for conv in convs)
        draw_as_bert(self.layers)  # the encoder comes with its weights

    def reset_parameters(self) -> None:
        """Draws everything anew, added relations and terms too; pretrained weights stay."""
        reset(self.encoder)
        draw_as_bert(self.layers)

    def add_marks(self, number: int) -> SIA:
        """As :meth:`TextEncoder.add_marks`, of the encoder."""
        self.encoder.add_marks(number)  # type: ignore[operator]
        return self

    def readout(self, data: Data, x: Tensor) -> Tensor:
        """As the encoder's: of a pretrained one the states of [CLS], else of the ROOT nodes."""
        return self.encoder.readout(data, x)  # type: ignore[operator]

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        own_layout(data, self.edges, SIAConv.reads)

    def forward(self, data: Data, return_layers: bool = False) -> Tensor | tuple[Tensor, list[Tensor]]:
        x, layers = self.encoder(data, return_layers=True)
        layout = own_layout(data, self.edges, SIAConv.reads)
        state = layers[self.layer]
        for layer in self.layers:
            state = layer(state, layout)
        x = x + state
        return (x, [*layers[:-1], x]) if return_layers else x

    @torch.no_grad()
    def attention(self, data: Data) -> list[tuple[Tensor, Tensor]]:
        """Per new layer the pairs ``[2, num_pairs]``, source -> target, and their weights
        ``[num_pairs, heads]``, in evaluation mode.
        """
        training = self.training
        self.eval()
        try:
            state = self.encoder(data, return_layers=True)[1][self.layer]
            layout, weights = own_layout(data, self.edges, SIAConv.reads), []
            for layer in self.layers:
                state, alpha = layer(state, layout, return_attention_weights=True)
                weights.append(alpha)
        finally:
            self.train(training)
        return weights

    def extra_repr(self) -> str:
        return f"layer={self.layer}, edges={self.edges!r}"


class _BertBlock(nn.Module):
    """The attention part of a BERT block."""

    def __init__(self, conv: SIAConv, dropout: float) -> None:
        super().__init__()
        size = conv.in_channels
        self.conv, self.lin_out = conv, nn.Linear(size, size)
        self.norm, self.dropout = nn.LayerNorm(size, eps=1e-12), Dropout(dropout)

    def forward(self, x: Tensor, *args: Any, return_attention_weights: bool = False, **kwargs: Any) -> Any:
        out = self.conv(x, *args, return_attention_weights=return_attention_weights, **kwargs)
        out, weights = out if return_attention_weights else (out, None)
        out = self.norm(x + self.dropout(self.lin_out(out)))
        return (out, weights) if return_attention_weights else out


def _attribute(encoder: nn.Module, name: str) -> int:
    if not hasattr(encoder, name):
        raise ValueError(f"'encoder' ({type(encoder).__name__}) has no {name!r}: SIA reads one of its layers")
    return getattr(encoder, name)


def _resolve(edges: str | BaseTransform, max_sum: int | None, implicit: bool) -> BaseTransform:
    """A preset with those of the options that it has, or a transform as it is."""
    known = preset_options(edges) if isinstance(edges, str) else ()
    options: dict[str, Any] = {"implicit": implicit} if isinstance(edges, str) else {}
    if max_sum is not None:
        options["max_sum"] = max_sum
        if "max_sum" not in known:
            raise ValueError(
                f"'max_sum' is given ({max_sum}), but 'edges' does not take it (got "
                f"{repr(edges) if isinstance(edges, str) else type(edges).__name__})"
            )
    return resolve(edges, **options)


SUBJECTS = ("nsubj", "csubj", "expl")
OBJECTS = ("obj", "iobj")


class StructuralDialogueModel(SelectionModel):
    r"""A :class:`SelectionModel` that also restores the order of shuffled utterances and keeps subject, verb
    and object of a sentence together, from `"Structural Pre-training for Dialogue Comprehension"
    <https://arxiv.org/abs/2105.10956>`_ (SPIDER).

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \lambda_1 \mathcal{L}_{\mathrm{order}}
        + \lambda_2 \mathcal{L}_{\mathrm{backbone}}

    .. math::
        \mathcal{L}_{\mathrm{order}} = \frac{1}{|U|} \sum_{u \in U}
        \mathrm{CE}(\mathbf{W} \mathbf{h}_{[\mathrm{EOU}]_u} + \mathbf{b}, o_u), \quad
        \mathcal{L}_{\mathrm{backbone}} = \frac{1}{|T|} \sum_{(s, v, o) \in T}
        1 - \cos(\mathbf{h}_s + \mathbf{h}_v, \mathbf{h}_o)

    :math:`U` are the utterances of a batch's shuffled contexts and :math:`o_u` the number that each had;
    :math:`T` are the triples in its pairs, in context and response, each word being its first piece. The
    weights are :class:`~graphdep.tasks.SelectionTask`'s.

    A triple is two arcs from one word: to a subject (nsubj, csubj, expl and their subtypes) and to an object
    (obj, iobj and theirs), in the tree that the edges are made of, controls included. The public code finds
    triples by rules over spaCy's trees, which also follow "and" and verbs below verbs (xcomp) and take the
    predicate of a copula for an object, and looks for their words in the text again, the first ones first;
    of these rules only the arcs are here. There only verbs count, with subjects to their left and objects to
    their right, a verb without a subject takes that of a verb above it, and a pair has ten triples at most;
    here any governor counts, wherever the two stand, and there is no limit.

    Examples have the layout of SIA's paper, and with ``readout="cls"`` pairs are scored by [CLS] as it is: in
    the public code the response stands before the context, and BERT's pooler reads [CLS]. It trains with
    examples of 384 nodes, a rate of 3e-5, batches of 64 and two epochs; the preset has the settings of
    BERT-FP's code (256, 1e-5, 32, two), as the rows that it is compared with.

    That the method is for a further pre-training as well, with masked words, is not built: go on from
    :class:`PostTrainingModel`'s encoder instead.

    Args:
        encoder: As of :class:`SelectionModel`.
        places: Utterances that can be told apart. (default: :obj:`20`)
        **options: As of :class:`SelectionModel`.

    Shapes:
        - data: as of :class:`SelectionModel`; output :math:`(B)`. Of :meth:`training_losses` a batch that
          also has ``kind`` :math:`(B)`, 0 of pairs, and ``order_target`` :math:`(|\mathcal{V}|)`, a number
          below :obj:`places` or -100; output the logits of the pairs alone, and both losses

    Raises:
        ValueError: As :class:`SelectionModel`, or if :obj:`places` is below 2 or no whole number.

    Example:
        >>> from graphdep.nn.models import StructuralDialogueModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does ."), ("Who sings ?", "The bus is late .")])
        >>> StructuralDialogueModel(encoder)(data).shape
        torch.Size([2])
    """

    subjects: Tensor
    objects: Tensor

    def __init__(
        self,
        encoder: nn.Module,
        *,
        places: int = 20,
        mlp_layers: int = 1,
        dropout: float = 0.1,
        readout: str = "cls",
    ) -> None:
        check_count("places", places, 2)
        super().__init__(encoder, mlp_layers=mlp_layers, dropout=dropout, readout=readout)
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.order = nn.Linear(size, places)
        draw_as_bert(self.order)

    def reset_parameters(self) -> None:
        """As of :class:`SelectionModel`, and what the order is told by."""
        super().reset_parameters()
        draw_as_bert(self.order)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        super().prepare_batch(data, device)
        if "order_target" in data:
            _asked(data)
            triples(data)

    def training_losses(self, data: Data) -> tuple[Tensor, dict[str, Loss]]:
        x = self.encoder(data)
        losses = {"order": self._order(data, x), "backbone": self._backbone(data, x)}
        return selected_pairs(data, self.score(data, x)), losses

    def _order(self, data: Data, x: Tensor) -> Loss:
        """The mean over utterances; zero where none is asked for, with gradients of zero."""
        asked = _asked(data)
        logits = self.order(x.index_select(0, asked)).float()
        loss = F.cross_entropy(logits, data.order_target[asked], reduction="sum")
        return loss / max(1, asked.numel()), asked.numel()

    def _backbone(self, data: Data, x: Tensor) -> Loss:
        """The mean over triples; zero where there is none."""
        subject, verb, other = triples(data)
        subjects, verbs, others = (x.index_select(0, nodes) for nodes in (subject, verb, other))
        near = F.cosine_similarity((subjects + verbs).float(), others.float())
        return (1 - near).sum() / max(1, subject.numel()), subject.numel()


@torch.compiler.disable  # reads values
@kept
def triples(data: Data) -> Tensor:
    r"""Subject, verb and object of the pairs of a batch: first pieces, :math:`(3, |T|)`."""
    (verbs, below), kind = data.arc_index, data.arc_type
    pair = data.kind[data.batch[below]] == 0
    subject, object_ = (
        (pair & torch.isin(kind, _ids(labels).to(kind.device))).nonzero().view(-1)
        for labels in (SUBJECTS, OBJECTS)
    )
    first, second = (verbs[subject][:, None] == verbs[object_]).nonzero(as_tuple=True)
    return torch.stack([below[subject[first]], verbs[subject[first]], below[object_[second]]])


@torch.compiler.disable  # reads values
@kept
def _asked(data: Data) -> Tensor:
    return (data.order_target >= 0).nonzero().view(-1)


@functools.cache
def _ids(bases: tuple[str, ...]) -> Tensor:
    """The ids of relations and of all their subtypes that are known."""
    relations = RelationVocab()
    labels = [relations.label(number) for number in range(len(relations))]
    known = {label: number for number, label in enumerate(labels) if not label.endswith("^-1")}
    return torch.tensor([number for label, number in known.items() if label.partition(":")[0] in bases])


SPEAKERS = ("added", "segments")


class SpeakerSelectionModel(SelectionModel):
    r"""A :class:`SelectionModel` whose encoder knows the two speakers of a dialogue apart, as speaker
    segmentation does, from `"Improving Contextual Language Models for Response Retrieval in Multi-Turn
    Conversation" <https://doi.org/10.1145/3397271.3401255>`_ (SS-DA).

    .. math::
        \mathbf{h}^0_k = \mathbf{e}_k + \mathbf{p}_k + \mathbf{s}_k + \mathbf{v}_{a(k)}

    where :math:`a(k)` is the speaker of node :math:`k`'s utterance: the speakers take turns, and the response
    is the second one's. With ``speakers="added"`` both have a vector of their own beside those of the
    encoder, drawn at random, of whose vocabulary nothing changes; [CLS] and [SEP] are nobody's and have none.
    With ``speakers="segments"`` they take the place of the segments :math:`\mathbf{s}_k`, whose vectors the
    encoder has, and there are no others.

    Which of the two the paper has is not known here: its abstract says that speakers are told apart, and no
    public code is known. RoBERTa, its best encoder, has a single segment, so that ``"segments"`` is not for
    it.

    Args:
        encoder: As of :class:`SelectionModel`; with ``"added"`` it is given marks
            (:meth:`~graphdep.nn.models.TextEncoder.add_marks`).
        speakers: ``"added"`` or ``"segments"``. (default: ``"added"``)
        **options: As of :class:`SelectionModel`.

    Shapes:
        - data: as of :class:`SelectionModel`, with ``"added"`` also ``mark`` :math:`(|\mathcal{V}|)`: 1 and 2
          of the speakers, 0 of nobody; with ``"segments"`` its ``segment`` is the speaker; output :math:`(B)`

    Raises:
        ValueError: As :class:`SelectionModel`, or if :obj:`speakers` is unknown, or the encoder has not what
            it needs.

    Example:
        >>> from graphdep.nn.models import SpeakerSelectionModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does ."), ("Who sings ?", "The bus is late .")])
        >>> data.mark = 1 + data.segment
        >>> SpeakerSelectionModel(encoder)(data).shape
        torch.Size([2])
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        speakers: str = "added",
        mlp_layers: int = 1,
        dropout: float = 0.1,
        readout: str = "cls",
    ) -> None:
        check_choice("speakers", speakers, SPEAKERS)
        if speakers == "segments" and (number := _segments(encoder)) < 2:
            raise ValueError(f"speakers='segments' needs two segments: the encoder has {number}")
        super().__init__(encoder, mlp_layers=mlp_layers, dropout=dropout, readout=readout)
        if speakers == "added":  # at last, so that a refused option leaves the encoder as it was
            encoder.add_marks(3)  # type: ignore[operator]
        self.speakers = speakers

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, speakers={self.speakers!r}"


def _segments(encoder: nn.Module) -> int:
    """How many segments an encoder has vectors of."""
    names = ("token_type_embeddings", "embedding.segment")
    tables = [module for name, module in encoder.named_modules() if name.endswith(names)]
    return max((table.num_embeddings for table in tables if isinstance(table, nn.Embedding)), default=0)


LOSSES = ("sigmoid", "softmax")


class UtteranceManipulationModel(SelectionModel):
    r"""A :class:`SelectionModel` that also learns from dialogues in which an utterance was moved, put in or
    looked for, from `"Do Response Selection Models Really Know What's Next? Utterance Manipulation Strategies
    for Multi-turn Response Selection" <https://arxiv.org/abs/2009.04703>`_ (UMS).

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \alpha\, \mathcal{L}_{\mathrm{ins}}
        + \beta\, \mathcal{L}_{\mathrm{del}} + \gamma\, \mathcal{L}_{\mathrm{srch}}, \quad
        \mathcal{L}_{k} = \frac{1}{|E_k|} \sum_{e \in E_k} \frac{1}{|S_e|} \sum_{s \in S_e}
        \mathrm{BCE}(\sigma(\mathbf{w}_k^{\top} \mathbf{h}_s + b_k), y_s)

    over the examples :math:`E_k` of each kind, as :mod:`graphdep.data.encoded` makes them, whose
    symbols :math:`S_e` are the places that the answer may be; one of them has :math:`y_s = 1`. With
    ``loss="softmax"`` each example has the cross entropy over its symbols, the public code's other way. The
    weights are :class:`~graphdep.tasks.SelectionTask`'s.

    The vocabulary of the encoder does not grow: [INS], [DEL] and [SRCH] are the piece of [EOU] with a vector
    of their own added to it, drawn at random. The public code adds three tokens with random vectors to the
    table instead. All that is scored later has none of them.

    Examples have the layout of SIA's paper; with ``readout="cls"`` pairs are scored by [CLS] as it is: the
    public code puts its [EOT] behind the response and behind the utterance that is asked for as well, where
    here is [SEP] alone. It trains with examples of 512 nodes, a rate of 3e-5, dropout of .2, five epochs and
    no weight decay; the preset has the settings of BERT-FP's code (256, 1e-5, .1, two, .01), as the rows that
    it is compared with.

    Args:
        encoder: As of :class:`SelectionModel`; it is given marks
            (:meth:`~graphdep.nn.models.TextEncoder.add_marks`).
        loss: ``"sigmoid"`` or ``"softmax"``. (default: ``"sigmoid"``)
        **options: As of :class:`SelectionModel`.

    Shapes:
        - data: as of :class:`SelectionModel`, with ``mark`` :math:`(|\mathcal{V}|)`; output :math:`(B)`. Of
          :meth:`training_losses` a batch that also has ``kind`` :math:`(B)`, 0 of pairs and :math:`k` of the
          :math:`k`-th manipulation, and ``mark_target`` :math:`(|\mathcal{V}|)`; output the logits of the
          pairs alone and a loss for each manipulation

    Raises:
        ValueError: As :class:`SelectionModel`, or if :obj:`loss` is unknown, or the encoder has marks or
            takes none.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import UtteranceManipulationModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does ."), ("Who sings ?", "The bus is late .")])
        >>> data.mark = torch.zeros_like(data.input_ids)
        >>> UtteranceManipulationModel(encoder)(data).shape
        torch.Size([2])
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        loss: str = "sigmoid",
        mlp_layers: int = 1,
        dropout: float = 0.1,
        readout: str = "cls",
    ) -> None:
        check_choice("loss", loss, LOSSES)
        super().__init__(encoder, mlp_layers=mlp_layers, dropout=dropout, readout=readout)
        # Behind all checks: a wrong option leaves the encoder as it was.
        encoder.add_marks(1 + len(MANIPULATIONS))  # type: ignore[operator]
        self.loss = loss
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        heads = {name: nn.Sequential(Dropout(dropout), nn.Linear(size, 1)) for name in MANIPULATIONS}
        self.manipulations = nn.ModuleDict(heads)
        draw_as_bert(self.manipulations)

    def reset_parameters(self) -> None:
        """As of :class:`SelectionModel`, and what manipulations add."""
        super().reset_parameters()
        draw_as_bert(self.manipulations)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        super().prepare_batch(data, device)
        if "mark_target" in data:
            for mark in range(1, 1 + len(MANIPULATIONS)):
                _symbols(data, mark)
                _number_of_kind(data, mark)

    def training_losses(self, data: Data) -> tuple[Tensor, dict[str, Loss]]:
        x = self.encoder(data)
        losses = {
            name: self._manipulated(data, x, name, mark) for mark, name in enumerate(MANIPULATIONS, start=1)
        }
        return selected_pairs(data, self.score(data, x)), losses

    def _manipulated(self, data: Data, x: Tensor, name: str, mark: int) -> Loss:
        """The mean over the examples of a kind; zero where there is none, with gradients of zero."""
        symbols = _symbols(data, mark)
        logits = self.manipulations[name](x.index_select(0, symbols)).squeeze(-1).float()
        target, example = data.mark_target[symbols], data.batch[symbols]
        if self.loss == "softmax":
            each = -target * (logits - _log_sums(logits, example, data.num_graphs)[example])
        else:
            each = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
            each = each / scatter(torch.ones_like(each), example, dim_size=data.num_graphs)[example]
        examples = _number_of_kind(data, mark)
        return each.sum() / max(1, examples), examples

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, loss={self.loss!r}"


@torch.compiler.disable  # reads values
@kept
def _symbols(data: Data, mark: int) -> Tensor:
    return (data.mark == mark).nonzero().view(-1)


@torch.compiler.disable  # reads values
@kept
def _number_of_kind(data: Data, mark: int) -> int:
    return int((data.kind == mark).sum())


def _log_sums(logits: Tensor, example: Tensor, size: int) -> Tensor:
    """The logarithm of the sum of the exponentials of each example's logits."""
    top = scatter(logits.detach(), example, dim_size=size, reduce="max")
    return top + scatter((logits - top[example]).exp(), example, dim_size=size).clamp(min=1e-30).log()


class MaskedWordHead(nn.Module):
    r"""Scores every piece for a masked node with the encoder's own input vectors, as BERT does.

    .. math::
        \mathbf{z} = \mathbf{E} \, \mathrm{LN}(\mathrm{gelu}(\mathbf{W} \mathbf{h} + \mathbf{b})) + \mathbf{c}

    Args:
        in_channels: Size of the node states.
        num_words: Number of input vectors.
        dim: Size of the input vectors :math:`\mathbf{E}`. (default: :obj:`in_channels`)
        eps: Of the LayerNorm. (default: :obj:`1e-12`)

    Shapes:
        - x: :math:`(N, C)`; weight: the input vectors, :math:`(|\mathcal{W}|, d)`; output:
          :math:`(N, |\mathcal{W}|)`

    Example:
        >>> import torch
        >>> from graphdep.nn.models import MaskedWordHead
        >>> input_vectors = torch.randn(50, 8)
        >>> MaskedWordHead(8, 50)(torch.randn(3, 8), input_vectors).shape
        torch.Size([3, 50])
    """

    def __init__(
        self, in_channels: int, num_words: int, dim: int | None = None, *, eps: float = 1e-12
    ) -> None:
        super().__init__()
        self.lin = nn.Linear(in_channels, in_channels if dim is None else dim)
        self.norm = nn.LayerNorm(self.lin.out_features, eps=eps)
        self.bias = nn.Parameter(self.lin.weight.new_zeros(num_words))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws its own parameters as BERT's are; the input vectors are the encoder's."""
        draw_as_bert(self)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.linear(self.norm(F.gelu(self.lin(x))), weight, self.bias)


NUM_LABELS = 3


class PostTrainingModel(nn.Module):
    r"""An encoder with the two heads of `"Fine-grained Post-training for Improving Retrieval-based Dialogue
    Systems" <https://aclanthology.org/2021.naacl-main.122/>`_ (BERT-FP): masked words, and the relevance of
    the response to the context in three classes.

    .. math::
        \mathbf{z}_i = \mathrm{MLM}(\mathbf{h}_i), \quad
        \mathbf{r} = \mathbf{W}_r \tanh(\mathbf{W}_p \mathbf{h}_{\mathrm{CLS}} + \mathbf{b}_p) + \mathbf{b}_r

    with BERT's :class:`MaskedWordHead`, which shares the encoder's input vectors, and BERT's pooler before
    the relevance, as in the public code. Both heads are left behind after post-training. They start anew;
    :func:`graphdep.nn.pretrained.load_masked_word_head` takes the first from a checkpoint that has one.

    Only masked nodes have word logits: there is never a tensor of all nodes and all words.

    Args:
        encoder: Gives node states and has :attr:`hidden_channels`:
            :class:`~graphdep.nn.pretrained.PretrainedEncoder` or :class:`GraphTransformer`.

    Shapes:
        - data: a batch of :math:`B` samples of :class:`~graphdep.datasets.PostTrainingDataset`, of whose
          nodes :math:`M` are asked for (``mlm_target >= 0``)
        - outputs: word logits :math:`(M, |\mathcal{W}|)` in the order of the nodes, and relevance logits
          :math:`(B, 3)`

    Raises:
        ValueError: If the encoder has no table of input vectors, or an example has no CLS node or several.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import PostTrainingModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does .")])
        >>> data.mlm_target = torch.full_like(data.input_ids, -1).index_fill_(0, torch.tensor([1, 2]), 7)
        >>> [out.shape[0] for out in PostTrainingModel(encoder)(data)]
        [2, 1]
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        num_words, dim = word_vectors(encoder).weight.shape
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder = encoder
        self.words = MaskedWordHead(size, num_words, dim)
        self.pool = nn.Linear(size, size)
        self.relevance = nn.Linear(size, NUM_LABELS)
        self._reset_heads()  # the encoder comes with its weights

    def reset_parameters(self) -> None:
        """Draws everything anew, the heads as BERT's are, added relations and terms too; pretrained weights
        stay.
        """
        reset(self.encoder)
        self._reset_heads()

    def _reset_heads(self) -> None:
        self.words.reset_parameters()
        draw_as_bert(self.pool)
        draw_as_bert(self.relevance)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        masked_nodes(data)
        cls_nodes(data)

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        x = self.encoder(data)
        masked = x.index_select(0, masked_nodes(data))
        cls = x.index_select(0, cls_nodes(data))
        words = self.words(masked, word_vectors(self.encoder).weight)
        return words, self.relevance(self.pool(cls).tanh())


@torch.compiler.disable  # reads values
@kept
def masked_nodes(data: Data) -> Tensor:
    """The nodes whose word is asked for."""
    return (data.mlm_target >= 0).nonzero().view(-1)


def word_vectors(encoder: nn.Module) -> nn.Embedding:
    """The table of an encoder's input vectors.

    Raises:
        ValueError: If it has none.
    """
    embedding = getattr(encoder, "embedding", None)
    if isinstance(embedding, NodeEmbedding):
        return embedding.word
    model: Any = getattr(encoder, "model", None)
    return model.get_input_embeddings()
