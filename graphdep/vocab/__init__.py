"""Ids of words, pieces, relations and phrases, and what they are made from."""

from graphdep.vocab.files import load_vocab_file
from graphdep.vocab.phrases import PhraseVocab
from graphdep.vocab.pieces import PieceVocab
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.subword_tokens import SubwordTokens
from graphdep.vocab.tokens import Tokens
from graphdep.vocab.vocab_tokens import VocabTokens
from graphdep.vocab.words import (
    CLS,
    CLS_ID,
    EOU,
    EOU_ID,
    ROOT,
    ROOT_ID,
    SEP,
    SEP_ID,
    SPECIALS,
    UNK,
    UNK_ID,
    Vocab,
)

__all__ = [
    "CLS",
    "CLS_ID",
    "EOU",
    "EOU_ID",
    "ROOT",
    "ROOT_ID",
    "SEP",
    "SEP_ID",
    "SPECIALS",
    "UNK",
    "UNK_ID",
    "PhraseVocab",
    "PieceVocab",
    "RelationVocab",
    "SubwordTokens",
    "Tokens",
    "Vocab",
    "VocabTokens",
    "load_vocab_file",
]
