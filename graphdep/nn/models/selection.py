"""Models of response selection and their auxiliary objectives."""

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
from graphdep.nn.passes import evaluating
from graphdep.nn.prepared import kept, no_states, own_layout
from graphdep.transforms.presets import preset_options, resolve
from graphdep.vocab.relations import RelationVocab

READOUTS = ("cls", "mean", "pair")
_FEATURES = {"cls": 1, "mean": 1, "pair": 4}
Loss = tuple[Tensor, int]
"""A mean loss, and the number of its items."""


def draw_as_bert(module: nn.Module) -> None:
    """Draws the linear layers of a module like BERT's; norms are reset."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=0.02)
            nn.init.zeros_(part.bias)
        elif isinstance(part, nn.LayerNorm):
            part.reset_parameters()


class SelectionModel(nn.Module):
    r"""An encoder with an MLP on the [CLS] state of each example, or on means over its words, from
    `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 2).

    .. math::
        g(c, r) = \sigma(\mathbf{W} \mathbf{T}_{[\mathrm{CLS}]} + b)

    The output is logits; the loss applies the sigmoid. The paper calls this layer "a simple MLP"; further
    layers come before it, each with a tanh, like BERT's pooler.

    With ``readout="mean"``, :math:`\mathbf{T}_{[\mathrm{CLS}]}` is replaced by the mean over the nodes
    :math:`W` of all pieces of context and response, without [CLS], [EOU] and [SEP]:

    .. math::
        g(c, r) = \sigma\Big(\mathbf{W} \frac{1}{|W|} \sum_{k \in W} \mathbf{T}_k + b\Big)

    This readout is not in the paper. An encoder that was trained to compare means of words, such as MiniLM,
    has to learn its [CLS] state anew, and a few thousand pairs are not enough: means of the untrained encoder
    then rank better than the trained [CLS] state.

    With ``readout="pair"``, the mean :math:`\mathbf{u}` over the words of the context and the mean
    :math:`\mathbf{v}` over those of the response (the last utterance) are compared as in sentence encoders
    (`InferSent <https://arxiv.org/abs/1705.02364>`_). This is not in the paper, either. The mean of a side
    without words is zeros:

    .. math::
        g(c, r) = \sigma\big(\mathbf{W} [\mathbf{u}; \mathbf{v}; |\mathbf{u} - \mathbf{v}|; \mathbf{u} \odot
        \mathbf{v}] + b\big)

    A mean over both texts mixes them, so the attention between them must learn their similarity: after one
    pass over 8,000 pairs of DailyDialog, MiniLM has an R10@1 of .49 with ``"mean"`` and of .59 with
    ``"pair"`` (validation, one seed, standard errors of .02 and .04; the cosine of the two separate means,
    before any training, has .66).

    Args:
        encoder: Computes node states; has :attr:`hidden_channels`.
        mlp_layers: Number of linear layers. (default: :obj:`1`, Eq. 2)
        dropout: Dropout probability before the last linear layer. (default: :obj:`0.1`)
        readout: ``"cls"``, ``"mean"`` over words, or ``"pair"`` of means. (default: ``"cls"``, Eq. 2)

    Shapes:
        - data: one example or a batch of :math:`B` examples, with one CLS node each for ``"cls"``; output:
          :math:`(B)`

    Raises:
        ValueError: If :obj:`mlp_layers` is below 1, :obj:`readout` is unknown, or for ``"cls"`` an example
            does not have one CLS node.

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
        draw_as_bert(self.mlp)  # the encoder keeps its weights

    def reset_parameters(self) -> None:
        """Resets all parameters, the MLP like BERT's layers, including added relations and terms;
        pretrained weights stay.
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
        """The logits of the examples, from the states of their nodes."""
        return self.mlp(self._read(data, x)).squeeze(-1)

    def _read(self, data: Data, x: Tensor) -> Tensor:
        if self.readout == "cls":
            return x.index_select(0, cls_nodes(data))
        if self.readout == "mean":
            return _word_means(data, x, words_of(data))
        u, v = (_word_means(data, x, words) for words in _context_and_response_words(data))
        return torch.cat([u, v, (u - v).abs(), u * v], dim=-1)

    def training_losses(self, data: Data) -> tuple[Tensor, dict[str, Loss]]:
        """The logits of the pairs of a training batch, and the auxiliary losses of the model by name, each
        with its number of items; by default there are none.
        """
        return self(data), {}

    def extra_repr(self) -> str:
        return f"readout={self.readout!r}"


def _in_response(data: Data) -> Tensor:
    """Whether each node is in the last utterance of its example (a segment may be a speaker instead)."""
    example = example_of(data)
    last = scatter(data.utterance, example, dim_size=example_bounds(data).numel() - 1, reduce="max")
    return data.utterance == last[example]


@kept
def _context_and_response_words(data: Data) -> tuple[Tensor, Tensor]:
    """The words of contexts and the words of responses."""
    words = words_of(data)
    response = _in_response(data)[words]
    return words[~response], words[response]


def _word_means(data: Data, x: Tensor, words: Tensor) -> Tensor:
    """The mean over the given nodes of each example; zeros without such nodes."""
    example = example_of(data)[words]
    size = example_bounds(data).numel() - 1
    return scatter(x.index_select(0, words), example, dim_size=size, reduce="mean")


def selected_pairs(data: Data, logits: Tensor) -> Tensor:
    """The logits of pairs only, if a batch also has examples of other objectives (``kind`` not 0)."""
    return logits.index_select(0, pairs_of_kinds(data)) if "kind" in data else logits


@torch.compiler.disable  # reads values
@kept
def pairs_of_kinds(data: Data) -> Tensor:
    """The examples that are pairs, in a batch that also has examples of other objectives."""
    return (data.kind == 0).nonzero().view(-1)


@torch.compiler.disable  # reads values
@kept
def cls_nodes(data: Data) -> Tensor:
    """The CLS node of each example."""
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
    that of its last. The new layers have their own edges, which are built from the trees of the data once per
    forward pass; the encoder uses the edges of the data. For the rows of Table 2 use ``edges="transformer"``
    (vanilla attention), ``"sia-intra"``, ``"sia-inter"`` or ``"sia"``; for a control without syntax, a
    ``Compose`` of a tree transform and ``resolve("sia")``.

    The paper describes the new layers only as "two stacked multi-head self-attention layers" and by Eq. 5. So
    ``block="attention"`` is Eq. 5 alone: no skip connection, output projection or norm. ``block="bert"``
    makes each of them the attention part of a BERT block, :math:`\mathrm{LN}(\mathbf{x} + \mathbf{W}_o \,
    \mathrm{SIAConv}(\mathbf{x}))`. New weights are drawn like BERT's (normal, standard deviation 0.02; biases
    0). Untrained layers then change little with ``"attention"``: on a pretrained MiniLM
    :math:`\mathbf{H}^{\mathrm{SIA}}` is 0.13 times as long as :math:`\mathbf{H}`. With ``"bert"``, whose norm
    sets the length, it is 3 times as long.

    Args:
        encoder: Computes node states, with ``return_layers=True`` those of all layers; has
            :attr:`hidden_channels`, :attr:`num_layers`, :attr:`heads`.
        layer: :math:`k`, from 1; 0 for the embeddings. (default: the middle, as in the paper: 6 of 12)
        max_sum: :math:`m` of Eq. 4, for presets that have it; the paper does not give its value. (default:
            :obj:`4` for these presets)
        edges: Edges of the new layers: the name of a preset, or a transform that adds no nodes. (default:
            ``"sia"``)
        sia_layers: Number of new layers. (default: :obj:`2`)
        heads: Attention heads of the new layers. (default: those of the encoder)
        mask: ``"additive"``, or ``"multiplicative"`` for Eq. 5 read literally, see
            :class:`~graphdep.nn.conv.SIAConv`. (default: ``"additive"``)
        block: ``"attention"`` or ``"bert"``. (default: ``"attention"``)
        dropout: Dropout probability of attention weights and output projection. (default: :obj:`0.1`)

    Attributes:
        num_layers: Number of the encoder's layers.

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch for the encoder; output :math:`(|\mathcal{V}|,
          C)`; with :obj:`return_layers` also the states of the encoder's layers, the last one replaced by the
          output

    Raises:
        ValueError: If :obj:`encoder` lacks an attribute, an option is invalid, :obj:`heads` does not divide
            the channels, :obj:`max_sum` is given for edges without it, or the edges change the nodes or join
            two examples.

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
        draw_as_bert(self.layers)  # the encoder keeps its weights

    def reset_parameters(self) -> None:
        """Resets all parameters, including added relations and terms; pretrained weights stay."""
        reset(self.encoder)
        draw_as_bert(self.layers)

    def add_marks(self, number: int) -> SIA:
        """As :meth:`TextEncoder.add_marks`, for the inner encoder."""
        self.encoder.add_marks(number)  # type: ignore[operator]
        return self

    def readout(self, data: Data, x: Tensor) -> Tensor:
        """The readout of the inner encoder: [CLS] states of a pretrained one, else ROOT states."""
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
        """For each new layer, the pairs ``[2, num_pairs]``, source -> target, and their weights ``[num_pairs,
        heads]``, in evaluation mode.
        """
        with evaluating(self):
            state = self.encoder(data, return_layers=True)[1][self.layer]
            layout, weights = own_layout(data, self.edges, SIAConv.reads), []
            for layer in self.layers:
                state, alpha = layer(state, layout, return_attention_weights=True)
                weights.append(alpha)
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
    """A preset with the given options that it takes, or a transform unchanged."""
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
    r"""A :class:`SelectionModel` that also predicts the order of shuffled utterances and aligns subject, verb
    and object of a sentence, from `"Structural Pre-training for Dialogue Comprehension"
    <https://arxiv.org/abs/2105.10956>`_ (SPIDER).

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \lambda_1 \mathcal{L}_{\mathrm{order}}
        + \lambda_2 \mathcal{L}_{\mathrm{backbone}}

    .. math::
        \mathcal{L}_{\mathrm{order}} = \frac{1}{|U|} \sum_{u \in U}
        \mathrm{CE}(\mathbf{W} \mathbf{h}_{[\mathrm{EOU}]_u} + \mathbf{b}, o_u), \quad
        \mathcal{L}_{\mathrm{backbone}} = \frac{1}{|T|} \sum_{(s, v, o) \in T}
        1 - \cos(\mathbf{h}_s + \mathbf{h}_v, \mathbf{h}_o)

    :math:`U` are the utterances of the shuffled contexts of a batch and :math:`o_u` is the original position
    of each; :math:`T` are the triples in the pairs of the batch, in context and response, each word
    represented by its first piece. :class:`~graphdep.tasks.SelectionTask` sets the weights.

    A triple is two arcs from one word: to a subject (nsubj, csubj, expl and subtypes) and to an object (obj,
    iobj and subtypes), in the tree from which the edges are made, even if it is a control. The public code
    finds triples by rules over spaCy's trees, of which only these arcs are implemented here: it also follows
    "and" and verbs below verbs (xcomp), takes the predicate of a copula for an object, and finds the words in
    the text by their first occurrence. It considers only verbs with a subject to the left and an object to
    the right, gives a verb without a subject that of a verb above it, and limits a pair to ten triples; here
    any governor counts, in any word order and without a limit.

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
        """As in :class:`SelectionModel`, including the order head."""
        super().reset_parameters()
        draw_as_bert(self.order)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        super().prepare_batch(data, device)
        if "order_target" in data:
            _shuffled_turns(data)
            triples(data)

    def training_losses(self, data: Data) -> tuple[Tensor, dict[str, Loss]]:
        x = self.encoder(data)
        losses = {"order": self._order(data, x), "backbone": self._backbone(data, x)}
        return selected_pairs(data, self.score(data, x)), losses

    def _order(self, data: Data, x: Tensor) -> Loss:
        """The mean over shuffled utterances; without any, zero with gradients of zero."""
        asked = _shuffled_turns(data)
        logits = self.order(x.index_select(0, asked)).float()
        loss = F.cross_entropy(logits, data.order_target[asked], reduction="sum")
        return loss / max(1, asked.numel()), asked.numel()

    def _backbone(self, data: Data, x: Tensor) -> Loss:
        """The mean over triples; zero without any."""
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
def _shuffled_turns(data: Data) -> Tensor:
    return (data.order_target >= 0).nonzero().view(-1)


@functools.cache
def _ids(bases: tuple[str, ...]) -> Tensor:
    """The ids of relations and of all their known subtypes."""
    relations = RelationVocab()
    labels = [relations.label(number) for number in range(len(relations))]
    known = {label: number for number, label in enumerate(labels) if not label.endswith("^-1")}
    return torch.tensor([number for label, number in known.items() if label.partition(":")[0] in bases])


SPEAKERS = ("added", "segments")


class SpeakerSelectionModel(SelectionModel):
    r"""A :class:`SelectionModel` whose encoder distinguishes the two speakers of a dialogue, as in the
    speaker segmentation of `"Improving Contextual Language Models for Response Retrieval in Multi-Turn
    Conversation" <https://doi.org/10.1145/3397271.3401255>`_ (SS-DA).

    .. math::
        \mathbf{h}^0_k = \mathbf{e}_k + \mathbf{p}_k + \mathbf{s}_k + \mathbf{v}_{a(k)}

    where :math:`a(k)` is the speaker of node :math:`k`'s utterance: the speakers alternate, and the second
    speaker gives the response. With ``speakers="added"`` each speaker has a vector of its own, drawn at
    random, and the encoder's vocabulary does not change; [CLS] and [SEP] have no speaker and no such vector.
    With ``speakers="segments"`` the speakers use the encoder's segment vectors :math:`\mathbf{s}_k` instead.

    It is not known which of the two the paper uses: its abstract only says that speakers are distinguished,
    and there is no known public code. RoBERTa, its best encoder, has a single segment, so ``"segments"`` does
    not work for it.

    Args:
        encoder: As in :class:`SelectionModel`; with ``"added"``,
            :meth:`~graphdep.nn.models.TextEncoder.add_marks` is called on it.
        speakers: ``"added"`` or ``"segments"``. (default: ``"added"``)
        **options: As in :class:`SelectionModel`.

    Shapes:
        - data: as in :class:`SelectionModel`; with ``"added"`` also ``mark`` :math:`(|\mathcal{V}|)`: 1 and 2
          for the speakers, 0 for none; with ``"segments"``, ``segment`` is the speaker; output :math:`(B)`

    Raises:
        ValueError: As :class:`SelectionModel`, or if :obj:`speakers` is unknown, or the encoder does not
            support it.

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
        if speakers == "added":  # last, so that an invalid option does not change the encoder
            encoder.add_marks(3)  # type: ignore[operator]
        self.speakers = speakers

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, speakers={self.speakers!r}"


def _segments(encoder: nn.Module) -> int:
    """Number of segment vectors of an encoder."""
    names = ("token_type_embeddings", "embedding.segment")
    tables = [module for name, module in encoder.named_modules() if name.endswith(names)]
    return max((table.num_embeddings for table in tables if isinstance(table, nn.Embedding)), default=0)


LOSSES = ("sigmoid", "softmax")


class UtteranceManipulationModel(SelectionModel):
    r"""A :class:`SelectionModel` that also learns from dialogues whose utterances are out of order or from
    elsewhere, from `"Do Response Selection Models Really Know What's Next? Utterance Manipulation Strategies
    for Multi-turn Response Selection" <https://arxiv.org/abs/2009.04703>`_ (UMS).

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \alpha\, \mathcal{L}_{\mathrm{ins}}
        + \beta\, \mathcal{L}_{\mathrm{del}} + \gamma\, \mathcal{L}_{\mathrm{srch}}, \quad
        \mathcal{L}_{k} = \frac{1}{|E_k|} \sum_{e \in E_k} \frac{1}{|S_e|} \sum_{s \in S_e}
        \mathrm{BCE}(\sigma(\mathbf{w}_k^{\top} \mathbf{h}_s + b_k), y_s)

    over the examples :math:`E_k` of each kind (:mod:`graphdep.data.encoded`), whose symbols :math:`S_e` are
    the candidate places of the answer; one of them has :math:`y_s = 1`. With ``loss="softmax"`` each example
    has the cross entropy over its symbols, the alternative in the public code.
    :class:`~graphdep.tasks.SelectionTask` sets the weights.

    The vocabulary of the encoder does not grow: [INS], [DEL] and [SRCH] are the piece of [EOU] plus a random
    vector of their own. The public code instead adds three tokens with random vectors to the table. Scored
    pairs have no such symbols.

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
        # After all checks, so that an invalid option does not change the encoder.
        encoder.add_marks(1 + len(MANIPULATIONS))  # type: ignore[operator]
        self.loss = loss
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        heads = {name: nn.Sequential(Dropout(dropout), nn.Linear(size, 1)) for name in MANIPULATIONS}
        self.manipulations = nn.ModuleDict(heads)
        draw_as_bert(self.manipulations)

    def reset_parameters(self) -> None:
        """As in :class:`SelectionModel`, including the parameters of the manipulations."""
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
        """The mean over the examples of a kind; without any, zero with gradients of zero."""
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
    """The log-sum-exp of the logits of each example."""
    top = scatter(logits.detach(), example, dim_size=size, reduce="max")
    return top + scatter((logits - top[example]).exp(), example, dim_size=size).clamp(min=1e-30).log()


class MaskedWordHead(nn.Module):
    r"""Scores all pieces at masked nodes with the encoder's input vectors, as BERT does.

    .. math::
        \mathbf{z} = \mathbf{E} \, \mathrm{LN}(\mathrm{gelu}(\mathbf{W} \mathbf{h} + \mathbf{b})) + \mathbf{c}

    Args:
        in_channels: Size of the node states.
        num_words: Number of input vectors.
        dim: Size of the input vectors :math:`\mathbf{E}`. (default: :obj:`in_channels`)
        eps: Epsilon of the LayerNorm. (default: :obj:`1e-12`)

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
        """Draws its own parameters like BERT's; the input vectors belong to the encoder."""
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
    the relevance layer, as in the public code. Both heads are dropped after post-training. They start at
    random; :func:`graphdep.nn.pretrained.load_masked_word_head` loads the first from a checkpoint.

    Only masked nodes have word logits: there is never a tensor of all nodes and all words.

    Args:
        encoder: Computes node states and has :attr:`hidden_channels`:
            :class:`~graphdep.nn.pretrained.PretrainedEncoder` or :class:`GraphTransformer`.

    Shapes:
        - data: a batch of :math:`B` samples of :class:`~graphdep.datasets.PostTrainingDataset` with :math:`M`
          masked nodes (``mlm_target >= 0``)
        - outputs: word logits :math:`(M, |\mathcal{W}|)` in the order of the nodes, and relevance logits
          :math:`(B, 3)`

    Raises:
        ValueError: If the encoder has no table of input vectors, or an example does not have one CLS node.

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
        self._reset_heads()  # the encoder keeps its weights

    def reset_parameters(self) -> None:
        """Resets all parameters, the heads like BERT's, including added relations and terms; pretrained
        weights stay.
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
    """The masked nodes, whose word is predicted."""
    return (data.mlm_target >= 0).nonzero().view(-1)


def word_vectors(encoder: nn.Module) -> nn.Embedding:
    """The table of an encoder's input vectors.

    Raises:
        ValueError: If the encoder has no such table.
    """
    embedding = getattr(encoder, "embedding", None)
    if isinstance(embedding, NodeEmbedding):
        return embedding.word
    model: Any = getattr(encoder, "model", None)
    return model.get_input_embeddings()
