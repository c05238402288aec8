"""Corpora of sentences and of pairs of sentences."""
