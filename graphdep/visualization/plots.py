"""Matplotlib figures of trees, edges, attention and results."""

from __future__ import annotations

import io
import logging
import math
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, cast

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from torch import Tensor, nn
from torch.nn.functional import one_hot
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj

from graphdep.io.limits import (
    MAX_MAP_WORDS,
    check_between,
    check_least,
    check_length,
    check_page_words,
    check_shape,
    plural,
)
from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.relations import GateValues
from graphdep.nn.conv.attention_conv import AttentionConv
from graphdep.nn.conv.constituent_conv import ConstituentConv
from graphdep.nn.conv.gated_relation_conv import GatedRelationConv
from graphdep.nn.passes import evaluating, hooked
from graphdep.nn.pretrained.encoder import PretrainedEncoder
from graphdep.sentence.sentence import Sentence
from graphdep.visualization.rows import row_scene, sentence_row
from graphdep.visualization.scene import COLOURS, INK, PALE, READABLE, STYLES, Lane, Scene, Shape, warn_small
from graphdep.vocab.relations import RelationVocab


def label_matrix(axes: Axes, labels: Sequence[str], title: str, size: float = 9) -> None:
    """Labels rows (targets) and columns (sources) of a matrix with words, in this font size."""
    places = range(len(labels))
    # Slanted words are closer to one another, so small maps have upright ones.
    turned: dict[str, Any] = {"rotation": 60} if size >= 9 else {"rotation": 90, "va": "center"}
    axes.set_xticks(places, labels, **turned, ha="left", rotation_mode="anchor", fontsize=size)
    axes.set_yticks(places, labels, fontsize=size)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xticks([place - 0.5 for place in places], minor=True)
    axes.set_yticks([place - 0.5 for place in places], minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(title, fontsize=size + 1)


logger = logging.getLogger("graphdep.visualization")

# Fonts for characters that Matplotlib's own font lacks.
_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei"),
    *("WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "SimHei", "Yu Gothic"),
    *("Malgun Gothic", "Droid Sans Fallback", "Arial Unicode MS", "Noto Sans Arabic", "Noto Sans Hebrew"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Segoe UI Symbol"),
)


class Picture(Figure):
    """A Matplotlib figure that notebooks display without pyplot.

    Text uses installed fonts that have its characters. In ``.svg`` files it stays text, for which the viewer
    chooses fonts.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.visualization import plot_tree
        >>> picture = plot_tree(Sentence(["It", "rains"], [2, 0], ["expl", "root"]))
        >>> picture._repr_png_()[1:4], "rains</text>" in picture._repr_svg_()
        (b'PNG', True)
    """

    def draw(self, renderer: Any) -> None:
        """Draws the figure, with fonts for all scripts."""
        for text in self.findobj(Text):
            text.set_fontfamily(_families())
        super().draw(renderer)

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """Saves the figure; logs one warning for all characters without a font."""
        with warnings.catch_warnings(record=True) as caught, matplotlib.rc_context(_FONT_TYPES):
            warnings.simplefilter("always")
            super().savefig(fname, **kwargs)
        missing = [warning for warning in caught if str(warning.message).startswith("Glyph ")]
        for warning in caught:
            if warning not in missing:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        kind = str(kwargs.get("format") or fname).rpartition(".")[2].lower()
        if missing and kind != "svg":
            logger.warning(
                "no font known to Matplotlib has some characters of the picture, which are drawn as boxes. "
                "If you have installed fonts, remove its font list in %s; or save as .svg, which uses the "
                "fonts of the viewer",
                matplotlib.get_cachedir(),
            )

    def _repr_png_(self) -> bytes:
        return self._saved("png")

    def _repr_svg_(self) -> str:
        return self._saved("svg").decode()

    def _saved(self, kind: str) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format=kind, dpi=100)
        return file.getvalue()


@cache
def _families() -> list[str]:
    """Matplotlib's own font, and installed fonts for scripts that it lacks."""
    known = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _FONTS if name in known)]


# Text that stays text: journals refuse PDFs with fonts of type 3.
_FONT_TYPES: Any = {"svg.fonttype": "none", "pdf.fonttype": 42}
T = TypeVar("T")
Layer = tuple[nn.Module, tuple[Tensor, Tensor]]
ATTENTION = (AttentionConv, ConstituentConv, PretrainedEncoder)
"""Modules with attention weights."""


def attention_weights(model: nn.Module, data: Data) -> list[tuple[Tensor, Tensor]]:
    r"""Weights of every attention layer of a model on an example or batch, in evaluation mode: of this
    library's convs and of pretrained encoders, in order of computation.

    Returns:
        For each layer, pairs ``[2, num_pairs]``, source -> target, and weights ``[num_pairs, heads]``.

    Raises:
        ValueError: If the model has no attention layer.
    """
    return [weights for _, weights in attention_layers(model, data)]


def attention_layers(model: nn.Module, data: Data) -> list[Layer]:
    """:func:`attention_weights`, each with its conv or pretrained encoder."""
    return _each_layer(model, data, _weights)


def gate_values(model: nn.Module, data: Data) -> list[GateValues | None]:
    r"""Gates of relation scores of every attention layer of a model on an example or batch, in evaluation
    mode: of :class:`~graphdep.nn.conv.GatedRelationConv` and of pretrained encoders with such terms, in order
    of computation; :obj:`None` for layers without a gate.

    Raises:
        ValueError: If no layer has a gate.

    Example:
        >>> from graphdep import RelationVocab, Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DependencyTransformer
        >>> from graphdep.transforms import resolve
        >>> from graphdep.visualization import gate_values
        >>> data = resolve("dt")(to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"])))
        >>> model = DependencyTransformer(num_words=7, num_relations=len(RelationVocab()), hidden_channels=12)
        >>> values = gate_values(model, data)
        >>> len(values), values[0].gate.shape == (data.num_edges, 6)
        (3, True)
    """
    found = [values for _, values in gate_layers(model, data)]
    if not any(found):
        raise ValueError(f"{type(model).__name__} has no gate of relation scores")
    return found


def gate_layers(model: nn.Module, data: Data) -> list[tuple[nn.Module, GateValues | None]]:
    """:func:`gate_values`, each with its conv or pretrained encoder."""
    return _each_layer(model, data, _gates)


@torch.no_grad()
def _each_layer(
    model: nn.Module, data: Data, read: Callable[[Any, tuple, dict[str, Any]], list[T]]
) -> list[tuple[nn.Module, T]]:
    """Applies ``read`` to the inputs of every attention layer of a model in evaluation mode."""
    modules = [module for module in model.modules() if isinstance(module, ATTENTION)]
    if not modules:
        raise ValueError(f"{type(model).__name__} has no attention layer")
    calls: list[tuple[nn.Module, tuple, dict[str, Any]]] = []

    def remember(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        calls.append((module, args, kwargs))

    handles = [module.register_forward_pre_hook(remember, with_kwargs=True) for module in modules]
    with evaluating(model):
        with hooked(handles):
            model(data)
        return [(module, found) for module, args, given in calls for found in read(module, args, given)]


def _weights(module: Any, args: tuple, kwargs: dict[str, Any]) -> list[tuple[Tensor, Tensor]]:
    if isinstance(module, PretrainedEncoder):
        return module.attention(args[0] if args else kwargs["data"])
    return [module(*args, **kwargs, return_attention_weights=True)[1]]


def _gates(module: Any, args: tuple, kwargs: dict[str, Any]) -> list[GateValues | None]:
    if isinstance(module, PretrainedEncoder):
        return module.gates(args[0] if args else kwargs["data"])
    if isinstance(module, GatedRelationConv) and module.gate is not None:
        return [module(*args, **kwargs, return_gate=True)[1]]
    return [None]


def plot_attention(
    alpha: Tensor,
    labels: Sequence[str],
    *,
    edge_index: Tensor | None = None,
    titles: Sequence[str] | None = None,
    title: str = "",
    label: str = "weight (a row sums to 1)",
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
) -> Figure:
    r"""Heat maps of attention weights, one per head: row :math:`i` shows what word :math:`i` attends to.

    Args:
        alpha: Weights of the edges in :obj:`edge_index`, or matrices.
        labels: A word for each node.
        edge_index: Edges of the weights, source -> target. (default: :obj:`None`)
        titles: Title of each map. (default: ``head 1``, ``head 2``, ...)
        title: Title of the figure. (default: none)
        label: Label of the colour bar. (default: ``"weight (a row sums to 1)"``)
        ax: Draw a single map into these axes. (default: :obj:`None`)
        figsize: Width and height in inches, from which the font size follows. (default: as the maps need)

    Shapes:
        - alpha: :math:`(|\mathcal{E}|, H)` with :obj:`edge_index`, else :math:`(H, N, N)` or :math:`(N, N)`,
          [target, source]

    Raises:
        ValueError: If sizes do not match, or there are several maps for :obj:`ax`.
    """
    maps = _dense(alpha.detach().float().cpu(), edge_index, len(labels))
    check_length("labels", labels, maps.size(-1), "nodes")
    check_page_words(len(labels), MAX_MAP_WORDS)
    titles = titles or [f"head {head + 1}" for head in range(len(maps))]
    check_length("titles", titles, len(maps), "maps")
    columns = 2 if len(maps) == 4 else min(3, len(maps))
    rows = math.ceil(len(maps) / columns)
    side, size = 1.4 + 0.32 * len(labels), 9.0
    if ax is not None:
        check_between("maps for 'ax'", len(maps), 1, 1)
        figure, cells = ax.figure, [ax]
        figsize = ax.get_window_extent().width / ax.figure.dpi + _LABELS, 0.0
    else:
        inches = figsize or (columns * side + 0.6, rows * side + 0.7)
        figure = Picture(figsize=inches, layout="constrained", dpi=_DPI if figsize is None else _PRINT_DPI)
        cells = list(figure.subplots(rows, columns, squeeze=False).flat)
    if figsize is not None:
        side = figsize[0] / columns
        points = 72 if columns > 1 else 60  # an inch; a single map fills its width
        size = max(4.0, min(8.0, points * (side - _LABELS) / len(labels)))
        if ax is None:
            larger = (_LABELS + READABLE * len(labels) / points) / side
            more = "; or choose one layer and head" if len(maps) > 1 else ""
            warn_small(f"map of {plural(len(labels), 'node')}", size, (larger * x for x in figsize), more)
    most = max(float(maps.nan_to_num().abs().max()), 1e-6)
    signed = bool((maps < 0).any())
    colours: dict[str, Any] = {"cmap": "RdBu" if signed else "Blues", "vmin": -most if signed else 0}
    for axes, weights, name in zip(cells, maps, titles):
        image = axes.imshow(weights.numpy(), **colours, vmax=most)
        label_matrix(axes, labels, textwrap.fill(name, max(8, int(_LETTERS_AN_INCH * (side - 1)))), size)
    for axes in cells[len(maps) :]:
        axes.set_visible(False)
    bar = figure.colorbar(image, ax=cells, shrink=0.5 if figsize is None else 0.8, aspect=30)
    bar.set_label(label, fontsize=size + 1)
    bar.ax.tick_params(labelsize=size)
    if ax is None:
        figure.suptitle(title, fontsize=12 if figsize is None else size + 2)
    elif title:
        ax.set_title(title, fontsize=size + 2)
    return cast(Figure, figure)


_DPI, _PRINT_DPI = 130, 300  # of a picture without and with a given size
_LETTERS_AN_INCH = 12  # in captions of maps
_LABELS = 1.2  # inches beside a map, for words and colour bar
_COLUMN = (3.3, 2.9)  # inches, for one column of a paper


def _dense(alpha: Tensor, edge_index: Tensor | None, num_nodes: int) -> Tensor:
    if edge_index is not None:
        check_shape("alpha", alpha, edge_index.size(1), "heads")
        edge_index = edge_index.cpu()
        maps = [to_dense_adj(edge_index, edge_attr=head, max_num_nodes=num_nodes)[0].T for head in alpha.T]
        return torch.stack(maps)
    alpha = alpha.unsqueeze(0) if alpha.dim() == 2 else alpha
    check_shape("alpha", alpha, "heads", alpha.size(-1), alpha.size(-1))
    return alpha


GATE_NAMES = {"gate": "gate", "relation_score": "relation score", "self_score": "self-attention score"}
"""The fields of :class:`GateValues` with values for each pair and head, and their names in pictures."""


@dataclass(frozen=True, eq=False)
class AttentionMap:
    r"""The attention between words, by layer and head.

    Special nodes are included, with names in brackets: ``[ROOT]``, ``[CLS]``, ``[SEP]``, ``[EOU]``, the label
    of a relation node, such as ``[nsubj]``, and ``[EMPTY]`` for an empty node of an enhanced graph.

    Args:
        words: Words and names of special nodes, in the order of the nodes.
        special: Which entries are special nodes.
        layers: Names of the layers.
        alpha: Weights. A row sums to 1, except for nodes that attend to nothing, and for
            :class:`~graphdep.nn.conv.ConstituentConv`, whose published weights sum to less.
        gates: For models with gated relation scores, the gate :math:`g`, the scores :math:`S^r` of relations
            and :math:`S^e` of self-attention, by the names in :class:`~graphdep.nn.attention.GateValues`; NaN
            for pairs without a gate. (default: none)

    Shapes:
        - alpha, gates: :math:`(L, H, W, W)`, [layer, head, target, source]

    Example:
        >>> import torch
        >>> from graphdep.visualization import AttentionMap
        >>> alpha = torch.tensor([[[[0.5, 0.5, 0.0], [0.2, 0.6, 0.2], [0.5, 0.0, 0.5]]]])  # a layer, a head
        >>> shown = AttentionMap(["[CLS]", "It", "rains"], [True, False, False], ["layer 1"], alpha)
        >>> shown.without_special().words, shown.without_special().alpha[0, 0]
        (['It', 'rains'], tensor([[0.7500, 0.2500],
                [0.0000, 1.0000]]))
    """

    words: list[str]
    special: list[bool]
    layers: list[str]
    alpha: Tensor
    gates: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        special: Sequence[bool],
        word: Tensor,
        layers: Sequence[tuple[str, Tensor, Tensor]],
        gates: Sequence[GateValues | None] = (),
    ) -> AttentionMap:
        r"""Joins the pieces of words.

        The attention from the pieces of a word is averaged, the attention to its pieces summed:

        .. math::
            \bar{\alpha}_{uv} = \frac{1}{|u|} \sum_{i \in u} \sum_{j \in v} \alpha_{ij}

        Args:
            words, special: See the class.
            word: The entry of each node ``[num_nodes]``.
            layers: Name, pairs ``[2, num_pairs]`` (source -> target) and weights ``[num_pairs, heads]`` of
                each layer.
            gates: The gates of each layer, averaged over pairs of pieces. (default: none)

        Raises:
            ValueError: If the layers have different numbers of heads.
        """
        heads = sorted({alpha.size(1) for _, _, alpha in layers})
        if len(heads) != 1:
            raise ValueError(f"the layers have different numbers of heads: {heads}")
        member = one_hot(word.cpu(), len(words)).float()
        mean = member / member.sum(dim=0)
        every = torch.arange(heads[0])[:, None]

        def joined(pairs: Tensor, numbers: Tensor) -> Tensor:
            source, target = pairs.cpu()
            nodes = torch.zeros(heads[0], len(member), len(member))
            nodes.index_put_((every, target, source), numbers.T.float().cpu(), accumulate=True)
            return mean.T @ nodes @ member

        def of_gate(values: GateValues | None, name: str) -> Tensor:
            if values is None:
                return torch.full((heads[0], len(words), len(words)), torch.nan)
            pairs, numbers = values.edge_index[:, values.gated], getattr(values, name)[values.gated]
            return joined(pairs, numbers) / joined(pairs, torch.ones_like(numbers))

        alpha = torch.stack([joined(pairs, alpha) for _, pairs, alpha in layers])
        names = GATE_NAMES if gates else ()
        maps = {name: torch.stack([of_gate(values, name) for values in gates]) for name in names}
        return cls([*words], [*special], [name for name, *_ in layers], alpha, maps)

    @property
    def heads(self) -> int:
        return self.alpha.size(1)

    def without_special(self, *, root: bool = False) -> AttentionMap:
        """The attention between words only, with rows scaled to sum to 1 (unless they are 0). In pretrained
        encoders, most attention goes to special nodes.

        Args:
            root: Keep ``[ROOT]``. (default: :obj:`False`)
        """
        named = enumerate(zip(self.words, self.special))
        places = [place for place, (word, special) in named if not special or (root and word == "[ROOT]")]
        kept = torch.tensor(places, dtype=torch.long)
        alpha = self.alpha[..., kept[:, None], kept]
        total = alpha.sum(dim=-1, keepdim=True)
        words, special = [self.words[place] for place in places], [self.special[place] for place in places]
        alpha = alpha / total.where(total > 0, 1.0)
        gates = {name: values[..., kept[:, None], kept] for name, values in self.gates.items()}
        return AttentionMap(words, special, self.layers, alpha, gates)

    def plot(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        gate: bool = False,
        title: str = "",
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Heat maps: the mean over the heads of each layer, all heads of one layer, or one head, as wide as a
        column of a paper.

        Args:
            layer: Index of the layer, also negative. (default: all)
            head: Index of a head of the layer, also negative. (default: all)
            gate: Show the gate instead of the weights. (default: :obj:`False`)
            title: Title. (default: none)
            ax: Draw one head into these axes. (default: :obj:`None`)
            figsize: Width and height in inches. (default: as the maps need; for one head 3.3 and 2.9)

        Raises:
            ValueError: If there is no such layer or head, a head is given without a layer, or there is no
                gate.

        Example:
            >>> import torch
            >>> from graphdep.visualization import AttentionMap
            >>> alpha = torch.rand(2, 4, 3, 3).softmax(dim=-1)
            >>> shown = AttentionMap(["It", "rains", "."], [False] * 3, ["layer 1", "layer 2"], alpha)
            >>> shown.plot(layer=1, head=2).get_size_inches().tolist()
            [3.3, 2.9]
        """
        if gate and not self.gates:
            raise ValueError("'gate' needs gates: attention_map(..., return_gate=True)")
        values, options = self.alpha, dict[str, Any](title=title, ax=ax, figsize=figsize)
        if gate:
            values, options = (self.gates["gate"], {**options, "label": "gate (share of the relation score)"})
        if layer is None:
            if head is not None:
                raise ValueError(f"'head' needs 'layer' (got {head})")
            return plot_attention(values.mean(dim=1), self.words, titles=self.layers, **options)
        check_between("layer", layer, -len(self.layers), len(self.layers) - 1)
        titles = [f"{self.layers[layer]}, head {number + 1}" for number in range(self.heads)]
        if head is None:
            return plot_attention(values[layer], self.words, titles=titles, **options)
        check_between("head", head, -self.heads, self.heads - 1)
        options["figsize"] = figsize or _COLUMN
        return plot_attention(values[layer, head], self.words, titles=[titles[head]], **options)

    @property
    def summary(self) -> str:
        """The size of the map in a few words; special nodes are not counted."""
        counts = {"word": self.special.count(False), "layer": len(self.layers), "head": self.heads}
        return ", ".join(plural(count, name) for name, count in counts.items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary})"


def plot_edge_matrix(
    data: Data, labels: Sequence[str], *, relations: RelationVocab | None = None, title: str = ""
) -> Figure:
    """The edges of one example: row :math:`i` has coloured cells for the words that word :math:`i` sees.

    If edges have types, edges without a relation are pale; with :obj:`relations`, cells show the relation.

    Args:
        data: One example with edges.
        labels: A word for each node.
        relations: Names of ``edge_type``. (default: :obj:`None`)
        title: Title. (default: none)

    Raises:
        ValueError: If the example has no edges, or the number of labels is wrong.
    """
    check_length("labels", labels, data.num_nodes, "nodes")
    check_page_words(len(labels), MAX_MAP_WORDS)
    layout = AttentionLayout.of(data).materialize()
    source, target = layout.edge_index.cpu()
    types = torch.ones_like(source) if layout.edge_type is None else layout.edge_type.cpu()
    related = types != RelationVocab.NONE
    mask = torch.zeros(data.num_nodes, data.num_nodes)
    mask[target, source] = torch.where(related, 1.0 if bool(related.all()) else 2.0, 1.0)
    names = relations if layout.edge_type is not None else None
    side = 1.6 + (0.62 if names is not None else 0.34) * len(labels)
    figure = Picture(figsize=(side, side), layout="constrained")
    axes = figure.subplots()
    axes.imshow(
        mask.numpy(),
        cmap=ListedColormap(["#f4f4f4", COLOURS[0] if mask.max() < 2 else PALE, "#9ecae9"]),
        vmin=0,
        vmax=2,
    )
    if names is not None:
        pairs = torch.stack([source, target, types])[:, related]
        for s, t, kind in pairs.t().tolist():
            axes.text(s, t, names.label(kind), ha="center", va="center", fontsize=7)
    label_matrix(axes, labels, f"{title}\na row shows what a word sees")
    return figure


_CODES = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4, "Z": Path.CLOSEPOLY}
_ALIGNED = {"start": "left", "middle": "center", "end": "right"}
_ALIGNED_RTL = {"start": "right", "middle": "center", "end": "left"}
_PIXELS = 100.0  # an inch, unless a size is given


def scene_figure(scene: Scene, figsize: tuple[float, float] | None = None) -> Picture:
    """The drawing as a Matplotlib figure of the same proportions, for ``.png`` and ``.pdf``.

    Args:
        scene: The drawing.
        figsize: Width and height in inches that it just fits into. (default: an inch per 100 units)

    Example:
        >>> from graphdep.visualization import Row, row_scene
        >>> from graphdep.visualization import scene_figure
        >>> scene_figure(row_scene(Row(("It", "rains"), arcs=((1, 0, "expl"),))))._repr_png_()[1:4]
        b'PNG'
    """
    pixels = _PIXELS if figsize is None else 1 / scene.scale(figsize)
    dpi = _DPI if figsize is None else _PRINT_DPI
    figure = Picture(figsize=(scene.width / pixels, scene.height / pixels), dpi=dpi)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    axes.axis("off")
    for layer, shape in enumerate(scene.shapes):
        colour = INK if STYLES[shape.style] == "currentColor" else STYLES[shape.style]
        if shape.text:
            align = (_ALIGNED_RTL if scene.rtl else _ALIGNED)[shape.anchor]
            points = shape.size * 72 / pixels * scene.PLOT_FONT
            text = _plain(shape.text)
            axes.text(*shape.at, text, ha=align, va="baseline", fontsize=points, color=colour, zorder=layer)
        else:
            axes.add_patch(_patch(shape, colour, layer, _PIXELS / pixels))
    return figure


def _patch(shape: Shape, colour: str, layer: int, width: float) -> PathPatch:
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for command, numbers in shape.steps:
        pairs = list(zip(numbers[::2], numbers[1::2])) or [points[0]]
        points += pairs
        codes += [int(_CODES[command])] * len(pairs)
    fill = {"facecolor": colour, "linewidth": 0.0} if shape.filled else {"fill": False, "linewidth": width}
    return PathPatch(Path(points, codes), edgecolor=colour, zorder=layer, **fill)


def _plain(text: str) -> str:
    """The text, escaped: Matplotlib reads text between dollar signs as a formula."""
    return text.replace("$", r"\$")


def plot_tree(
    sentence: Sentence, edges: Mapping[str, Tensor] | None = None, *, root: bool = True, title: str = ""
) -> Figure:
    """Arcs from governor to dependent above the words; below them edges from source to target, a colour for
    each set. :func:`graphdep.draw` makes a page of them.

    Args:
        sentence: The tree.
        edges: Sets of edges by name: their ``edge_index`` ``[2, num_edges]`` over the nodes of
            ``to_data([sentence], root=root)``. Self-loops are small circles. (default: none)
        root: Show the artificial ROOT as the first node. (default: :obj:`True`)
        title: Title. (default: none)

    Raises:
        ValueError: If an edge has a node that does not exist.
    """
    lanes = []
    for number, (name, edge_index) in enumerate((edges or {}).items()):
        pairs = tuple((int(source), int(target)) for source, target in edge_index.t())
        lanes.append(Lane(f"{name}: {plural(len(pairs), 'edge')}", pairs, number))
    return scene_figure(row_scene(sentence_row(sentence, tuple(lanes), root=root, title=title)))


def plot_curves(
    rows: Sequence[Mapping[str, Any]], *, metric: str, best_epoch: int | None = None, title: str = ""
) -> Figure:
    """The losses of a run by epoch, and next to them its metric on the validation split.

    Args:
        rows: Rows of ``metrics.csv``: ``"epoch"``, ``"train_loss"``, ``"val_loss"`` and ``"val_..."``; values
            may be missing or :obj:`None`.
        metric: Name of the metric, without ``val_``.
        best_epoch: The epoch of the model, drawn as a dotted line. (default: :obj:`None`)
        title: Title. (default: none)

    Raises:
        ValueError: If there are no epochs.

    Example:
        >>> from graphdep.visualization import plot_curves
        >>> rows = [{"epoch": 1, "train_loss": 0.7}, {"epoch": 2, "train_loss": 0.5, "val_f1": 0.6}]
        >>> len(plot_curves(rows, metric="f1", best_epoch=2).axes)
        2
    """
    check_least("rows", len(rows), 1)
    shown = {"loss": ["train_loss", "val_loss"]}
    if metric != "loss":
        shown[metric] = [f"val_{metric}"]
    figure = Picture(figsize=(3.6 * len(shown), 2.7), layout="constrained")
    for axes, (name, columns) in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown.items()):
        _draw(axes, rows, columns, best_epoch)
        axes.set_ylabel(name.replace("_", " "))
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


def _draw(axes: Axes, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], best: int | None) -> None:
    for colour, column in zip(COLOURS, columns):
        points = [(row["epoch"], row[column]) for row in rows if row.get(column) is not None]
        if points:
            axes.plot(*zip(*points), marker="o", markersize=3, color=colour, label=column.replace("_", " "))
    if best is not None:
        axes.axvline(best, color=INK, linestyle=":", linewidth=1.2, label=f"best epoch ({best})")
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)


def plot_differences(
    differences: Mapping[str, tuple[float, float, float]],
    *,
    metric: str,
    reference: str,
    bound: float | None = None,
    title: str = "",
) -> Figure:
    """A row for each model: its difference to the reference as a dot, the 95% interval as a line.

    Args:
        differences: Difference and ends of its interval, by model.
        metric: Name of the score.
        reference: Name of the reference.
        bound: The smallest effect of interest, drawn as a band around 0. (default: :obj:`None`)
        title: Title. (default: none)

    Raises:
        ValueError: If there are no models.
    """
    check_least("differences", len(differences), 1)
    figure = Picture(figsize=(7.2, 1.5 + 0.45 * len(differences)), layout="constrained")
    axes = figure.subplots()
    if bound is not None:
        axes.axvspan(-bound, bound, color=PALE, alpha=0.6, label=f"no effect larger than {bound:g}")
        figure.legend(loc="outside lower center", frameon=False, fontsize=9)
    axes.axvline(0, color=INK, linewidth=1.0)
    for place, (middle, low, high) in enumerate(differences.values()):
        axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=2.2)
        axes.plot(middle, place, "o", color=COLOURS[0], markersize=6)
    axes.set_xlabel(f"{metric}, difference to {reference}")
    _lay_out_rows(axes, list(differences), title)
    return figure


def plot_ablation(
    values: Mapping[str, Sequence[float]],
    *,
    metric: str,
    floors: Mapping[str, float] | None = None,
    paper: Mapping[str, float] | None = None,
    title: str = "",
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Figure:
    """A row for each model: its runs as dots, their mean as a bar, one standard deviation as whiskers.

    Args:
        values: Scores of the runs, by model.
        metric: Name of the score.
        floors: Scores such as that without skill, by description, drawn as lines. (default: none)
        paper: Published scores, drawn as diamonds. (default: none)
        title: Title. (default: none)
        bounds: The lowest and highest possible score, where whiskers end. (default: none)

    Raises:
        ValueError: If there are no runs.
    """
    rows = {model: list(scores) for model, scores in values.items() if scores}
    check_least("values", len(rows), 1)
    figure = Picture(figsize=(7.2, 1.7 + 0.5 * len(rows)), layout="constrained")
    axes = figure.subplots()
    ends = [score for scores in rows.values() for score in scores]
    for place, scores in enumerate(rows.values()):
        mean, std = sum(scores) / len(scores), _std(scores)
        whiskers = [[min(std, abs(mean - end))] for end in bounds]
        ends += [mean - whiskers[0][0], mean + whiskers[1][0]]
        axes.barh(place, mean, color=COLOURS[0], alpha=0.35, height=0.62)
        label = None if place else "mean ± standard deviation over seeds"
        axes.errorbar(mean, place, xerr=whiskers, color=INK, capsize=4, linewidth=1.3, label=label)
        axes.plot(
            scores, [place] * len(scores), "o", color=COLOURS[0], markersize=5, label=None if place else "run"
        )
        axes.text(0.01, place, f"{mean:.3f}", transform=axes.get_yaxis_transform(), va="center", fontsize=9)
    shown = {model: number for model, number in (paper or {}).items() if model in rows}
    if shown:
        places = [list(rows).index(model) for model in shown]
        axes.plot(list(shown.values()), places, "D", color=COLOURS[1], markersize=6, label="paper")
    for colour, style, (about, floor) in zip(COLOURS[2:], (":", "--", "-."), (floors or {}).items()):
        axes.axvline(floor, color=colour, linestyle=style, linewidth=1.8, label=f"{about} ({floor:.3f})")
    axes.set_xlabel(metric)
    axes.set_xlim(*_limits([*ends, *shown.values(), *(floors or {}).values()]))
    _lay_out_rows(axes, list(rows), title)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def _lay_out_rows(axes: Axes, rows: Sequence[str], title: str) -> None:
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.grid(axis="x", color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_title(title, fontsize=12)


def _std(scores: Sequence[float]) -> float:
    mean = sum(scores) / len(scores)
    return (sum((score - mean) ** 2 for score in scores) / max(1, len(scores) - 1)) ** 0.5


def _limits(points: Sequence[float]) -> tuple[float, float]:
    """Limits that include 0, so that bars are proportional, with some room at the right."""
    return min(0.0, *points), max(points) * 1.06 if max(points) > 0 else 1.0
