"""The options that the corpora of dialogues have in common."""

from __future__ import annotations

from graphdep.datasets.base.parsed_options import SavedOptions


class DialogueOptions(SavedOptions, total=False):
    """Options of every corpus of dialogues: those of :class:`SavedOptions`, and these.

    Args:
        max_turns: The number of turns of a context, the last ones. (default: :obj:`4`)
        max_words: The number of words of a turn, the first ones. (default: :obj:`50`)
        roots: Of a turn of several sentences, which is one tree, ``"all"`` roots stay roots, as in the parse,
            or those after the ``"first"`` hang on it as ``parataxis``, see
            :func:`~graphdep.sentence.join_sentences`. (default: ``"all"``)
        overlap: ``"keep"`` or ``"drop"``: whether to leave out the examples of val and test whose last turn
            and response follow each other in the training split, too. (default: ``"keep"``)
        pieces: Size of a vocabulary of pieces (:class:`~graphdep.vocab.pieces.PieceVocab`), trained on the
            training split; :obj:`None` for words. (default: :obj:`None`)
    """

    max_turns: int
    max_words: int
    roots: str
    overlap: str
    pieces: int | None
