"""Responses from a trained model: greedy, beam search and sampling."""

from graphdep.decoding.decoding import DecodeConfig, Hypothesis, generate

__all__ = ["DecodeConfig", "Hypothesis", "generate"]
