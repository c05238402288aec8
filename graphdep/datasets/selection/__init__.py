"""Corpora of response selection."""
