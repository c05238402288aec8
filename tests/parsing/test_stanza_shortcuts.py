from __future__ import annotations

import gc
from itertools import product
from types import SimpleNamespace

import pytest
import stanza
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep.parsing import BundledParser, stanza_shortcuts
from graphdep.parsing import bundled as bundled_parser
from graphdep.parsing.stanza_shortcuts import best_trees

TEXTS = [
    "He didn't see the dogs that his sister's friends had bought. Why not? I can't say!",
    "A dog barks.",
    "",
    "Colourless green ideas sleep furiously; so does the man on the hill with the telescope, said Mary.",
    "no capitals no stops what now 12,000 3.5 http://example.org :-)",
    "\u200b 我 \ud800 ... ( ( ) A, B and C",
    "is is is is is",
]
WORDS = [["dog"], ["can't", "a b", "\t"], ["The", "the", "THE"], ["x" * 500, "is", "long"], ["to"] * 30]


@pytest.fixture(scope="module")
def quick():
    return BundledParser(use_gpu=False)


@pytest.fixture(scope="module")
def plain():
    parser = BundledParser(use_gpu=False)
    bundled_parser._pipeline.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stanza_shortcuts, "take_shortcuts", lambda pipeline: None)
        parser.parse(["Load it."])
    bundled_parser._pipeline.cache_clear()
    return parser


def test_shortcuts_are_taken_with_the_installed_stanza(quick, plain):
    quick.parse(["Load it."])
    for parser, taken in ((quick, True), (plain, False)):
        processors = parser._engine.pipeline.processors
        assert ("predict" in vars(processors["depparse"].trainer.model)) == taken
        assert ("predict" in vars(processors["pos"].trainer)) == taken
        assert ("forward" in vars(processors["tokenize"].trainer.model)) == taken
        assert ("forward" in vars(processors["pos"].trainer.model.charmodel)) == taken


def test_parses_are_the_same(quick, plain):
    assert quick.parse(TEXTS) == plain.parse(TEXTS)
    assert quick.parse_words(WORDS) == plain.parse_words(WORDS)
    assert quick.tokenize(TEXTS) == plain.tokenize(TEXTS)
    assert quick.failures == plain.failures == 0


def test_parses_are_the_same_when_the_cache_is_full(quick, plain, monkeypatch):
    monkeypatch.setattr(stanza_shortcuts, "_CACHE_SIZE", 3)
    assert quick.parse(TEXTS[:2]) == plain.parse(TEXTS[:2])
    assert quick.parse(TEXTS[3:4]) == plain.parse(TEXTS[3:4])
    characters = quick._engine.pipeline.processors["pos"].trainer.model.charmodel.forward
    assert len(characters.places) == len(characters.known) < 30


def test_after_an_interrupt_no_word_has_a_wrong_row(monkeypatch, quick):
    expected = quick.parse(TEXTS[:2])
    bundled_parser._pipeline.cache_clear()
    parser = BundledParser(use_gpu=False)
    characters = parser._engine.pipeline.processors["pos"].trainer.model.charmodel.forward

    def stopped(*args):
        raise KeyboardInterrupt

    parser.parse(["Some other words."])
    while_words_are_read = (characters, "forward", stopped)
    before_they_have_rows = (stanza_shortcuts, "torch", SimpleNamespace(**{**vars(torch), "cat": stopped}))
    for change in (while_words_are_read, before_they_have_rows):
        with monkeypatch.context() as patch:
            patch.setattr(*change)
            with pytest.raises(KeyboardInterrupt):
                parser.parse_words([["He", "did", "n't", "see", "what", "was", "not", "there", "before"]])
        assert set(characters.places.values()) <= set(range(len(characters.known)))
    assert parser.parse(TEXTS[:2]) == expected


def test_taking_shortcuts_twice_changes_nothing(quick):
    trainer = quick._engine.pipeline.processors["pos"].trainer
    names = [*trainer.vocab.keys()]
    before = [trainer.model.charmodel.forward, *(trainer.vocab[name].unit2id for name in names)]
    stanza_shortcuts.take_shortcuts(quick._engine.pipeline)
    after = [trainer.model.charmodel.forward, *(trainer.vocab[name].unit2id for name in names)]
    assert all(one is other for one, other in zip(before, after, strict=True))


def test_repaired_heads_and_unsorted_tags_are_stanzas_own(quick, plain):
    """Options that the engine does not use, and other callers of the same pipeline may."""
    documents = []
    for parser in (quick, plain):
        pipeline = parser._engine.pipeline
        config = pipeline.processors["depparse"].config
        config["resolve_head_constraints"] = True
        try:
            documents.append(pipeline.process(TEXTS[0]).to_dict())
        finally:
            config["resolve_head_constraints"] = False
    assert documents[0] == documents[1]


def test_other_versions_are_unchanged(monkeypatch):
    bundled_parser._pipeline.cache_clear()
    parser = BundledParser(use_gpu=False)
    monkeypatch.setattr(stanza, "__version__", "1.16.0")
    assert "predict" not in vars(parser._engine.pipeline.processors["depparse"].trainer.model)


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_again_after_a_chunk(quick, enabled):
    try:
        (gc.enable if enabled else gc.disable)()
        quick.parse(TEXTS[:1])
        quick.parse_words(WORDS[:1])
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def is_tree(heads: tuple[int, ...]) -> bool:
    """Whether governors (of words 1 to n) make a tree with one root."""
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return heads.count(0) == 1


def slow_best(scores: torch.Tensor, words: int) -> list[int]:
    """Equation 1: of all trees, the one with the highest sum."""
    trees = filter(is_tree, product(range(words + 1), repeat=words))
    return list(max(trees, key=lambda heads: sum(scores[i + 1, h].item() for i, h in enumerate(heads))))


@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 10_000), st.floats(0, 5))
def test_no_tree_scores_more(sizes, seed, root):
    """With a term that makes the root attractive, so that several words want it."""
    generator = torch.Generator().manual_seed(seed)
    places = max(sizes) + 1
    scores = torch.randn(len(sizes), places, places, generator=generator)
    scores[:, :, 0] += root
    before = scores.clone()
    heads = best_trees(scores, torch.tensor(sizes) + 1)
    assert torch.equal(scores, before)
    for row, words, got in zip(scores, sizes, heads.tolist()):
        assert got[1 : words + 1] == slow_best(row, words)
        assert got[0] == 0
        assert not any(got[words + 1 :])


def test_a_word_is_not_its_own_governor():
    assert best_trees(torch.eye(2)[None], torch.tensor([2])).tolist() == [[0, 0]]
