"""Responses from a trained model: greedy, beam search and sampling."""

from graphdep.decoding.decode_config import DecodeConfig
from graphdep.decoding.generate import generate
from graphdep.decoding.hypothesis import Hypothesis

__all__ = ["DecodeConfig", "Hypothesis", "generate"]
