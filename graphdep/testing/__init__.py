"""What tests of trees and transforms need; :mod:`graphdep.testing.strategies` asks for hypothesis."""

from graphdep.testing.law import assert_batch_law, assert_same_data
from graphdep.testing.random_trees import random_data, random_sentence

__all__ = ["assert_batch_law", "assert_same_data", "random_data", "random_sentence"]
