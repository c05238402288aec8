"""Layers and models."""
