"""The papers' attention as PyG layers."""

from graphdep.nn.conv.attention_conv import AttentionConv
from graphdep.nn.conv.dam_conv import DAMConv
from graphdep.nn.conv.dra_conv import DRAConv
from graphdep.nn.conv.gated_relation_conv import GatedRelationConv
from graphdep.nn.conv.sia_conv import SIAConv

__all__ = ["AttentionConv", "DAMConv", "DRAConv", "GatedRelationConv", "SIAConv"]
