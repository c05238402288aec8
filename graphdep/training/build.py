"""Encoders, edges and optimizers of the settings."""

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
class BuildInputs:
    """What a model is built from, besides the settings.

    Args:
        num_words, num_relations: Sizes of the vocabularies.
        vectors: Initial word vectors, ``[num_words, dim]``. (default: :obj:`None`)
        pretrained: The pretrained encoder, if any. (default: :obj:`None`)
        num_classes: Number of classes, if the data define them. (default: the task's)
        labels: Names of the classes by number, if the data define them. (default: :obj:`None`)

    Example:
        >>> from graphdep import RelationVocab
        >>> from graphdep.tasks import BuildInputs
        >>> from graphdep.training import TrainConfig
        >>> from graphdep.training.family import build_task
        >>> config = TrainConfig.of("dt", task="sst", hidden_channels=12)
        >>> task = build_task(config, BuildInputs(num_words=50, num_relations=len(RelationVocab())))
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
"""Settings that are also options of edge presets."""
_TREES: dict[str, Callable[[int], BaseTransform]] = {
    "random": lambda seed: T.RandomTree(seed),
    "random-labels": lambda seed: T.RandomTree(seed, labels="keep"),
    "chain": lambda seed: T.ChainTree(),
    "reversed": lambda seed: T.ReversedTree(),
    "rerooted": lambda seed: T.RerootedTree(),
    **{name: functools.partial(T.NoisyTree, share) for name, share in NOISY_TREES.items()},
}
_TREES |= {name: _TREES[kept] for name, kept in PARSED.items()}
# The same controls for constituents.
_BRACKETS: dict[str, Callable[[int], BaseTransform]] = {
    "random": lambda seed: T.RandomBrackets(seed),
    "random-labels": lambda seed: T.RandomBrackets(seed, labels="keep"),
    "chain": lambda seed: T.RightBrackets(),
}


def with_trees(config: TrainConfig, edges: list[BaseTransform]) -> BaseTransform:
    """The edges, after the controls of word order and parse that the settings name."""
    parts = [*([_TREES[config.trees](config.seed)] if config.trees in _TREES else []), *edges]
    if config.reads_constituents and config.trees in _TREES:
        if config.trees not in _BRACKETS:
            raise ValueError(
                f"'trees' cannot be {config.trees!r} for edges that read constituents: the controls are "
                f"{', '.join(_BRACKETS)}"
            )
        parts.insert(0, _BRACKETS[config.trees](config.seed))
    if config.word_order == "shuffled":
        parts.insert(0, T.ShuffledPositions(config.seed))
    return parts[0] if len(parts) == 1 else Compose(parts)


def node_options(config: NodeConfig, name: str) -> dict[str, Any]:
    """The options of a preset for the nodes that it adds."""
    if name not in ADDING_NODES:
        return {}
    # A text has one of the two: [CLS] in pretrained layouts, ROOT in others.
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
    """The edges of a preset, its options set from the settings."""
    taken = T.preset_options(name)
    # Only some settings have directions; otherwise the preset's default holds.
    options: dict[str, Any] = {
        option: getattr(config, option)
        for option in EDGE_OPTIONS
        if option in taken and hasattr(config, option)
    }
    nodes = node_options(config, name) if isinstance(config, NodeConfig) else {}
    return T.resolve(name, implicit=True, **options, **nodes)


# Descriptions of what edges carry, for messages, which name the first kind that applies.
_CARRIED = {
    TYPES: "types of pairs ('edge_type')",
    DISTANCES: "a distance of each pair ('edge_type')",
    MARKS: "marks of pairs ('edge_mark')",
    NODES: "added nodes",
    CLIQUES: "implicit pairs ('clique')",
}
_SEEN = {
    ROOT: "no word reaches ROOT, whose state {model} uses (use edges | RootEdges())",
    CLS: "no word reaches [CLS], whose state {model} uses (use edges | SpecialEdges())",
    CLS_ALL: "some words do not reach [CLS], whose state {model} uses (use edges | SpecialEdges())",
}


def check_read(learner: Any, config: TrainConfig, edges: list[BaseTransform]) -> None:
    """Raises :class:`ValueError` if edges carry data that the model does not read, or lack data that it
    reads.

    Args:
        learner: The class of the task.
        config: The settings.
        edges: The edges of the settings and the transforms after them.
    """
    lacking, ignored = _misfit(learner, config, edges)
    if not lacking and not ignored:
        return
    model = _model(config)
    faults = [fault.format(model=model) for kind, fault in _SEEN.items() if kind in lacking]
    if lacking - _SEEN.keys():
        own = str(resolve_model(config.model, config.models).settings["edges"])
        advice = _first_fitting(learner, config, "edges", [own, *T.PRESETS])
        faults.append(f"{model} reads {describe_carried(lacking)}, which they do not carry ({advice})")
    if ignored:
        advice = _first_fitting(learner, config, "model", _by_likeness(config))
        faults.append(f"they carry {describe_carried(ignored)}, which {model} does not read ({advice})")
    raise ValueError(f"'edges' cannot be {config.edges!r}: {'; '.join(faults)}")


def describe_carried(kinds: Set[str]) -> str:
    """The description of the first of these kinds that edges carry, or of a column without a kind."""
    return next((text for kind, text in _CARRIED.items() if kind in kinds), f"a column {min(kinds)!r}")


def _misfit(
    learner: Any, config: TrainConfig, edges: list[BaseTransform]
) -> tuple[frozenset[str], frozenset[str]]:
    """The kinds that the model reads and edges lack, and those that edges carry and the model ignores."""
    # With these settings any model embeds the nodes that edges add (embed_nodes).
    nodes = {NODES} if isinstance(config, NodeConfig) else set()
    reads, there = learner.reads(config) | nodes, carried(Compose(edges))
    # Later transforms may overwrite the columns of the edges.
    return missing(there, reads), unread(carried(edges[0]) | there, reads)


def _model(config: TrainConfig) -> str:
    """The model's name, with the settings that change what it reads."""
    usual = resolve_model(config.model, config.models).settings
    names = ("relation_attention",) if config.pretrained else ("encoder", "relation_attention")
    changed = [
        n for n in names if n in config.marks and getattr(config, n) != usual.get(n, config.default_of(n))
    ]
    said = "".join(f" with {name}={getattr(config, name)!r}" for name in changed)
    return f"model {config.model!r}{said}"


def _first_fitting(learner: Any, config: TrainConfig, setting: str, names: Iterable[str]) -> str:
    """The first of the named edges (or models) that fits the model (or edges), as advice."""
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
    return "no edges here do" if setting == "edges" else "no model here does"


def _by_likeness(config: TrainConfig) -> list[str]:
    """Names of models: those with these edges first, shorter names (usually the plain models) first."""

    def likeness(name: str) -> tuple[bool, int]:
        return config.models[name].edges != config.edges, len(name)

    return sorted(config.models, key=likeness)


def _row(config: TrainConfig, model: str) -> TrainConfig:
    """The settings with another model."""
    of_models = {**resolve_model(config.model, config.models).settings, **config.models[model].settings}
    kept = {name: value for name, value in config.to_dict().items() if name not in (*of_models, "model")}
    return config.of(model, **kept, edges=config.edges)


def _deep_lstm(num_words: int, *, hidden_channels: int, **options: Any) -> M.LSTMEncoder:
    """Two layers, with about as many weights as two Transformer layers with ``ff_channels`` twice as wide."""
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
"""The attention layer of each encoder."""

# Baselines, which all take num_words, hidden_channels, dropout and vectors.
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
# Further options of single baselines.
_BASELINE_OPTIONS = {
    "tree-transformer": ("heads", "ff_channels"),
    "word-average": ("window",),
    "dt-rnn": ("dependent_places", "places_from"),
}


def build_encoder(
    config: Any, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.TextEncoder:
    """A new encoder of the settings.

    Args:
        config: An :class:`~graphdep.training.encoder_config.EncoderConfig`.
        num_words, num_relations: Sizes of the vocabularies.
        vectors: Initial word vectors, ``[num_words, dim]``. (default: :obj:`None`)
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
        own = {name: getattr(config, name) for name in _BASELINE_OPTIONS.get(config.encoder, ())}
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
    """Adds vectors for the nodes that the edges of the settings add, if any, to an encoder in place; their
    initial standard deviation is that of its word vectors.

    Args:
        config: The settings, a :class:`~graphdep.training.encoder_config.NodeConfig`.
        num_relations: Number of relation ids.
        encoder: A :class:`~graphdep.nn.models.TextEncoder` or :class:`~graphdep.nn.models.NodeEmbedding`.
    """
    if not adds_nodes(config):
        return
    size = encoder.embedding_channels if config.pretrained else encoder.hidden_channels
    std = encoder.embedding_std if config.pretrained else size**-0.5
    vectors = M.RelationEmbedding(num_relations, size, type_embedding=config.type_embedding, std=std)
    encoder.add_relations(vectors)


def adds_nodes(config: Any) -> bool:
    """Whether the edges of the settings add nodes."""
    return config.edges is not None and NODES in carried(T.resolve(config.edges))


def attention_of(config: Any, num_relations: int) -> Callable[[int], nn.Module]:
    """Makes the attention of a layer from its number."""
    sizes = config.hidden_channels, config.hidden_channels // config.heads, config.heads
    kind = ATTENTION[config.encoder]
    own: dict[str, Any] = {"dropout": config.dropout}
    if kind is C.RelationKeyValueConv:
        own["num_relations"] = num_relations
    if kind is C.GATEConv:
        own["max_distance"] = max(1, config.max_distance)

    def conv(layer: int) -> nn.Module:
        # LISA has a syntactic head in one layer, the middle one.
        if kind is C.LISAConv and layer != config.num_layers // 2:
            return C.AttentionConv(*sizes, **own)
        return kind(*sizes, **own)

    return conv


def with_types(config: Any, edges: BaseTransform) -> list[BaseTransform]:
    """The edges, followed by a transform that adds their types if the model needs and the edges lack them."""
    if not config.relation_attention or TYPES in carried(edges):
        return [edges]
    types: list[BaseTransform] = [edges, T.TreePathTypes(config.max_distance)]
    if not (config.labels and config.directions):
        types.append(T.MergeTypes(labels=config.labels, directions=config.directions))
    return types


def encoder_reads(config: EncoderConfig) -> frozenset[str]:
    """The kinds of edge data that the encoder of the settings reads."""
    if config.pretrained:
        terms = A.RelationKeyValue if config.relation_terms == "key-value" else A.GatedRelationScore
        return C.AttentionConv.reads | (terms.reads if config.relation_attention else frozenset())
    return (C.GatedRelationConv if config.relation_attention else ATTENTION[config.encoder]).reads


def add_syntax(config: EncoderConfig, num_relations: int, encoder: PretrainedEncoder) -> None:
    """Adds the syntax of the settings to a pretrained encoder in place, and freezes its ``freeze_layers``.

    Args:
        config: The settings.
        num_relations: Number of relation ids.
        encoder: The encoder.
    """
    encoder.windows = config.windows
    embed_nodes(config, num_relations, encoder)
    if config.relation_attention:
        encoder.add_terms(_terms(config, num_relations, encoder))
    if config.freeze_layers:
        encoder.freeze(config.freeze_layers)


def _terms(config: EncoderConfig, num_relations: int, encoder: PretrainedEncoder) -> Callable[[], nn.Module]:
    """Makes the relation terms of the layers, one call per layer."""
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
    """The edges of the settings for a pretrained encoder: between the two texts of a pair, too, if the preset
    has the option, and from all words to [CLS], if the edges can be extended.
    """
    assert config.edges is not None
    edges = T.resolve(config.edges, implicit=True, **_options(config, config.edges))
    if CLS_ALL in carried(edges) or not isinstance(edges, T.EdgeConstructor):
        return edges
    return edges | T.SpecialEdges()


def _options(config: EncoderConfig, edges: str) -> dict[str, Any]:
    """The options of a preset."""
    options: dict[str, Any] = {name: getattr(config, name) for name in EDGE_OPTIONS}
    options["scope"] = "example"
    if config.pieces is not None:
        options["pieces"] = config.pieces
    taken = T.preset_options(edges)
    own = {name: value for name, value in options.items() if name in taken}
    return own | node_options(config, edges)


def check_nodes(config: TrainConfig, trained: TrainConfig, model: nn.Module) -> None:
    """Raises :class:`ValueError` unless a trained model has vectors for exactly the kind of nodes that the
    edges add.
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
    """Loads the pretrained encoder of the settings."""
    from graphdep.nn.pretrained.loading import load_encoder

    return load_encoder(config.encoder, base=config.encoder_base)


def fingerprint_of(encoder: PretrainedEncoder) -> str:
    """Digest of an encoder's weights and tokenizer."""
    sha = hashlib.sha256(encoder.tokens.fingerprint.encode())
    for name, weight in encoder.model.state_dict().items():
        sha.update(name.encode())
        # NumPy has no bfloat16, but any tensor can be viewed as bytes.
        sha.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return sha.hexdigest()[:16]


def backbone_of(model: nn.Module) -> Any:
    """The encoder of a model, without its head."""
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
    """The optimizer of the settings, to be called with parameters or groups of them."""
    options: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    if config.optimizer == "adagrad":
        return functools.partial(_adagrad, **options)
    # One pass over the weights instead of a dozen, a large part of a step on a GPU, and of a step of a small
    # pretrained encoder on a CPU.
    return functools.partial(_OPTIMIZERS[config.optimizer], **options, fused=True)


def training_options(config: TrainConfig) -> dict[str, Any]:
    """Arguments of :class:`~graphdep.training.learning_task.LearningTask`."""
    return {"warmup_steps": config.warmup_steps, "seed": config.seed}


def _adagrad(parameters: Iterable[Any], **options: Any) -> torch.optim.Adagrad:
    optimizer = torch.optim.Adagrad(parameters, **options)
    _fuse_on_cpu(optimizer)
    optimizer.register_load_state_dict_post_hook(_fuse_on_cpu)  # the run may have begun on another device
    return optimizer


def _fuse_on_cpu(optimizer: torch.optim.Optimizer) -> None:
    """Adagrad is fused on the CPU only; on other devices its step counts must stay on the CPU."""
    for group in optimizer.param_groups:
        group["fused"] = all(parameter.is_cpu for parameter in group["params"]) or None
        for parameter in group["params"] if group["fused"] is None else ():
            if "step" in optimizer.state[parameter]:
                optimizer.state[parameter]["step"] = optimizer.state[parameter]["step"].cpu()


def grouped_optimizer(config: TrainConfig, model: nn.Module) -> MakeOptimizer:
    """The optimizer of the settings over :func:`parameter_groups`."""
    assert isinstance(config, PretrainedConfig)
    optimizer, settings = make_optimizer(config), config
    return lambda parameters: optimizer(parameter_groups(parameters, backbone_of(model), settings))


def parameter_groups(
    parameters: Iterable[nn.Parameter], backbone: Any, config: PretrainedConfig
) -> list[dict[str, Any]]:
    """The trained parameters in groups of one learning rate and weight decay: those of a pretrained encoder
    as in :meth:`~graphdep.nn.pretrained.PretrainedEncoder.parameter_groups`, those of the head with
    ``head_lr``, vectors without decay. With an encoder that is trained from scratch there is one group.

    Args:
        parameters: The parameters of the model.
        backbone: Its encoder.
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
# The speed test: rows of a batch, repetitions, and the speed-up from which bf16 is worth its rounding.
_ROWS, _TIMES, _GAIN = 512, 10, 1.3
# In narrower models the casts cost more than the products gain: steps with 300 and 96 channels took 1.07 and
# 3.1 times as long in bf16, though projections alone were faster (examples/research/results/speed.md).
_LEAST_CHANNELS = 384
# The width of a pretrained encoder is unknown before it is loaded: that of small ones; wider ones gain more.
_PRETRAINED_CHANNELS = 384


def resolve_precision(config: TrainConfig) -> TrainConfig:
    """The settings with ``precision="auto"`` replaced by the fastest precision of this machine.

    For models with 384 channels or more it is ``"bf16-mixed"`` on a GPU with bf16, or on a CPU that is faster
    with it (measured in milliseconds, once per process). For narrower models it is ``"tf32"`` on such a GPU.
    Otherwise it is ``"32-true"``. The digest of a run has the chosen precision.

    Args:
        config: The settings.

    Example:
        >>> from graphdep.training import TrainConfig
        >>> resolve_precision(TrainConfig.of("dt", precision="16-mixed")).precision
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
    """The speed-up by bf16 autocast of a linear layer, forward and backward, on the CPU: the ratio of the
    best of a few alternating repetitions. Results are cached by the number of threads.
    """
    with torch.random.fork_rng(devices=[]):  # leaves the random numbers of the run as they are
        projection = nn.Linear(channels, channels)
        x = torch.randn(_ROWS, channels, requires_grad=True)
    seconds = {False: float("inf"), True: float("inf")}
    for number in range(_TIMES + 1):
        for half in seconds:
            start = time.process_time()  # excludes other processes
            with torch.enable_grad():
                with torch.autocast("cpu", torch.bfloat16, enabled=half):
                    y = projection(x)
                y.float().sum().backward()
            if number:  # the first repetition is a warm-up
                seconds[half] = min(seconds[half], time.process_time() - start)
    return seconds[False] / seconds[True]


def start_encoder(config: WordConfig, parts: BuildInputs) -> TextEncoder:
    """The pretrained encoder as it was loaded, or a new one.

    Args:
        config: The settings.
        parts: Sizes of the vocabularies, word vectors, and the pretrained encoder, if any.
    """
    if parts.pretrained is not None:
        return parts.pretrained
    return build_encoder(config, parts.num_words, parts.num_relations, parts.vectors)


def complete_encoder(encoder: TextEncoder, config: WordConfig, parts: BuildInputs, marks: int) -> None:
    """Adds mark vectors to an encoder in place, and syntax to a pretrained one. Call it after the head is
    made: then all models of a seed start with the same head and marks.

    Args:
        encoder: The result of :func:`start_encoder`.
        config, parts: See :func:`start_encoder`.
        marks: Number of marks, including 0 for unmarked words; 0 for no mark vectors.
    """
    if marks:
        encoder.add_marks(marks)
    if parts.pretrained is not None:
        add_syntax(config, parts.num_relations, parts.pretrained)
