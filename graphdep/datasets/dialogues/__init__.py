"""Corpora of dialogues."""
