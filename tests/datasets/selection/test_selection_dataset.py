from __future__ import annotations

import copy
import hashlib
import pickle
import random
import sqlite3
from itertools import chain
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch, Dataset, OnDiskDataset
from torch_geometric.loader import DataLoader

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.datasets import Ubuntu
from graphdep.datasets.selection import builder as selection_builder
from graphdep.datasets.selection.store import SelectionStore
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed, chain_sentence
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens
from tests.kit.trees import random_sentence

ROWS = [
    "1\tis it cold ?\tyes it is\ttake a coat",
    "0\tis it cold ?\tyes it is\tthe cat sleeps",
    "1\t\ttake a coat\tno",
    "0\t\ttake a coat\t ",
    "0\t\ttake a coat\tno",
    "0\twho is it ?\tthe Cat",
    "1\tyes it is\ta dog of mine",
    "1\tyes it is\tno",
]


class Trees(Parser):
    """A random tree for every list of words; counts what it was given, and fails where it is told to."""

    def __init__(self, stop: int | None = None) -> None:
        super().__init__(progress=False)
        self.seen: list[tuple[str, ...]] = []
        self.stop, self.calls = stop, 0

    fingerprint = "random trees"

    def parse_texts(self, texts):
        raise AssertionError("words are given")

    def parse_sentences(self, sentences):
        self.calls += 1
        if self.calls - 1 == self.stop:
            raise KeyboardInterrupt
        self.seen += sentences
        return [Parsed([tree_of(words)]) for words in sentences]


def tree_of(words) -> Sentence:
    tree = random_sentence(random.Random(" ".join(words)), len(words))
    return Sentence(list(words), tree.head, tree.deprel)


def put(root: Path, rows=ROWS, split: str = "train") -> Path:
    path = root / "raw" / "ubuntu-v1" / f"{split}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def load(root: Path, split: str = "train", parser: Parser | None = None, **options) -> Ubuntu:
    return Ubuntu(root, split, parser or Trees(), layout="v1", pool_size=None, **options)


def file_of(root: Path) -> Path:
    (path,) = (root / "processed").glob("*.sqlite")
    return path


def random_rows(seed: int, pools: int) -> list[str]:
    rng = random.Random(seed)

    def utterance() -> str:
        return " ".join(rng.choice("abcdefgh") for _ in range(rng.randint(0, 6)))

    rows = []
    for number in range(pools):
        context = [f"p{number}", *(utterance() for _ in range(rng.randint(0, 4)))]
        rng.shuffle(context)
        rows += ["\t".join([rng.choice("01"), *context, utterance()]) for _ in range(rng.randint(1, 4))]
    return rows


def same(first, second) -> bool:
    a, b = first.to_dict(), second.to_dict()
    return a.keys() == b.keys() and all(
        torch.equal(torch.as_tensor(a[key]), torch.as_tensor(b[key])) for key in a
    )


@pytest.mark.parametrize("seed", range(3))
def test_examples_are_those_of_a_slow_loop(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(selection_builder, "POOLS", 3)
    rows = random_rows(seed, 17)
    put(tmp_path, rows)
    dataset = load(tmp_path, max_length=24, cache_size=5)
    relations, tokens, groups, before = RelationVocab(), VocabTokens(dataset.vocab), [], None
    for number, row in enumerate(rows):
        label, *turns = row.split("\t")
        groups.append(groups[-1] + (turns[:-1] != before) if groups else 0)
        before = turns[:-1]
        words = [turn.split() for turn in turns]
        encoded = [EncodedUtterance.of(tree_of(turn) if turn else None, tokens, relations) for turn in words]
        expected = selection_data(encoded[:-1], encoded[-1], tokens, max_length=24, y=float(label))
        expected.group = torch.tensor([groups[-1]])
        assert same(dataset[number], expected)
    assert dataset.groups().tolist() == groups
    assert dataset.labels().tolist() == [int(row[0]) for row in rows]
    assert len(dataset) == len(rows)


def test_an_example(tmp_path):
    put(tmp_path)
    dataset = load(tmp_path)
    assert isinstance(dataset, Dataset)
    assert not isinstance(dataset, OnDiskDataset)  # whose `db`, `append` and `extend` it could not have
    assert (repr(dataset), repr(dataset[:1])) == ("Ubuntu(8)", "Ubuntu(1)")
    assert dataset.context(0) == [["is", "it", "cold", "?"], ["yes", "it", "is"]]
    assert dataset.response(1) == ["the", "cat", "sleeps"]
    assert dataset.context(3) == [[], ["take", "a", "coat"]]
    assert dataset.response(3) == []
    assert dataset.sentences(0)[0][0] == tree_of(["is", "it", "cold", "?"])
    assert dataset.sentences(3)[1] is None
    data = dataset[5]
    assert (data.y.tolist(), data.group.tolist()) == ([0.0], [2])
    assert [dataset.vocab.words[i] for i in data.input_ids.tolist()] == (
        ["[CLS]", "who", "is", "it", "?", "[EOU]", "[SEP]", "the", "cat", "[SEP]"]
    )


def test_batches_are_single_examples(tmp_path):
    put(tmp_path)
    dataset = load(tmp_path, transform=resolve("sia", max_sum=3))
    order = [5, 0, 5, 7]
    for data, number in zip(dataset.__getitems__(order), order):
        assert same(data, dataset[number])
    batches = list(DataLoader(dataset, batch_size=3))
    assert [batch.num_graphs for batch in batches] == [3, 3, 2]
    assert same(batches[0], Batch.from_data_list([dataset[i] for i in range(3)]))
    assert batches[2].y.tolist() == [1, 1]
    assert [data.group.item() for data in dataset.multi_get(slice(4, 7))] == [1, 2, 3]
    assert [data.group.item() for data in dataset.multi_get(torch.tensor([7, 0]))] == [3, 0]


def test_slices_of_a_dataset(tmp_path):
    put(tmp_path)
    dataset = load(tmp_path)
    part = dataset[torch.tensor([6, 0, 2])]
    assert len(part) == 3
    assert part.labels().tolist() == [1, 1, 1]
    assert part.groups().tolist() == [3, 0, 1]
    (batch,) = DataLoader(part, batch_size=3)
    assert batch.group.tolist() == [3, 0, 1]
    assert part.response(0) == ["a", "dog", "of", "mine"]
    assert part.describe() == dataset.describe()
    again = copy.copy(part)
    assert again._parser is part._parser is dataset._parser
    assert again._cache is part._cache is dataset._cache


@pytest.mark.parametrize("number", [8, -1])
def test_there_is_no_such_pair(tmp_path, number):
    put(tmp_path)
    with pytest.raises(IndexError, match=f"there is no pair {number}: they are 0 to 7"):
        load(tmp_path).get(number)


def test_it_travels_to_workers(tmp_path):
    put(tmp_path)
    dataset = load(tmp_path)
    dataset[0]
    unpickled = pickle.loads(pickle.dumps(dataset))
    assert unpickled._parser is None
    assert all(same(dataset[i], unpickled[i]) for i in range(len(dataset)))
    loader = DataLoader(dataset, batch_size=4, num_workers=1)
    assert [batch.group.tolist() for batch in loader] == [[0, 0, 1, 1], [1, 2, 3, 3]]


def test_everything_is_stored_and_parsed_once(tmp_path):
    put(tmp_path, [*ROWS, *(f"0\tyes it is\tx{number}" for number in range(50))])
    parser = Trees()
    dataset = load(tmp_path, parser=parser)
    about = dataset.describe()
    assert sorted(parser.seen) == sorted(set(parser.seen))
    assert len(parser.seen) == 8 + 50
    assert (about["pools"], about["pairs"], about["utterances"]) == (4, 58, 9 + 50)
    with sqlite3.connect(file_of(tmp_path)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables == {"notes", "words", "relations", "utterances", "pools", "pairs"}
        contexts = [len(row[0]) // 4 for row in database.execute("SELECT context FROM pools ORDER BY id")]
    database.close()
    assert contexts == [2, 2, 1, 1]


def test_counts_what_is_odd(tmp_path):
    put(tmp_path)
    dataset = load(tmp_path, relations=RelationVocab(["amod:strange"]))
    about = dataset.describe()
    assert {name: about[name] for name in ("pairs", "pools", "utterances", "words", "forms")} == {
        "pairs": 8,
        "pools": 4,
        "utterances": 9,
        "words": sum(map(len, map(str.split, DIFFERENT))),
        "forms": len(set(chain.from_iterable(map(str.split, DIFFERENT)))),
    }
    assert about["empty_utterances"] == 2  # the context's first turn once, and a candidate
    assert about["duplicate_candidates"] == 1
    assert about["pools_without_positive"] == 1
    assert about["pools_all_positive"] == 1
    assert about["parser_failures"] == about["unknown_relations"] == about["unknown_words"] == 0
    assert about["parser"] == "random trees"
    assert about["file_bytes"] == file_of(tmp_path).stat().st_size


DIFFERENT = [
    "is it cold ?",
    "yes it is",
    "take a coat",
    "the cat sleeps",
    "no",
    "who is it ?",
    "the Cat",
    "a dog of mine",
]


def test_vocabulary_counts_different_utterances_of_train(tmp_path):
    put(tmp_path)
    put(tmp_path, ["1\tanother word\tno"], "valid")
    for options in ({}, {"min_freq": 2}, {"lower": False}):
        expected = Vocab.build([text.split() for text in DIFFERENT], **{"lower": True, **options})
        assert load(tmp_path, **options).vocab == expected
        val = load(tmp_path, "val", **options)
        assert val.vocab == expected
        assert val[0].input_ids.tolist()[1:3] == [0, 0]
    val = load(tmp_path, "val")
    assert val.describe()["unknown_words"] == pytest.approx(2 / 3)
    (tmp_path / "raw" / "ubuntu-v1" / "train.txt").unlink()
    vocab = Vocab(["word"])
    assert load(tmp_path, "val", vocab=vocab)[0].input_ids.tolist()[1:3] == [0, 5]
    tokens = VocabTokens(vocab)
    with_tokens = load(tmp_path, "val", tokens=tokens)
    assert same(with_tokens[0], load(tmp_path, "val", vocab=vocab)[0])
    for ask in (lambda: load(tmp_path, "val"), lambda: with_tokens.vocab):
        with pytest.raises(FileNotFoundError, match=r"train\.txt \(the vocabulary is built from it"):
            ask()


def test_labels_that_are_no_relations(tmp_path):
    class Odd(Trees):
        def parse_sentences(self, sentences):
            trees = [Sentence.chain(words) for words in sentences]
            labels = [["nmod:odd" if label == "dep" else label for label in tree.deprel] for tree in trees]
            return [Parsed([Sentence(t.form, t.head, label)]) for t, label in zip(trees, labels)]

    put(tmp_path)
    known = RelationVocab(["nmod:odd"])
    plain, learned = load(tmp_path, parser=Odd()), load(tmp_path, parser=Odd(), relations=known)
    words = sum(len(text.split()) for text in DIFFERENT)
    assert plain.describe()["unknown_relations"] == words - 8
    assert learned.describe()["unknown_relations"] == 0
    assert plain[0].deprel[2:4].tolist() == [RelationVocab()["nmod"]] * 2
    assert learned[0].deprel[2:4].tolist() == [known["nmod:odd"]] * 2
    assert len(list((tmp_path / "processed").iterdir())) == 1


def test_failures_of_the_parser(tmp_path, caplog):
    class Failing(Trees):
        def parse_sentences(self, sentences):
            return [Parsed([chain_sentence(words, "tired")], "tired") for words in sentences]

    put(tmp_path)
    for _ in range(2):
        caplog.clear()
        dataset = load(tmp_path, parser=Failing())
        assert dataset.parser_failures == dataset.describe()["parser_failures"] == 8
        assert "Ubuntu (train): 8 texts with a chain tree instead of a parse" in caplog.text


@pytest.mark.parametrize(
    ("limit", "pools"), [(1, [3]), (2, [3]), (3, [1, 3]), (6, [1, 2, 3]), (8, [0, 1, 2, 3]), (9, range(4))]
)
def test_limit_takes_whole_pools(tmp_path, limit, pools):
    put(tmp_path)
    parser = Trees()
    dataset = load(tmp_path, limit=limit, parser=parser)
    numbers = [number for number, pool in enumerate([0, 0, 1, 1, 1, 2, 3, 3]) if pool in pools]
    assert [" ".join(dataset.response(i)) for i in range(len(dataset))] == [
        ROWS[number].split("\t")[-1].strip() for number in numbers
    ]
    rows = [ROWS[number].split("\t")[1:] for number in numbers]
    assert {" ".join(words) for words in parser.seen} == {
        text for row in rows for text in row if text.strip()
    }


def test_max_turns(tmp_path):
    put(tmp_path)
    dataset = load(tmp_path, max_turns=1)
    assert dataset.context(0) == [["yes", "it", "is"]]
    assert dataset.groups().tolist() == load(tmp_path).groups().tolist()


@pytest.mark.parametrize("max_length", [4, 9, 12, 16])
def test_what_is_cut(tmp_path, max_length):
    put(tmp_path, random_rows(5, 30))
    dataset = load(tmp_path, max_length=max_length)
    cut = [data.cut_words[0].tolist() for data in dataset]
    assert dataset.count_cut() == {
        "cut_pairs": sum(any(pair) for pair in cut),
        "cut_context_words": sum(context for context, _ in cut),
        "cut_responses": sum(response > 0 for _, response in cut),
        "cut_response_words": sum(response for _, response in cut),
    }
    assert max_length > 12 or dataset.count_cut()["cut_pairs"] > 0


def test_files_are_named_by_all_that_they_depend_on(tmp_path):
    raw = put(tmp_path)
    load(tmp_path)
    same_file = (
        {"max_length": 9},
        {"relations": RelationVocab(["x"])},
        {"vocab": Vocab()},
        {"cache_size": 0},
    )
    for options in (*same_file, {"tokens": VocabTokens(Vocab(["cat"]))}, {"min_freq": 2}, {"lower": False}):
        load(tmp_path, **options)
        assert len(list((tmp_path / "processed").iterdir())) == 1
    for count, options in enumerate(({"limit": 1}, {"max_turns": 1}), start=2):
        load(tmp_path, **options)
        assert len(list((tmp_path / "processed").iterdir())) == count
    parser = Trees()
    parser.fingerprint = "another"
    load(tmp_path, parser=parser)
    raw.write_text(raw.read_text().replace("dog", "cow"))
    assert "cow" in load(tmp_path).vocab
    assert len(list((tmp_path / "processed").iterdir())) == 5


@pytest.mark.parametrize("keep", [True, False])
def test_parses_are_kept_for_other_settings(tmp_path, keep):
    put(tmp_path)
    load(tmp_path, keep_parses=keep)
    parser = Trees()
    load(tmp_path, parser=parser, limit=2, keep_parses=keep)
    assert bool(parser.seen) is not keep
    assert (tmp_path / "cache").exists() is keep


def test_a_vocabulary_that_cannot_be_built_after_unpickling(tmp_path):
    put(tmp_path)
    put(tmp_path, split="valid")
    dataset = load(tmp_path, "val", tokens=VocabTokens(Vocab(["cat"])))
    unpickled = pickle.loads(pickle.dumps(dataset))
    with pytest.raises(
        RuntimeError, match=r"train-.*\.sqlite is not there, and a dataset that was unpickled"
    ):
        unpickled.vocab  # noqa: B018
    assert unpickled[1:]._parser is None
    assert dataset[2:].vocab == dataset.vocab == unpickled.vocab


def test_raw_from(tmp_path):
    put(tmp_path / "source")
    folder = tmp_path / "source" / "raw" / "ubuntu-v1"
    assert len(load(tmp_path / "corpus", raw_from=folder)) == 8
    assert (tmp_path / "corpus" / "raw" / "ubuntu-v1" / "train.txt").is_file()
    (folder / "test.txt").write_text("2\ta\tb\n")
    with pytest.raises(ValueError, match=r"test\.txt:1: 'label' must be one of 0, 1"):
        load(tmp_path / "another", raw_from=folder)
    assert not list((tmp_path / "another").glob("raw/*/*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "dev"}, r"'split' must be one of train, val, test \(got 'dev'\)"),
        ({"max_length": 3}, r"'max_length' must be at least 4 \(got 3\)"),
        ({"max_turns": 0}, r"'max_turns' must be at least 1 \(got 0\)"),
        ({"limit": 0}, r"'limit' must be at least 1 \(got 0\)"),
        ({"min_freq": 0}, r"'min_freq' must be at least 1 \(got 0\)"),
        ({"cache_size": -1}, r"'cache_size' must be at least 0 \(got -1\)"),
        ({"vocab": Vocab(), "tokens": VocabTokens(Vocab())}, "'tokens' and 'vocab' are both given"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    put(tmp_path)
    with pytest.raises(ValueError, match=message):
        load(tmp_path, **options)


def test_no_more_is_kept_in_memory_than_asked_for(tmp_path):
    put(tmp_path, random_rows(4, 30))
    dataset, large = load(tmp_path, cache_size=3), load(tmp_path)
    for numbers in ([0, 1, 2], [5, 9], [0], list(range(40))):
        for a, b in zip(dataset.__getitems__(numbers), large.__getitems__(numbers)):
            assert same(a, b)
        assert len(dataset._cache) <= 3
    assert len(large._cache) == len({*large._cache}) > 3


def test_what_was_used_last_is_kept(tmp_path, monkeypatch):
    put(tmp_path)
    dataset = load(tmp_path, cache_size=4)
    asked: list[list[int]] = []
    original = SelectionStore.trees
    monkeypatch.setattr(
        SelectionStore, "trees", lambda store, turns: asked.append(sorted(turns)) or original(store, turns)
    )
    dataset[0]  # turns 0, 1 and 2
    dataset[1]  # 3 is new
    dataset[2]  # 4 and 5 are new, 0 or 1 goes first
    dataset[1]
    assert [len(turns) for turns in asked] == [3, 1, 2, 2]


def test_digest_of_the_examples(tmp_path):
    def digest(dataset: Ubuntu) -> str:
        sha = hashlib.sha256()
        dataset.update_digest(sha)
        return sha.hexdigest()

    put(tmp_path)
    put(tmp_path / "other")
    first = digest(load(tmp_path))
    assert digest(load(tmp_path / "other")) == first
    others = [load(tmp_path, max_length=9), load(tmp_path, vocab=Vocab()), load(tmp_path, limit=1)]
    digests = {
        digest(dataset) for dataset in (*others, load(tmp_path)[:3], load(tmp_path)[torch.tensor([1])])
    }
    assert len(digests | {first}) == 6
