"""Encoders with distance-dependent scores, whose layers are run one by one over edges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.relations import RelationVectors, pick_rows

Scores = Callable[[Tensor, Tensor, AttentionLayout], Tensor]
"""A score term, ``[num_pairs, heads]``, from queries and keys ``[num_nodes, heads, d]`` and explicit
pairs."""


Attend = Callable[..., Tensor]
"""Attention of a layer over its edges, ``[1, num_nodes, heads * d]``, from the attention module, its input,
a tuple of queries, keys and values, the scaling, the dropout, and :obj:`Scores`."""


class DistanceEncoder(ABC):
    """Runs the layers of a type of encoder with the encoder's own modules.

    Attributes:
        auto_class: The class of transformers that loads the encoder.
        layers: Path of the list of layers.
        last: Paths of the modules after the layers.
        scores_distances: Whether distances affect a layer only through a score term.
    """

    auto_class = "AutoModel"
    layers = "encoder.layer"
    last: tuple[str, ...] = ()
    scores_distances = True

    def fault(self, model: Any) -> str | None:
        """Why a model of this type cannot be run over edges; :obj:`None` if it can."""
        return None

    def places(self, model: Any) -> tuple[int, int]:
        """The first position id, and the number of positions."""
        return 0, model.config.max_position_embeddings

    @abstractmethod
    def embed(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """The input states of the first layer, ``[1, num_nodes, C]``, from the inputs of the model."""

    @abstractmethod
    def layer(self, model: Any, layer: Any, x: Tensor, position: Tensor, attend: Attend) -> Tensor:
        """Output of a layer for states ``[1, num_nodes, C]`` of nodes at given positions, ``[num_nodes]``."""

    def finish(self, model: Any, x: Tensor) -> Tensor:
        return x

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return list(model.get_submodule(self.layers).children())

    def run(
        self, model: Any, inputs: Mapping[str, Tensor], position: Tensor, attend: Attend, checkpoints: bool
    ) -> list[Tensor]:
        """The embeddings and the states of every layer, ``[1, num_nodes, C]`` each."""
        states = [self.embed(model, inputs)]
        for block in self.blocks(model):
            run = partial(self.layer, model, block, position=position, attend=attend)
            again = checkpoints and model.training
            states.append(checkpoint(run, states[-1], use_reentrant=False) if again else run(states[-1]))
        states[-1] = self.finish(model, states[-1])
        return states


class MPNet(DistanceEncoder):
    """MPNet: a bias for each head and distance bucket, shared by all layers."""

    def fault(self, model: Any) -> str | None:
        # The model itself uses 32 buckets, whatever its configuration says.
        number = model.encoder.relative_attention_bias.num_embeddings
        return f"it has {number} of 32 buckets of distances" if number < 32 else None

    def places(self, model: Any) -> tuple[int, int]:
        table = model.embeddings.position_embeddings
        return table.padding_idx + 1, table.num_embeddings - table.padding_idx - 1

    def embed(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        return model.embeddings(**inputs)

    def layer(self, model: Any, layer: Any, x: Tensor, position: Tensor, attend: Attend) -> Tensor:
        attention, encoder = layer.attention.attn, model.encoder
        scores = partial(
            bucket_bias,
            position=position,
            bucket=encoder.relative_position_bucket,
            table=encoder.relative_attention_bias,
        )
        states = split_heads(attention, attention.num_attention_heads, "q", "k", "v", x)
        scaling = attention.attention_head_size**-0.5
        out = attention.o(attend(attention, x, states, scaling, attention.dropout.p, scores))
        x = layer.attention.LayerNorm(layer.attention.dropout(out) + x)
        return layer.output(layer.intermediate(x), x)


class T5(DistanceEncoder):
    """The encoders of T5, mT5 and UMT5: MPNet's bias (in UMT5 one for each layer), and scores without
    scaling.
    """

    auto_class = "AutoModelForTextEncoding"
    layers = "encoder.block"
    last = ("encoder.final_layer_norm",)

    def fault(self, model: Any) -> str | None:
        return "it has a decoder: take its T5EncoderModel" if hasattr(model, "decoder") else None

    def places(self, model: Any) -> tuple[int, int]:
        return 0, getattr(model.config, "n_positions", None) or 512  # training length; there is no table

    def embed(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        words = inputs.get("inputs_embeds")
        words = model.shared(inputs["input_ids"]) if words is None else words
        return model.encoder.dropout(words)

    def layer(self, model: Any, layer: Any, x: Tensor, position: Tensor, attend: Attend) -> Tensor:
        block = layer.layer[0]
        attention = block.SelfAttention
        first = model.encoder.block[0].layer[0].SelfAttention
        owner = attention if attention.has_relative_attention_bias else first
        scores = partial(
            bucket_bias, position=position, bucket=self._bucket(owner), table=owner.relative_attention_bias
        )
        reads = block.layer_norm(x)
        states = split_heads(attention, attention.n_heads, "q", "k", "v", reads)
        out = attend(attention, reads, states, attention.scaling, attention.dropout, scores)
        return layer.layer[-1](x + block.dropout(attention.o(out)))

    def finish(self, model: Any, x: Tensor) -> Tensor:
        return model.encoder.dropout(model.encoder.final_layer_norm(x))

    def _bucket(self, attention: Any) -> Callable[[Tensor], Tensor]:
        if attention.config.model_type == "umt5":
            return attention._relative_position_bucket
        return partial(
            attention._relative_position_bucket,
            num_buckets=attention.relative_attention_num_buckets,
            max_distance=attention.relative_attention_max_distance,
        )


class RoFormer(DistanceEncoder):
    """RoFormer: queries and keys are rotated by their positions."""

    scores_distances = False

    def embed(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        x = model.embeddings(**{name: value for name, value in inputs.items() if name != "position_ids"})
        return model.embeddings_project(x) if hasattr(model, "embeddings_project") else x

    def layer(self, model: Any, layer: Any, x: Tensor, position: Tensor, attend: Attend) -> Tensor:
        attention = layer.attention.self
        angles = model.encoder.embed_positions(x.shape[:-1], position_ids=position)[None, None]
        q, k, v = split_heads(attention, attention.num_attention_heads, "query", "key", "value", x)
        rotate = partial(attention.apply_rotary_position_embeddings, angles.to(x.dtype))
        states = rotate(q, k, v) if attention.rotary_value else (*rotate(q, k), v)
        out = attend(attention, x, states, attention.attention_head_size**-0.5, attention.dropout.p)
        return layer.feed_forward_chunk(layer.attention.output(out, x))


class Deberta(DistanceEncoder):
    r"""DeBERTa-v2 and v3: a content-to-position and a position-to-content term.

    .. math::
        s_{ij} = \frac{\mathbf{q}_i^{\top} \mathbf{k}_j + \mathbf{q}_i^{\top} \mathbf{k}^r_{\delta(i, j)}
        + \mathbf{k}_j^{\top} \mathbf{q}^r_{\delta(i, j)}}{\sqrt{3 d}}

    with projections of a table by the bucket :math:`\delta` of a distance, from `"DeBERTa: Decoding-enhanced
    BERT with Disentangled Attention" <https://arxiv.org/abs/2006.03654>`_ (Eq. 4). There, the last term uses
    the distance of the key, which is equal here since buckets are odd functions.
    """

    def fault(self, model: Any) -> str | None:
        if model.encoder.conv is not None:
            return "its first layer joins neighbours ('conv_kernel_size')"
        return "it repeats its last layer ('z_steps')" if model.z_steps > 1 else None

    def embed(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        return model.embeddings(**inputs)

    def layer(self, model: Any, layer: Any, x: Tensor, position: Tensor, attend: Attend) -> Tensor:
        attention = layer.attention.self
        names = ("query_proj", "key_proj", "value_proj")
        states = split_heads(attention, attention.num_attention_heads, *names, x)
        terms = 1 + sum(kind in attention.pos_att_type for kind in ("c2p", "p2c"))
        scaling = (attention.attention_head_size * terms) ** -0.5
        scores = None
        if attention.relative_attention:
            table = attention.pos_dropout(model.encoder.get_rel_embedding())
            scores = partial(
                disentangled_scores, module=attention, table=table, position=position, scaling=scaling
            )
        out = layer.attention.output(attend(attention, x, states, scaling, attention.dropout.p, scores), x)
        return layer.output(layer.intermediate(out), out)


def split_heads(module: Any, heads: int, query: str, key: str, value: str, x: Tensor) -> Any:
    """Queries, keys and values from the named projections, ``[1, heads, num_nodes, d]`` each."""
    names = (query, key, value)
    return tuple(getattr(module, name)(x).unflatten(-1, (heads, -1)).transpose(1, 2) for name in names)


def bucket_bias(
    query: Tensor,
    key: Tensor,
    layout: AttentionLayout,
    *,
    position: Tensor,
    bucket: Callable[[Tensor], Tensor],
    table: nn.Embedding,
) -> Tensor:
    """A bias from a table for each pair, by the bucket of the key's distance behind the query."""
    source, target = layout.edge_index
    return pick_rows(table.weight, bucket(position[source] - position[target]))


def disentangled_scores(
    query: Tensor,
    key: Tensor,
    layout: AttentionLayout,
    *,
    module: Any,
    table: Tensor,
    position: Tensor,
    scaling: float,
) -> Tensor:
    """DeBERTa's distance terms."""
    source, target = layout.edge_index
    distance, span = position[target] - position[source], module.pos_ebd_size
    if module.position_buckets > 0:
        from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

        distance = make_log_bucket_position(distance, module.position_buckets, module.max_relative_positions)
    row = (distance.long() + span).clamp(0, 2 * span - 1)
    own = ("query_proj", "key_proj") if module.share_att_key else ("pos_query_proj", "pos_key_proj")
    total = query.new_zeros(row.numel(), query.size(1))
    for kind, name, states, node in (("p2c", own[0], key, source), ("c2p", own[1], query, target)):
        if kind in module.pos_att_type:
            vectors = getattr(module, name)(table[: 2 * span]).unflatten(-1, (query.size(1), -1))
            total = total + RelationVectors(vectors, row, query.size(1)).dot(states, node)
    return total * scaling


ENCODERS: dict[str, DistanceEncoder] = {
    "mpnet": MPNet(),
    "t5": T5(),
    "mt5": T5(),
    "umt5": T5(),
    "roformer": RoFormer(),
    "deberta-v2": Deberta(),
}
"""Encoder types by the ``model_type`` of the configuration."""
