"""Ids of words, pieces, relations and phrases, and functions that build them."""

from graphdep.vocab.pieces import PieceVocab, SubwordTokens, VocabTokens
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import (
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
    PhraseVocab,
    Tokens,
    Vocab,
    load_vocab_file,
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
