"""From settings to the edges over the nodes of a pretrained encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep import transforms as T
from graphdep.data import EncodedUtterance, NodeType, text_data
from graphdep.nn import attention as A
from graphdep.sentence import Sentence
from graphdep.training.family.edges import EDGE_OPTIONS, node_options
from graphdep.training.family.encoder_settings import ADDING_NODES, EncoderSettings
from graphdep.transforms.fingerprint import phrase_probe, with_marks
from graphdep.vocab import RelationVocab, Vocab, VocabTokens

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def pretrained_edges(config: EncoderSettings, *, from_cls: bool = True) -> BaseTransform:
    """The edges of the settings over the nodes of a pretrained encoder: both texts of a pair see each other
    where the preset leaves it open, and [CLS] sees all words.

    Args:
        config: The settings.
        from_cls: Whether [CLS] is what the model is read from, and not the words. (default: :obj:`True`)

    Raises:
        ValueError: If the model is read from [CLS], which does not see all words and cannot be made to.
    """
    assert config.edges is not None
    edges = T.resolve(config.edges, implicit=True, **_options(config, config.edges))
    if _cls_sees_all(edges):
        return edges
    if not isinstance(edges, T.EdgeConstructor):
        if not from_cls:
            return edges
        raise ValueError(
            f"edges {config.edges!r} keep words from [CLS], which a pretrained encoder is read from"
        )
    return edges | T.SpecialEdges()


def _options(config: EncoderSettings, edges: str) -> dict[str, Any]:
    """Values of a preset's options, by their names there."""
    options: dict[str, Any] = {name: getattr(config, name) for name in EDGE_OPTIONS}
    options["scope"] = "example"
    if config.pieces is not None:
        options["pieces"] = config.pieces
    taken = T.preset_options(edges)
    own = {name: value for name, value in options.items() if name in taken}
    return own | (node_options(config, edges, "CLS") if edges in ADDING_NODES else {})


def _probe(edges: BaseTransform) -> Any:
    """A pair of texts of two words each, with the edges."""
    tokens, relations = VocabTokens(Vocab([])), RelationVocab()
    sentence = Sentence(["a", "b"], [0, 1], ["root", "dep"], constituents=[("NP", 0, 2)])
    text = EncodedUtterance.of(sentence, tokens, relations, phrases=True)
    batch = Batch.from_data_list([text_data(text, text, tokens=tokens, max_length=16)])
    return edges(with_marks(batch))


def adds_nodes(edges: BaseTransform) -> bool:
    """Whether edges bring relation or phrase nodes."""
    kinds = _probe(edges).node_type
    return bool(((kinds == NodeType.RELATION) | (kinds == NodeType.PHRASE)).any())


def check_nodes(config: EncoderSettings, encoder: PretrainedEncoder) -> None:
    """Raises :class:`ValueError` if a trained encoder has no vectors for nodes that the edges bring, or has
    them for nothing.
    """
    nodes = adds_nodes(pretrained_edges(config, from_cls=False))
    if nodes != (encoder.relations is not None):
        raise ValueError(
            f"'edges' cannot be {config.edges!r}: the model was trained "
            f"{'without' if nodes else 'with'} relation nodes"
        )


def root_sees_words(edges: BaseTransform) -> bool:
    """Whether some ROOT, whose state stands for the sentence, sees a word."""
    data = edges(phrase_probe().clone())
    source, target = A.AttentionLayout.of(data).pairs
    kinds = data.node_type
    return bool(((kinds[target] == NodeType.ROOT) & (kinds[source] != NodeType.ROOT)).any())


def _cls_sees_all(edges: BaseTransform) -> bool:
    data = _probe(edges)
    (cls,) = (data.node_type == NodeType.CLS).nonzero()
    seen = data.node_type != NodeType.WORD  # what is no word need not be seen
    source, target = A.AttentionLayout.of(data).pairs
    seen[source[target == cls]] = True
    return bool(seen.all())
