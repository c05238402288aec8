"""COGS: the roles of every predicate, as labelled words."""
