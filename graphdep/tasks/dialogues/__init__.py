"""Responses to dialogues: tasks, models and the responder."""
