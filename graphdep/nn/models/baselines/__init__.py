"""Baselines of the papers."""
