"""Sentences and pairs of sentences: tasks, models and predictors."""
