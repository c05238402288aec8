from __future__ import annotations

import json
import logging
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from graphdep import Sentence, Vocab, to_data
from graphdep.datasets import OwnSpans
from graphdep.datasets.spans.base import SpanDataset, mark_spans
from graphdep.datasets.spans.rows import (
    MAX_ARCS,
    SpanExample,
    marks_of,
    read_tags,
    span_key,
)
from tests.kit.strategies import sentences

TREE = Sentence(["A", "dog", "bites", "a", "man"], [2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"])
OTHER = Sentence(["It", "rains"], [2, 0], ["nsubj", "root"])
EXAMPLES = {
    "train": [
        SpanExample(TREE.form, [(0, 2), (3, 5)], "bites", TREE, "t:1"),
        SpanExample(TREE.form, [(3, 5), (0, 2)], "bitten", TREE, "t:2"),
        SpanExample(OTHER.form, [(0, 2), (1, 2)], "bites", OTHER, "t:3"),
    ],
    "val": [SpanExample(OTHER.form, [(0, 1), (1, 2)], "barks", OTHER, "v:1")],
    "test": [SpanExample(TREE.form, [(0, 1), (4, 5)], None, TREE, "x:1")],
}


class Corpus(SpanDataset):
    corpus, published = "spans", "nowhere"
    found = EXAMPLES

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return [folder / "data.txt"]

    def raw_file_pattern(self, split: str) -> str:
        return "data.txt"

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        self.said[split] = f"read {split}"
        return self.found[split]


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "data.txt").write_text("raw", encoding="utf-8")
    return tmp_path


def test_keys(root):
    data = Corpus(root, "train", "gold")
    assert data.labels == ("bites", "bitten")
    assert (data.num_classes, data.num_spans, len(data)) == (2, 2, 3)
    assert [one.y.tolist() for one in data] == [[0], [1], [0]]
    assert [one.mark.tolist() for one in data] == [[0, 1, 1, 0, 2, 2], [0, 2, 2, 0, 1, 1], [0, 1, 3]]
    assert [one.lost.tolist() for one in data] == [[0]] * 3
    assert data[0].governor_index.tolist() == [0, 2, 3, 0, 5, 3]
    assert data.example_id.tolist() == [0, 1, 2]
    assert data.sentence.tolist() == [0, 0, 1]
    assert data.describe()["note"] == "read train"
    batch = next(iter(DataLoader(data, batch_size=3)))
    assert batch.mark.tolist() == [m for one in data for m in one.mark.tolist()]
    assert [one.mark.tolist() for one in Batch.to_data_list(batch)] == [one.mark.tolist() for one in data]


def test_unknown_labels_and_none(root):
    val = Corpus(root, "val", "gold")
    assert val.y.tolist() == [-1]
    about = val.describe()
    assert about["unknown_labels"] == 1
    told = "read val; 1 example with 1 label that training does not have ('barks'), counted as wrong, "
    told += "in macro_f1 as one label with F1 0"
    assert about["note"] == told
    test = Corpus(root, "test", "gold")
    assert "y" not in test[0]
    assert test.describe()["unknown_labels"] == 0
    assert Corpus(root, "val", "gold", labels=("barks", "bites")).y.tolist() == [0]
    assert Corpus(root, "train", "gold")[1:].describe()["examples"] == 2


def test_a_parser_and_the_vocabulary(root, parser):
    parsed = Corpus(root, "train", parser)
    assert parsed[0].governor_index.tolist() == [0, 0, 1, 2, 3, 4]
    assert torch.equal(parsed.mark, Corpus(root, "train", "gold").mark)
    # The sentence of two examples counts once.
    assert "dog" not in Corpus(root, "train", "gold", min_freq=2).vocab
    assert Corpus(root, "train", "gold", limit=1).labels == ("bites", "bitten")
    with pytest.raises(ValueError, match="^t:1: the sentence has no gold tree"):
        type("Bare", (Corpus,), {"found": {"train": [replace(EXAMPLES["train"][0], tree=None)] * 2}})(
            root, "train", "gold", labels=("a", "b")
        )


@pytest.mark.parametrize(("max_length", "lost"), [(None, 0), (14, 0), (9, 1), (7, 1), (3, 1)])
def test_pieces_and_lost_spans(root, new_tokens, caplog, max_length, lost):
    with caplog.at_level(logging.WARNING, "graphdep"):
        data = Corpus(root, "train", "gold", tokens=new_tokens(), max_length=max_length)
    assert data[0].lost.tolist() == [lost]
    assert data[0].y.tolist() == [0]
    if max_length is None:
        assert [mark for mark in data[0].mark.tolist() if mark] == [1] * 4 + [2] * 4
    assert data.describe()["lost_spans"] == int((data.lost > 0).sum())
    assert ("removes all words of a span of" in caplog.text) == bool(lost)
    assert ("without words of a span" in data.describe()["note"]) == bool(lost)


def test_bad_examples(root):
    for changed, labels, message in [
        ({"spans": [(0, 1)]}, ("bites", "bitten"), "t:2: 1 spans, but 2 at t:1"),
        ({"label": None}, ("bites", "bitten"), "t:2: no label, but one at t:1"),
        ({"label": "bites"}, None, "t:1: all labels of the training split are 'bites'"),
    ]:
        first, second, _ = EXAMPLES["train"]
        found = {"train": [first, replace(second, **changed)]}
        with pytest.raises(ValueError, match=f"^{message}"):
            type("Bad", (Corpus,), {"found": found})(root, "train", "gold", labels=labels)


def test_options(root):
    with pytest.raises(TypeError, match="unexpected keyword argument 'label'"):
        Corpus(root, "train", "gold", label=("a",))
    with pytest.raises(ValueError, match="nothing has a label"):
        found = {"train": EXAMPLES["test"]}
        type("None", (Corpus,), {"found": found})(root, "train", "gold")
    with pytest.raises(ValueError, match="'parser' cannot be 'gold': spans has no gold trees"):
        type("Bare", (Corpus,), {"own_trees": False})(root, "train", "gold")


def test_remaining_words():
    for marks, mark, lost in [
        ([1, 0, 0, 2], [0, 1, 0, 0], 1),
        ([0, 1, 2, 2], [0, 0, 1, 2], 0),
        ([0, 0, 0, 3], [0, 0, 0, 0], 2),
        ([0, 0, 1, 3], [0, 0, 0, 1], 1),
        ([0, 0, 0, 0], [0, 0, 0, 0], 0),
    ]:
        data = mark_spans(to_data([Sentence.chain(["a", "b", "c"])], vocab=Vocab([])), marks)
        assert data.mark.tolist() == mark
        assert data.lost.tolist() == [lost]


WORDS = ["A", "dog", "bites", "a", "man"]


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, len(WORDS) - 1))
    return start, draw(st.integers(start + 1, len(WORDS)))


@given(st.lists(spans(), min_size=1, max_size=2))
def test_marks(spans):
    expected = [sum(2**n for n, span in enumerate(spans) if word in range(*span)) for word in range(5)]
    assert marks_of(spans, len(WORDS)) == expected


def test_bad_spans():
    for spans, message in [
        ([], r"an example has one or two spans \(got 0\)"),
        ([(0, 1), (1, 2), (2, 3)], r"an example has one or two spans \(got 3\)"),
        ([(1, 1)], r"span 1 is empty: its end must be after its start \(got \[1, 1\]\)"),
        ([(0, 1), (3, 2)], r"span 2 is empty"),
        ([(0, 1), (4, 6)], r"span 2 reaches beyond the 5 words \(got \[4, 6\]\)"),
        ([(-1, 1)], r"span 1 reaches beyond the 5 words"),
        ([(0, 1, 2)], r"span 1 must be two whole numbers \(got tuple \(0, 1, 2\)\)"),
        ([(0, True)], r"span 1 must be two whole numbers"),
        ([(0.0, 1.0)], r"span 1 must be two whole numbers"),
        (["01"], r"span 1 must be two whole numbers \(got str '01'\)"),
        ([3], r"span 1 must be two whole numbers \(got int 3\)"),
    ]:
        with pytest.raises(ValueError, match=f"^file:7: {message}"):
            SpanExample(WORDS, spans, "bites", place="file:7")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": " "}, r"a label must be a text \(got str ' '\)"),
        ({"label": 3}, r"a label must be a text \(got int 3\)"),
        ({"label": "a\x00"}, "'label' has a control character"),
    ],
)
def test_unknown_labels_of_spans(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        SpanExample(**{"words": WORDS, "spans": [(0, 1)], **options})


BITES = Sentence(
    ["The", "old", "dog", "of", "Ann", "bites", "me"],
    [3, 3, 6, 5, 3, 0, 6],
    ["det", "amod", "nsubj", "case", "nmod", "root", "obj"],
)


def slow_key(tree: Sentence, spans) -> str:
    """The key of spans, by shortest paths of networkx."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(tree)))
    graph.add_edges_from((governor - 1, word) for word, governor in enumerate(tree.head) if governor)
    depth = {word: len(nx.ancestors(graph, word)) for word in graph}
    tops = [min(range(*span), key=lambda word: (depth[word], word)) for span in spans]
    if len(tops) == 1:
        return tree.form[tops[0]]
    if not nx.has_path(graph.to_undirected(), *tops):
        return "far"
    way = nx.shortest_path(graph.to_undirected(), *tops)
    arcs = [f"<{tree.deprel[a]}" if tree.head[a] - 1 == b else f">{tree.deprel[b]}" for a, b in pairwise(way)]
    return "far" if len(arcs) > MAX_ARCS else "".join(arcs)


@given(st.data(), st.booleans(), st.integers(1, 2))
def test_against_networkx(data, multiroot, number):
    tree = data.draw(sentences(max_words=9, multiroot=multiroot))
    word = st.integers(0, len(tree) - 1)
    ends = [sorted(data.draw(st.tuples(word, word))) for _ in range(number)]
    spans = [(start, stop + 1) for start, stop in ends]
    assert span_key(tree, spans) == slow_key(tree, spans)


def test_ways():
    for spans, key in [
        ([(0, 3), (6, 7)], "<nsubj>obj"),
        ([(6, 7), (0, 3)], "<obj>nsubj"),
        ([(0, 5), (4, 5)], ">nmod"),  # the second span is inside the first
        ([(0, 2), (3, 4)], "<det>nmod>case"),  # of two top words the first
        ([(0, 1), (6, 7)], "<det<nsubj>obj"),
        ([(2, 3), (0, 3)], ""),
        ([(0, 2)], "The"),
        ([(1, 5)], "dog"),
    ]:
        assert span_key(BITES, spans) == key


def test_long_paths_are_far():
    chain = Sentence.chain([str(n) for n in range(9)])
    assert span_key(chain, [(0, 1), (MAX_ARCS, MAX_ARCS + 1)]).count(">") == MAX_ARCS
    assert span_key(chain, [(0, 1), (MAX_ARCS + 1, MAX_ARCS + 2)]) == "far"


RAIN = ["Rain", "makes", "fine", "mud", "."]
ROW = {"words": RAIN, "spans": [[0, 1], [2, 4]], "label": "cause"}
TREE_OF_RAIN = {"head": [2, 0, 4, 2, 2], "deprel": ["nsubj", "root", "amod", "obj", "punct"]}


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def train(tmp_path) -> Path:
    other = [{"words": ["Mud", "is", str(n)], "spans": [[0, 1], [2, 3]], "label": "other"} for n in range(9)]
    return write(tmp_path / "train.jsonl", [ROW, *other])


def own(tmp_path, parser, split="train", **options) -> OwnSpans:
    return OwnSpans(tmp_path / "root", split, parser, **options)


def test_words(tmp_path, parser, train):
    sets = {
        split: own(tmp_path, parser, split, train=train, test=train) for split in ("train", "val", "test")
    }
    assert [len(sets[split]) for split in ("train", "val", "test")] == [9, 1, 10]
    assert sets["test"][0].mark.tolist() == [0, 1, 0, 2, 2, 0]
    assert (sets["train"].labels, sets["train"].num_spans) == (("cause", "other"), 2)
    assert "note" not in sets["train"].describe()
    assert sets["val"].describe()["note"] == "1 of the 10 training sentences, drawn with seed 0"
    assert "note" not in sets["test"].describe()
    assert not list((tmp_path / "root").glob("raw/*"))
    with pytest.raises(ValueError, match="'split' must be one of train, val"):
        own(tmp_path, parser, "test", train=train)


def test_a_new_folder_is_told_once(tmp_path, parser, train, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    for root in ("some/root", tmp_path / "other"):
        for split in ("train", "val"):
            OwnSpans(root, split, parser, train=train)
    file = Path(train).name
    told = [f"Processing {file}", f"Processing {file} (val)"] * 2
    told[0] += f", kept in {Path('some/root')}"
    assert capsys.readouterr().err.splitlines() == [f"{line} ..." for line in told]


def test_a_sentence_is_in_one_split(tmp_path, parser):
    rows = [
        ROW | {"spans": spans, "words": [str(n)] * 5, "label": label}
        for n in range(6)
        for spans, label in (([[0, 1]], "a"), ([[1, 2]], "b"))
    ]
    path = write(tmp_path / "pairs.jsonl", rows)
    val = own(tmp_path, parser, "val", train=path, val_fraction=0.5, seed=3)
    train = own(tmp_path, parser, train=path, val_fraction=0.5, seed=3)
    sentences = [{tuple(data.input_ids.tolist()) for data in part} for part in (val, train)]
    assert len(val) == len(train) == 6
    assert not sentences[0] & sentences[1]


def test_wrong_options(tmp_path, parser, train):
    for options, message in [
        # Without a seed, train and val would be drawn independently and share sentences.
        ({"seed": None}, r"'seed' must be a whole number \(got None\)"),
        ({"seed": 1.5}, r"'seed' must be a whole number \(got 1.5\)"),
        ({"train": None}, r"'train' must be a file"),
        ({"labels": "cause"}, r"'labels' must be a list of distinct labels \(got 'cause'\)"),
        ({"labels": []}, r"'labels' must be a list of distinct labels \(got \[\]\)"),
        ({"labels": ["a", "b", "a"]}, r"'labels' must be .* distinct labels \(got \['a', 'b', 'a'\]\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            own(tmp_path, parser, **{"train": train, **options})


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t")])
def test_tags(tmp_path, parser, suffix, mark):
    path = tmp_path / f"train.{suffix}"
    rows = [
        ("sentence", "relation"),
        ("<e1>Rain</e1> makes <e2>fine mud</e2>.", "cause"),
        ("<e2>It</e2> is <e1>mud</e1>.", "other"),
    ]
    path.write_text("".join(mark.join(row) + "\n" for row in rows), encoding="utf-8")
    options = {"train": path, "val": path, "text_column": "sentence", "label_column": "relation"}
    dataset = own(tmp_path, parser, **options)
    assert [data.mark.tolist() for data in dataset] == [[0, 1, 0, 2, 2, 0], [0, 2, 0, 1, 0]]


def test_tags_in_objects(tmp_path, parser):
    tagged = {"text": "<e2>It</e2> is <e1>mud</e1>.", "label": "other"}
    spans = {"text": "It is mud.", "spans": [[6, 9], [0, 2]], "label": "cause"}
    path = write(tmp_path / "train.jsonl", [tagged, spans])
    dataset = own(tmp_path, parser, train=path, val=path)
    assert [data.mark.tolist() for data in dataset] == [[0, 2, 0, 1, 0]] * 2
    assert dataset.labels == ("cause", "other")


ROW_IS = r'a row is {"words": .* or {"text": "<e1>Rain</e1>'


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "Rain", "label": "a"}, f"no 'spans', and no <e1>...</e1> in 'text'; {ROW_IS}"),
        ({"words": ["Rain"], "label": "a"}, f"no 'spans' and no 'text': the keys are label, words; {ROW_IS}"),
        ({"text": "<e1>Rain</e1>"}, "no column 'label'; the columns are text"),
        ({"text": "<e1>Rain", "label": "a"}, r"the tag <e1> is not closed by </e1> .got '<e1>Rain'"),
        ({"text": "<e2>a</e2>", "label": "a"}, r"no tag <e1> in the text .got <e2>, </e2> in '<e2>a</e2>'.$"),
    ],
)
def test_objects_without_spans(tmp_path, parser, row, message):
    first = {"text": "<e1>Rain</e1> falls", "label": "a"}
    path = write(tmp_path / "train.jsonl", [first, row])
    with pytest.raises(ValueError, match=f"train.jsonl:2: {message}"):
        own(tmp_path, parser, train=path, val=path)


def test_own_trees(tmp_path, parser, train):
    path = write(tmp_path / "test.jsonl", [ROW | TREE_OF_RAIN, ROW])
    test = own(tmp_path, parser, "test", train=train, test=path)
    assert test[0].governor_index.tolist() == [0, 2, 0, 4, 2, 2]
    assert test[1].governor_index.tolist() == [0, 0, 1, 2, 3, 4]
    assert test.describe()["note"] == "own parses: 1 of 2 examples"
    with pytest.raises(ValueError, match=r"test.jsonl:2: the sentence has no gold tree"):
        own(tmp_path, "gold", "test", train=train, test=path, vocab=test.vocab, labels=test.labels)
    all_own = write(tmp_path / "gold.jsonl", [ROW | TREE_OF_RAIN, ROW | TREE_OF_RAIN | {"label": "other"}])
    gold = own(tmp_path, "gold", train=all_own, val=all_own)
    assert gold.describe()["parser"] == "gold"
    assert torch.equal(gold[0].governor_index, test[0].governor_index)


def test_unknown_labels_are_counted(tmp_path, parser, train):
    test = own(
        tmp_path, parser, "test", train=train, test=write(tmp_path / "x.jsonl", [ROW | {"label": "new"}])
    )
    assert test.y.tolist() == [-1]
    assert test.describe()["unknown_labels"] == 1


def test_bad_rows(tmp_path, parser, train):
    for row, message in [
        ({"spans": [[0, 1], [4, 6]]}, r"span 2 reaches beyond the 5 words \(got \[4, 6\]\)"),
        ({"spans": [[0, 0]]}, "span 1 is empty"),
        ({"spans": []}, "an example has one or two spans .got 0."),
        ({"spans": [[0, 1]] * 3}, "an example has one or two spans .got 3."),
        ({"spans": {"a": 1}}, r"'spans' must be a list"),
        ({"spans": [0, 1]}, "span 1 must be two whole numbers .got int 0."),
        ({"words": None}, "'words', 'sentences' or 'text' must be there, .* .got neither."),
        ({"text": "Rain"}, "'words', 'sentences' or 'text' must be there, .* .got 'words' and 'text'."),
        ({"words": []}, "'words' must be a list of 1 to 10000 words"),
        ({"words": ["Rain", ""]}, "'words' must be a list of 1 to 10000 words"),
        ({"words": "Rain"}, "'words' must be a list of 1 to 10000 words, none of them blank .got 'Rain'."),
        ({"words": ["a"] * 10_001}, "'words' must be a list of 1 to 10000 words"),
        ({"label": 1}, "a label must be a text .got int 1."),
        ({"label": None}, "no label, but one at"),
        ({"head": [0] * 5}, "no tree: no 'deprel'"),
        ({**TREE_OF_RAIN, "head": [2, 1, 4, 2, 2]}, "no root"),
        ({**TREE_OF_RAIN, "head": [2, 0]}, "no tree: 'head' has 2 entries for 5 words"),
        ({**TREE_OF_RAIN, "deprel": [1] * 5}, "no tree: word 1: 'deprel' must be text"),
        (
            {"words": None, "text": "Rain", "spans": [[0, 5]]},
            r"span 1 reaches beyond the 4 characters \(got \[0, 5\] in 'Rain'\)",
        ),
        ({"words": None, "sentences": [["Rain"], []]}, "'sentences' must be a list of lists of words"),
        ({"words": None, "sentences": ["Rain"]}, "'sentences' must be a list of lists of words"),
        ({"words": None, "sentences": [["a"] * 5001] * 2}, "'sentences' must be .* of 10000 words at most"),
        ({"sentences": [["Rain"]]}, "'words', .* .got 'words' and 'sentences'."),
        ({"words": None, "text": "Rain it", "edges": [[1, 2, "a"]]}, "'words', .* .got 'text' and 'edges'."),
        ({"words": None, "sentences": [["a"]], "head": [0]}, "'words', .* .got 'sentences' and 'head'."),
        ({"words": None, "text": "Rain  it", "spans": [[4, 5]]}, "span 1 has no word .got ' '."),
        ({"words": None, "text": " ", "spans": [[0, 1]]}, "'text' must be a text of 1 to 10000 words"),
        ({"words": None, "text": "Rain it", "spans": [[0, 4]], **TREE_OF_RAIN}, "'words', .* with 'words'"),
    ]:
        path = write(tmp_path / "test.jsonl", [ROW, ROW | row])
        with pytest.raises(ValueError, match=f"test.jsonl:2: {message}"):
            own(tmp_path, parser, "test", train=train, test=path)
    short = {**TREE_OF_RAIN, "head": [2, 0]}
    write(path, [ROW, ROW | {"head": [0] * 5}, ROW | {"spans": [0, 1]}, ROW | short])
    with pytest.raises(ValueError, match="jsonl:2: no tree.*jsonl:3: span 1.*jsonl:4: no tree"):
        own(tmp_path, parser, "test", train=train, test=path)


def test_bad_tags_and_files(tmp_path, parser, train):
    path = tmp_path / "train.csv"
    path.write_text("text,label\n<e1>Rain</e1>,a\n<e1>Rain,b\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"train.csv:3: the tag <e1> is not closed by </e1> \(got '<e1>Rain'\)"
    ):
        own(tmp_path, parser, train=path, val=train)
    path.write_text("text,label\n<e1> </e1>Rain,a\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"train.csv:2: no word between <e1> and </e1> \(got '<e1> </e1>Rain'\)"
    ):
        own(tmp_path, parser, train=path, val=train)
    with pytest.raises(FileNotFoundError, match="no file .*none.jsonl, which is 'test'"):
        own(tmp_path, parser, "test", train=train, test=tmp_path / "none.jsonl")
    with pytest.raises(
        ValueError, match="train.jsonl:1: fewer than two different sentences in 2 rows: 'val'"
    ):
        own(tmp_path, parser, train=write(tmp_path / "train.jsonl", [ROW, ROW]))


def test_tags_in_a_text():
    assert read_tags("A <e1>dog</e1> bites <e2>a man</e2>.") == ("A dog bites a man.", [(2, 5), (12, 17)])
    assert read_tags("<e2>x</e2><e1>y</e1>") == ("xy", [(1, 2), (0, 1)])
    assert read_tags("<e1>a <e2>b</e2></e1>") == ("a b", [(0, 3), (2, 3)])
    assert read_tags("<e1>a <e2>b</e1> c</e2>") == ("a b c", [(0, 3), (2, 5)])
    assert read_tags("<e1>a</e1> < b </i> <e>") == ("a < b </i> <e>", [(0, 1)])


def test_bad_tags():
    for text, message in [
        ("a dog", r"no tag <e1> in the text \(got none\)"),
        ("<e2>a</e2>", r"no tag <e1> in the text \(got <e2>, </e2>\)"),
        ("<e1>a</e1> <e2>b</e2> <e3>c</e3>", "a tag other than <e1> and <e2>"),
        ("<e1>a", "the tag <e1> is not closed by </e1>"),
        ("<e1>a</e1> <e2>b</e1>", "the tag </e1> is there twice"),
        ("<e1>a</e2>", "the tag </e2> closes what is not open"),
        ("a</e1> <e1>", "the tag </e1> closes what is not open"),
        ("<e1></e1>a", "no word between <e1> and </e1>"),
        *((f"<e1>a</e1> {tag}b", f"the tag '{tag}' must be <e2>") for tag in ("<E2>", "<e2/>", "< e2 >")),
        ("<e1>a</e1> <e2>b</ e2>", "the tag '</ e2>' must be </e2>"),
        ("&lt;e1&gt;a&lt;/e1&gt;", "the tag '&lt;e1&gt;' is escaped: it must be <e1>"),
    ]:
        with pytest.raises(ValueError, match=f"^.*{message}"):
            read_tags(text)


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5), st.data())
def test_tags_are_found_again(cut, data):
    ends = st.tuples(st.integers(0, len(cut) - 1), st.integers(1, len(cut))).filter(lambda s: s[0] < s[1])
    spans = data.draw(st.lists(ends, min_size=1, max_size=2))
    text = " ".join(cut)
    tagged = SpanExample(cut, spans).tagged
    plain, ranges = read_tags(tagged)
    assert SpanExample.of_text(plain, ranges).tagged == tagged
    assert plain == text
    assert [text[slice(*one)].split() for one in ranges] == [cut[slice(*span)] for span in spans]


def test_rows_with_own_graphs(tmp_path):
    """Arcs beside a tree, or alone with the tree of the parser."""
    row = {"words": ["Ann", "met", "Bob"], "spans": [[0, 1], [2, 3]], "edges": [[1, 3, "knows"]]}
    tree = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}
    rows = [{**row, **tree, "label": "a"}, {**row, "label": "b"}] * 5
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    options = {"train": path, "val": path, "parser": "chain", "arcs": "own"}
    dataset = OwnSpans(tmp_path / "root", **options)
    assert dataset.relations.learned == ["knows"]
    for data, governors in zip(dataset, ([0, 2, 0, 2], [0, 0, 1, 2])):
        assert data.governor_index.tolist() == governors
        assert data.arc_index.tolist() == [[1], [3]]
        assert dataset.relations.label(int(data.arc_type)) == "knows"
    split = {key: value for key, value in row.items() if key != "words"} | {
        "sentences": [["Ann"], ["met", "Bob"]]
    }
    path.write_text("".join(json.dumps({**split, "label": label}) + "\n" for label in "ab"), encoding="utf-8")
    data = OwnSpans(tmp_path / "root", **options)[0]
    assert (data.governor_index.tolist(), data.arc_index.tolist()) == ([0, 0, 0, 2], [[1], [3]])
    unread = OwnSpans(tmp_path / "root", **{**options, "arcs": "basic"}).describe()["note"]
    assert "'edges' of 2 trees are not read (--set arcs=own reads them)" in unread
    path.write_text(json.dumps({**rows[0], "edges": [[1, 4, "knows"]]}) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"own.jsonl:1: no tree: 'edges\[0\]' must be"):
        OwnSpans(tmp_path / "root", **options)
    path.write_text(json.dumps({**row, **tree, "label": "a", "edges": None}) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="arcs='own': no arcs"):
        OwnSpans(tmp_path / "root", labels=["a", "b"], **options)
