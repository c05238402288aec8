"""Words and the pieces that stand for them: ids, utterances as arrays, and the inputs of encoders."""

from graphdep.alignment.encoded_utterance import EncodedUtterance
from graphdep.alignment.expand import expand_pieces, utterance_data
from graphdep.alignment.selection_data import selection_data
from graphdep.alignment.subword_tokens import SubwordTokens
from graphdep.alignment.text_data import text_data
from graphdep.alignment.tokens import Tokens
from graphdep.alignment.trees_data import trees_data
from graphdep.alignment.vocab_tokens import VocabTokens

__all__ = [
    "EncodedUtterance",
    "SubwordTokens",
    "Tokens",
    "VocabTokens",
    "expand_pieces",
    "selection_data",
    "text_data",
    "trees_data",
    "utterance_data",
]
