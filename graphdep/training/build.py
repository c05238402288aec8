"""From settings to vocabulary, encoder, edges and optimizer."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch_geometric.transforms import BaseTransform

from graphdep import transforms as T
from graphdep.nn import attention as A
from graphdep.nn import conv as C
from graphdep.nn import models as M
from graphdep.nn.models.transformer import TextEncoder
from graphdep.training.config import TrainConfig, resolve_model
from graphdep.training.encoder_config import (
    ADDING_NODES,
    CONVS,
    EncoderConfig,
    NodeConfig,
    PretrainedConfig,
    WordConfig,
)
from graphdep.training.settings import NOISY_TREES, PARSED
from graphdep.transforms.carried import carried, missing, unread
from graphdep.transforms.edge_set import CLIQUES, CLS, CLS_ALL, DISTANCES, MARKS, NODES, ROOT, TYPES, Compose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder


@dataclass(frozen=True, eq=False)
class Parts:
    """What a family builds a model from beside the settings.

    Args:
        num_words, num_relations: Sizes of the vocabularies.
        vectors: Word vectors to start from, ``[num_words, dim]``. (default: :obj:`None`)
        pretrained: The encoder, where it has weights already. (default: :obj:`None`)
        num_classes: Size of the output, where the data decide it. (default: the task's)
        labels: The names of the classes by their numbers, where the data decide them. (default: :obj:`None`)

    Example:
        >>> from graphdep import RelationVocab
        >>> from graphdep.tasks import Parts
        >>> from graphdep.training import TrainConfig
        >>> from graphdep.training.family import build_task
        >>> config = TrainConfig.of("dt", task="sst", hidden_channels=12)
        >>> task = build_task(config, Parts(num_words=50, num_relations=len(RelationVocab())))
        >>> task.model.encoder.hidden_channels
        12
    """

    num_words: int
    num_relations: int
    vectors: Tensor | None = None
    pretrained: PretrainedEncoder | None = None
    num_classes: int | None = None
    labels: Sequence[Label] | None = None


EDGE_OPTIONS = ("max_distance", "max_sum", "labels", "directions")
"""Settings that are options of edge presets, too."""
_TREES: dict[str, Callable[[int], BaseTransform]] = {
    "random": lambda seed: T.RandomTree(seed),
    "random-labels": lambda seed: T.RandomTree(seed, labels="keep"),
    "chain": lambda seed: T.ChainTree(),
    "reversed": lambda seed: T.ReversedTree(),
    "rerooted": lambda seed: T.RerootedTree(),
    **{name: functools.partial(T.NoisyTree, share) for name, share in NOISY_TREES.items()},
}
_TREES |= {name: _TREES[kept] for name, kept in PARSED.items()}
# The same of constituents.
_BRACKETS: dict[str, Callable[[int], BaseTransform]] = {
    "random": lambda seed: T.RandomBrackets(seed),
    "random-labels": lambda seed: T.RandomBrackets(seed, labels="keep"),
    "chain": lambda seed: T.RightBrackets(),
}


def with_trees(config: TrainConfig, edges: list[BaseTransform]) -> BaseTransform:
    """The controls that replace word order and parse, where the settings name them, and then the edges."""
    parts = [*([_TREES[config.trees](config.seed)] if config.trees in _TREES else []), *edges]
    if config.reads_constituents and config.trees in _TREES:
        if config.trees not in _BRACKETS:
            raise ValueError(
                f"'trees' cannot be {config.trees!r} where edges read constituents: their controls are "
                f"{', '.join(_BRACKETS)}"
            )
        parts.insert(0, _BRACKETS[config.trees](config.seed))
    if config.word_order == "shuffled":
        parts.insert(0, T.ShuffledPositions(config.seed))
    return parts[0] if len(parts) == 1 else Compose(parts)


def node_options(config: NodeConfig, name: str) -> dict[str, Any]:
    """Options of a preset about the nodes that it adds, as the settings have them."""
    if name not in ADDING_NODES:
        return {}
    # Of a text one of the two stands for it: [CLS] in pretrained layouts, ROOT in the others.
    options: dict[str, Any] = {
        "overview": ("CLS", "ROOT") if config.cls_links else (),
        "direction": config.links,
    }
    options |= {"position": config.relation_position, "relation_links": config.relation_links}
    if name == "constituents":
        named = {"to_relation": "to_phrase", "dependent": "first"}
        options |= {key: named.get(options[key], options[key]) for key in ("direction", "position")}
    return {key: value for key, value in options.items() if key in T.preset_options(name)}


def preset_edges(config: TrainConfig, name: str) -> BaseTransform:
    """The edges of a preset with those of its options that are settings."""
    taken = T.preset_options(name)
    # Directions are settings of sentences alone; elsewhere the preset's own hold.
    options: dict[str, Any] = {
        option: getattr(config, option)
        for option in EDGE_OPTIONS
        if option in taken and hasattr(config, option)
    }
    nodes = node_options(config, name) if isinstance(config, NodeConfig) else {}
    return T.resolve(name, implicit=True, **options, **nodes)


# How messages describe what edges carry; of several kinds the first is named.
_CARRIED = {
    TYPES: "types of pairs ('edge_type')",
    DISTANCES: "a distance of each pair ('edge_type')",
    MARKS: "marks of pairs ('edge_mark')",
    NODES: "nodes of their own",
    CLIQUES: "pairs that are not written out ('clique')",
}
_SEEN = {
    ROOT: "ROOT sees no word, and its state is what {model} is read from (edges | RootEdges() mends it)",
    CLS: "[CLS] sees no word, and its state is what {model} is read from (edges | SpecialEdges() mends it)",
    CLS_ALL: "they keep words from [CLS], which {model} is read from (edges | SpecialEdges() mends it)",
}


def check_read(learner: Any, config: TrainConfig, edges: list[BaseTransform]) -> None:
    """Raises :class:`ValueError` where edges carry something that the model does not read, or lack something
    that it reads.

    Args:
        learner: The class of the task.
        config: The settings.
        edges: The edges that the settings name, and the transforms after them.
    """
    lacking, vain = _misfit(learner, config, edges)
    if not lacking and not vain:
        return
    model = _model(config)
    faults = [fault.format(model=model) for kind, fault in _SEEN.items() if kind in lacking]
    if lacking - _SEEN.keys():
        own = str(resolve_model(config.model, config.models).settings["edges"])
        those = _first_fitting(learner, config, "edges", [own, *T.PRESETS])
        faults.append(f"{model} reads {told(lacking)}, which they do not carry ({those})")
    if vain:
        those = _first_fitting(learner, config, "model", _by_likeness(config))
        faults.append(f"they carry {told(vain)}, which {model} does not read ({those})")
    raise ValueError(f"'edges' cannot be {config.edges!r}: {'; '.join(faults)}")


def told(kinds: Set[str]) -> str:
    """The description of the first kind that edges carry, or of a column that no kind describes."""
    return next((text for kind, text in _CARRIED.items() if kind in kinds), f"a column {min(kinds)!r}")


def _misfit(
    learner: Any, config: TrainConfig, edges: list[BaseTransform]
) -> tuple[frozenset[str], frozenset[str]]:
    """Kinds that the model reads and edges lack; kinds that edges carry and the model does not read."""
    # Models of these settings embed the nodes that edges add, whatever else they read (embed_nodes).
    nodes = {NODES} if isinstance(config, NodeConfig) else set()
    reads, there = learner.reads(config) | nodes, carried(Compose(edges))
    # Later transforms may write over the columns of the edges.
    return missing(there, reads), unread(carried(edges[0]) | there, reads)


def _model(config: TrainConfig) -> str:
    """The model's name, with the settings that change what it reads."""
    usual = resolve_model(config.model, config.models).settings
    names = ("relation_attention",) if config.pretrained else ("encoder", "relation_attention")
    changed = [n for n in names if n in config.marks and getattr(config, n) != usual.get(n, config.usual(n))]
    said = "".join(f" with {name}={getattr(config, name)!r}" for name in changed)
    return f"model {config.model!r}{said}"


def _first_fitting(learner: Any, config: TrainConfig, setting: str, names: Iterable[str]) -> str:
    """Advice: the first of the named edges (or models) that fit the model (or edges)."""
    does = "do" if setting == "edges" else "does"
    for name in names:
        try:
            other = config.replace(edges=name) if setting == "edges" else _row(config, name)
            assert other.edges is not None
            fits = _misfit(learner, other, learner.own_edges(other, other.edges)) == (
                frozenset(),
                frozenset(),
            )
        except ValueError:
            continue
        if fits and other.pretrained == config.pretrained:
            return f"{setting} {name!r} {does}"
    return f"no {setting} here {'fit it' if setting == 'edges' else 'takes these edges'}"


def _by_likeness(config: TrainConfig) -> list[str]:
    """Names of models, first those whose own edges are these; a short name is mostly the plain model."""

    def likeness(name: str) -> tuple[bool, int]:
        return config.models[name].edges != config.edges, len(name)

    return sorted(config.models, key=likeness)


def _row(config: TrainConfig, model: str) -> TrainConfig:
    """The settings with another model."""
    of_rows = {**resolve_model(config.model, config.models).settings, **config.models[model].settings}
    kept = {name: value for name, value in config.to_dict().items() if name not in (*of_rows, "model")}
    return config.of(model, **kept, edges=config.edges)


def _deep_lstm(num_words: int, *, hidden_channels: int, **options: Any) -> M.LSTMEncoder:
    """Two layers with about as many weights as two of a Transformer with twice the channels inside."""
    channels = 2 * (2 * hidden_channels // 3)
    sizes: dict[str, Any] = {"hidden_channels": channels, "in_channels": hidden_channels, "num_layers": 2}
    return M.LSTMEncoder(num_words, bidirectional=True, **sizes, **options)


ATTENTION: Mapping[str, type[C.AttentionConv]] = MappingProxyType(
    {
        "transformer": C.AttentionConv,
        "dialogbert": C.AttentionConv,  # of words
        "lisa": C.LISAConv,  # in one layer
        "gate": C.GATEConv,
        "g2g": C.RelationKeyValueConv,
    }
)
"""Attention over edges by the encoder that is made of it."""

# Baselines: each takes num_words, hidden_channels, dropout and vectors.
_BASELINES: dict[str, Callable[..., M.TextEncoder]] = {
    "word-average": M.WordAverage,
    "lstm": M.LSTMEncoder,
    "bilstm": functools.partial(M.LSTMEncoder, bidirectional=True),
    "bilstm-deep": _deep_lstm,
    "bilstm-labels": _deep_lstm,
    "bigru": functools.partial(M.GRUEncoder, bidirectional=True),
    "tree-lstm": M.TreeLSTM,
    "bitree-lstm": functools.partial(M.TreeLSTM, bidirectional=True),
    "tree-transformer": M.TreeTransformer,
    "dt-rnn": M.DependencyTreeRNN,
}
# What single ones take besides.
_OWN = {
    "tree-transformer": ("heads", "ff_channels"),
    "word-average": ("window",),
    "dt-rnn": ("dependent_places", "places_from"),
}


def build_encoder(
    config: Any, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.TextEncoder:
    """The encoder of the settings, not trained.

    Args:
        config: A :class:`TrainConfig` with
            :class:`~graphdep.training.encoder_config.EncoderConfig`.
        num_words, num_relations: Sizes of the vocabularies.
        vectors: Word vectors to start from, ``[num_words, dim]``. (default: :obj:`None`)
    """
    common: dict[str, Any] = {
        "hidden_channels": config.hidden_channels,
        "dropout": config.dropout,
        "vectors": vectors,
    }
    if config.encoder in CONVS:
        graph = M.GraphTransformer(
            num_words,
            attention_of(config, num_relations),
            num_layers=config.num_layers,
            ff_channels=config.ff_channels,
            level_embedding=config.level_embedding,
            position_embedding=config.position_embedding,
            norm_first=config.norm_first,
            **common,
        )
        embed_nodes(config, num_relations, graph)
        return graph
    if config.encoder != "transformer":
        own = {name: getattr(config, name) for name in _OWN.get(config.encoder, ())}
        own |= {"num_relations": num_relations} if config.encoder == "bilstm-labels" else {}
        return _BASELINES[config.encoder](num_words, **common, **own)
    encoder = M.DependencyTransformer(
        num_words,
        num_relations,
        num_layers=config.num_layers,
        heads=config.heads,
        relation_dim=config.relation_dim,
        ff_channels=config.ff_channels,
        relation_attention=config.relation_attention,
        gate=config.gate,
        gate_state=config.gate_state,
        untyped=config.untyped,
        start=config.start,
        level_embedding=config.level_embedding,
        position_embedding=config.position_embedding,
        norm_first=config.norm_first,
        embedding_scale=config.embedding_scale,
        **common,
    )
    embed_nodes(config, num_relations, encoder)
    return encoder


def embed_nodes(config: Any, num_relations: int, encoder: Any) -> None:
    """Gives an encoder vectors of the nodes that the edges of the settings add, drawn as wide as those of its
    words; none where they add no nodes.

    Args:
        config: The settings, a :class:`~graphdep.training.encoder_config.NodeConfig`.
        num_relations: Number of relation ids.
        encoder: What has ``add_relations``: a :class:`~graphdep.nn.models.TextEncoder` or a
            :class:`~graphdep.nn.models.NodeEmbedding`. It is changed in place.
    """
    if not adds_nodes(config):
        return
    size = encoder.embedding_channels if config.pretrained else encoder.hidden_channels
    std = encoder.embedding_std if config.pretrained else size**-0.5
    vectors = M.RelationEmbedding(num_relations, size, type_embedding=config.type_embedding, std=std)
    encoder.add_relations(vectors)


def adds_nodes(config: Any) -> bool:
    """Whether the edges of the settings add nodes to those of the text."""
    return config.edges is not None and NODES in carried(T.resolve(config.edges))


def attention_of(config: Any, num_relations: int) -> Callable[[int], nn.Module]:
    """The attention of each layer by its number."""
    sizes = config.hidden_channels, config.hidden_channels // config.heads, config.heads
    kind = ATTENTION[config.encoder]
    own: dict[str, Any] = {"dropout": config.dropout}
    if kind is C.RelationKeyValueConv:
        own["num_relations"] = num_relations
    if kind is C.GATEConv:
        own["max_distance"] = max(1, config.max_distance)

    def conv(layer: int) -> nn.Module:
        # LISA gives one layer a syntactic head; in the middle, as far as there is one.
        if kind is C.LISAConv and layer != config.num_layers // 2:
            return C.AttentionConv(*sizes, **own)
        return kind(*sizes, **own)

    return conv


def with_types(config: Any, edges: BaseTransform) -> list[BaseTransform]:
    """The edges, and their types where the model needs and the edges lack them; settings as of
    :func:`build_encoder`.
    """
    if not config.relation_attention or TYPES in carried(edges):
        return [edges]
    types: list[BaseTransform] = [edges, T.TreePathTypes(config.max_distance)]
    if not (config.labels and config.directions):
        types.append(T.MergeTypes(labels=config.labels, directions=config.directions))
    return types


def encoder_reads(config: EncoderConfig) -> frozenset[str]:
    """What the encoder of the settings, pretrained or not, reads of edges."""
    if config.pretrained:
        terms = A.RelationKeyValue if config.relation_terms == "key-value" else A.GatedRelationScore
        return C.AttentionConv.reads | (terms.reads if config.relation_attention else frozenset())
    return (C.GatedRelationConv if config.relation_attention else ATTENTION[config.encoder]).reads


def add_syntax(config: EncoderConfig, num_relations: int, encoder: PretrainedEncoder) -> None:
    """Gives an encoder what the settings add to its layers, not trained, and freezes those that stay.

    Args:
        config: The settings.
        num_relations: Number of relation ids.
        encoder: The encoder, with its weights. It is changed in place.
    """
    encoder.windows = config.windows
    embed_nodes(config, num_relations, encoder)
    if config.relation_attention:
        encoder.add_terms(_terms(config, num_relations, encoder))
    if config.freeze_layers:
        encoder.freeze(config.freeze_layers)


def _terms(config: EncoderConfig, num_relations: int, encoder: PretrainedEncoder) -> Callable[[], nn.Module]:
    """Makes the relation terms of one layer after another."""
    size, heads = encoder.hidden_channels, encoder.heads
    unchanged = config.relation_start == "unchanged"
    if config.relation_terms == "key-value":
        start = "zero" if unchanged else "random"
        return lambda: A.RelationKeyValue(
            num_relations, heads, encoder.head_channels, scaling=config.scaling, start=start
        )
    made: list[A.GatedRelationScore] = []

    def make() -> nn.Module:
        made.append(
            A.GatedRelationScore(
                size,
                heads,
                num_relations,
                config.relation_dim,
                gate=config.gate,
                gate_state=config.gate_state,
                untyped=config.untyped,
                relation=made[0].relation if made else None,  # all layers share the vectors
                start="closed" if unchanged and config.gate != "sigmoid" else "random",
            )
        )
        return made[-1]

    return make


def pretrained_edges(config: EncoderConfig) -> BaseTransform:
    """The edges of the settings over the nodes of a pretrained encoder: both texts of a pair see each other
    where the preset leaves it open, and [CLS] sees all words where edges can be made to have it so.
    """
    assert config.edges is not None
    edges = T.resolve(config.edges, implicit=True, **_options(config, config.edges))
    if CLS_ALL in carried(edges) or not isinstance(edges, T.EdgeConstructor):
        return edges
    return edges | T.SpecialEdges()


def _options(config: EncoderConfig, edges: str) -> dict[str, Any]:
    """Values of a preset's options, by their names there."""
    options: dict[str, Any] = {name: getattr(config, name) for name in EDGE_OPTIONS}
    options["scope"] = "example"
    if config.pieces is not None:
        options["pieces"] = config.pieces
    taken = T.preset_options(edges)
    own = {name: value for name, value in options.items() if name in taken}
    return own | node_options(config, edges)


def check_nodes(config: TrainConfig, trained: TrainConfig, model: nn.Module) -> None:
    """Raises :class:`ValueError` if a trained model has no vectors for nodes that the edges add, has them for
    nothing, or for nodes of another kind.
    """
    if config.edges is None or not isinstance(config, NodeConfig):
        return
    encoder = backbone_of(model)
    table = encoder if config.pretrained else getattr(encoder, "embedding", encoder)
    nodes = adds_nodes(config)
    if nodes and adds_nodes(trained) and config.reads_constituents != trained.reads_constituents:
        kind = "phrases" if trained.reads_constituents else "relations"
        raise ValueError(f"'edges' cannot be {config.edges!r}: the model was trained with nodes of {kind}")
    if nodes != (getattr(table, "relations", None) is not None):
        raise ValueError(
            f"'edges' cannot be {config.edges!r}: the model was trained "
            f"{'without' if nodes else 'with'} nodes of relations or phrases"
        )


def load_pretrained(config: TrainConfig) -> PretrainedEncoder:
    """The pretrained encoder of the settings, with its weights."""
    from graphdep.nn.pretrained.loading import load_encoder

    return load_encoder(config.encoder, base=config.encoder_base)


def fingerprint_of(encoder: PretrainedEncoder) -> str:
    """Digest of an encoder's weights and tokenizer, wherever they lie."""
    sha = hashlib.sha256(encoder.tokens.fingerprint.encode())
    for name, weight in encoder.model.state_dict().items():
        sha.update(name.encode())
        # Any type of number has bytes.
        sha.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return sha.hexdigest()[:16]


def backbone_of(model: nn.Module) -> Any:
    """The encoder of a model, without what stands on it."""
    encoder = model.encoder
    return encoder.encoder if isinstance(encoder, (M.SIA, M.FrozenEncoder)) else encoder


_OPTIMIZERS = {
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}
MakeOptimizer = Callable[[Iterable[Any]], torch.optim.Optimizer]


def make_optimizer(config: TrainConfig) -> MakeOptimizer:
    """Makes the optimizer of the settings of parameters or groups of them."""
    options: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    if config.optimizer == "adagrad":
        return functools.partial(_adagrad, **options)
    # One pass over the weights in place of a dozen, which is much of a small pretrained encoder's step on a
    # CPU, and of any step on a GPU.
    return functools.partial(_OPTIMIZERS[config.optimizer], **options, fused=True)


def training_options(config: TrainConfig) -> dict[str, Any]:
    """How the settings train, as :class:`~graphdep.training.learning_task.LearningTask` takes it."""
    return {"warmup_steps": config.warmup_steps, "seed": config.seed}


def _adagrad(parameters: Iterable[Any], **options: Any) -> torch.optim.Adagrad:
    optimizer = torch.optim.Adagrad(parameters, **options)
    _fuse_on_cpu(optimizer)
    optimizer.register_load_state_dict_post_hook(_fuse_on_cpu)  # of a run that began on another device
    return optimizer


def _fuse_on_cpu(optimizer: torch.optim.Optimizer) -> None:
    """Adagrad has that one pass on the CPU alone, and else wants its numbers of steps there."""
    for group in optimizer.param_groups:
        group["fused"] = all(parameter.is_cpu for parameter in group["params"]) or None
        for parameter in group["params"] if group["fused"] is None else ():
            if "step" in optimizer.state[parameter]:
                optimizer.state[parameter]["step"] = optimizer.state[parameter]["step"].cpu()


def grouped_optimizer(config: TrainConfig, model: nn.Module) -> MakeOptimizer:
    """Makes an optimizer of the groups of parameters that the model's encoder says, in place of all alike."""
    assert isinstance(config, PretrainedConfig)
    optimizer, settings = make_optimizer(config), config
    return lambda parameters: optimizer(parameter_groups(parameters, backbone_of(model), settings))


def parameter_groups(
    parameters: Iterable[nn.Parameter], backbone: Any, config: PretrainedConfig
) -> list[dict[str, Any]]:
    """The parameters that are trained, with the learning rate and decay of each group: those of a pretrained
    encoder as :meth:`~graphdep.nn.pretrained.PretrainedEncoder.parameter_groups` has them, and what stands on
    it in the same way. An encoder that is trained from scratch has one rate and one decay.

    Args:
        parameters: Those of all that is trained.
        backbone: The encoder among it.
        config: The settings.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if not config.pretrained:
        return [{"params": trained}]
    groups = backbone.parameter_groups(
        config.lr, weight_decay=config.weight_decay, layer_decay=config.layer_decay
    )
    known = {id(parameter) for group in groups for parameter in group["params"]}
    new = [parameter for parameter in trained if id(parameter) not in known]
    rate = config.lr if config.head_lr is None else config.head_lr
    for decay, matrices in ((config.weight_decay, True), (0.0, False)):
        params = [parameter for parameter in new if (parameter.dim() > 1) == matrices]
        groups.append({"params": params, "lr": rate, "weight_decay": decay})
    return groups


FULL, TF32, HALF = "32-true", "tf32", "bf16-mixed"
# Of the test: rows of a batch, repetitions, and how much faster bf16 must be to be worth its rounding.
_ROWS, _TIMES, _GAIN = 512, 10, 1.3
# In narrower models the casts cost what the products gain: steps of 300 and of 96 channels took 1.07 and 3.1
# times as long in bf16, where projections alone were faster (examples/research/results/speed.md).
_LEAST_CHANNELS = 384
# A pretrained encoder is not read for this: the width of small ones; wider ones gain more.
_PRETRAINED_CHANNELS = 384


def settled(config: TrainConfig) -> TrainConfig:
    """The settings with what ``precision="auto"`` is here in place of it; others as they are.

    That is ``"bf16-mixed"`` for models of 384 channels and more on a GPU that has bf16, or on a processor
    that is faster in it, which a test of milliseconds says, with matrices of the model's width and once a
    process. Narrower models, whose casts cost what the products gain, are in ``"tf32"`` on such a GPU. Else
    it is ``"32-true"``. A run is known by what it became.

    Args:
        config: The settings.

    Example:
        >>> from graphdep.training import TrainConfig
        >>> settled(TrainConfig.of("dt", precision="16-mixed")).precision
        '16-mixed'
    """
    if config.precision != "auto":
        return config
    channels = _PRETRAINED_CHANNELS if config.pretrained else config.hidden_channels
    wide = channels >= _LEAST_CHANNELS
    if config.accelerator != "cpu" and torch.cuda.is_available():
        fast = HALF if wide else TF32  # GPUs have both or neither
        return config.replace(precision=fast if torch.cuda.is_bf16_supported(False) else FULL)
    if config.accelerator != "cpu" and torch.backends.mps.is_available():
        return config.replace(precision=FULL)
    gains = wide and gain_of_bf16(channels, torch.get_num_threads()) > _GAIN
    return config.replace(precision=HALF if gains else FULL)


@lru_cache
def gain_of_bf16(channels: int, threads: int) -> float:
    """How many times as fast a projection of a layer is forward and backward under bf16 autocast, on the CPU
    with so many threads: the best of a few repetitions that take turns.
    """
    with torch.random.fork_rng(devices=[]):  # the seed of a run gives the same with and without this
        projection = nn.Linear(channels, channels)
        x = torch.randn(_ROWS, channels, requires_grad=True)
    seconds = {False: float("inf"), True: float("inf")}
    for number in range(_TIMES + 1):
        for half in seconds:
            start = time.process_time()  # other work on the machine must not decide
            with torch.enable_grad():
                with torch.autocast("cpu", torch.bfloat16, enabled=half):
                    y = projection(x)
                y.float().sum().backward()
            if number:  # the first finds its kernels
                seconds[half] = min(seconds[half], time.process_time() - start)
    return seconds[False] / seconds[True]


def start_encoder(config: WordConfig, parts: Parts) -> TextEncoder:
    """The encoder that a head is put on: the pretrained one as it was loaded, or a new one.

    Args:
        config: The settings.
        parts: Sizes of the vocabularies, word vectors, and the pretrained encoder if there is one.
    """
    if parts.pretrained is not None:
        return parts.pretrained
    return build_encoder(config, parts.num_words, parts.num_relations, parts.vectors)


def complete_encoder(encoder: TextEncoder, config: WordConfig, parts: Parts, marks: int) -> None:
    """Gives an encoder marks, and a pretrained one its syntax, once there is a head on it: then all models of
    a seed have the same head and marks, and differ by their syntax alone.

    Args:
        encoder: That of :func:`start_encoder`. It is changed in place.
        config, parts: As there.
        marks: Number of marks, 0 among them, which stands for none; 0 for no marks at all.
    """
    if marks:
        encoder.add_marks(marks)
    if parts.pretrained is not None:
        add_syntax(config, parts.num_relations, parts.pretrained)
