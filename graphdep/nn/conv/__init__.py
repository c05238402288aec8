"""The attention layers of the papers as PyG layers."""

from graphdep.nn.conv.attention_conv import AttentionConv
from graphdep.nn.conv.constituent_conv import ConstituentConv
from graphdep.nn.conv.dam_conv import DAMConv
from graphdep.nn.conv.dra_conv import DRAConv
from graphdep.nn.conv.gate_conv import GATEConv
from graphdep.nn.conv.gated_relation_conv import GatedRelationConv
from graphdep.nn.conv.lisa_conv import LISAConv
from graphdep.nn.conv.relation_key_value_conv import RelationKeyValueConv
from graphdep.nn.conv.sia_conv import SIAConv

__all__ = [
    "AttentionConv",
    "ConstituentConv",
    "DAMConv",
    "DRAConv",
    "GATEConv",
    "GatedRelationConv",
    "LISAConv",
    "RelationKeyValueConv",
    "SIAConv",
]
