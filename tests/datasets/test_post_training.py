from __future__ import annotations

import pickle
import random
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Dataset
from torch_geometric.loader import DataLoader

from graphdep import Sentence, Vocab
from graphdep.data import EncodedUtterance, NodeType, selection_data
from graphdep.datasets import (
    DailyDialogSelection,
    Douban,
    Masking,
    PostTrainingDataset,
    PostTrainingSampler,
    positive_dialogues,
)
from graphdep.datasets import PostTrainingKey as Key
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed
from graphdep.transforms import resolve
from graphdep.vocab import RelationVocab, VocabTokens
from tests.kit.tiny_corpora import write_tiny_dialogues

# Each utterance is one word: "d1u2" is utterance 2 of dialogue 1.
SIZES = (6, 2, 1, 4, 3, 5)
DIALOGUES = [[f"d{d}u{u}" for u in range(size)] for d, size in enumerate(SIZES)]
VOCAB = Vocab(word for dialogue in DIALOGUES for word in dialogue)
MASK = len(VOCAB)
MASKING = Masking(MASK, range(5, MASK))


def dataset(dialogues=DIALOGUES, masking=MASKING, **options) -> PostTrainingDataset:
    return PostTrainingDataset(dialogues, VocabTokens(VOCAB), masking, **options)


def place(word_id: int) -> tuple[int, int]:
    dialogue, utterance = VOCAB.words[word_id].removeprefix("d").split("u")
    return int(dialogue), int(utterance)


def places(data) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """The utterances of a sample's context and its response, without masking."""
    ids = torch.where(data.mlm_target >= 0, data.mlm_target, data.input_ids)
    *context, response = [place(i) for i in ids[data.node_type == NodeType.WORD].tolist()]
    return context, response


def windows(k: int) -> list[tuple[int, list[int], int]]:
    """Dialogue, context and next utterance of every sample."""
    out = []
    for d, size in enumerate(SIZES):
        if size > k:
            out += [(d, list(range(i, i + k)), i + k) for i in range(size - k)]
        elif size > 1:
            out.append((d, list(range(size - 1)), size - 1))
    return out


def test_windows_and_labels():
    for k in [1, 3, 9]:
        samples = dataset(short_context=k)
        expected = windows(k)
        assert len(samples) == len(expected)
        seen = Counter()
        for epoch in range(16):
            for number, (d, context, following) in enumerate(expected):
                data = samples[Key(epoch, number)]
                got, response = places(data)
                assert got == [(d, u) for u in context]
                label = data.y.item()
                seen[label] += 1
                if label == 0:
                    assert response[0] != d
                elif label == 1:
                    assert response[0] == d
                    assert response[1] != following
                else:
                    assert response == (d, following)
        total = sum(seen.values())
        assert seen[0] / total == pytest.approx(0.5, abs=0.12)
        assert seen[1] / total == pytest.approx(0.25, abs=0.1)


def test_responses_are_drawn_evenly():
    samples = dataset(shares=(0.5, 0.5, 0.0), short_context=2)
    others, same = Counter(), Counter()
    for epoch in range(700):
        data = samples[Key(epoch, 1)]  # context: utterances 1 and 2 of dialogue 0
        response = places(data)[1]
        (same if data.y.item() else others)[response] += 1
    # Dialogues are drawn uniformly, whatever their length.
    by_dialogue = Counter()
    for (d, _), count in others.items():
        by_dialogue[d] += count
    assert set(by_dialogue) == {1, 2, 3, 4, 5}
    assert all(abs(count / others.total() - 0.2) < 0.07 for count in by_dialogue.values())
    assert set(same) == {(0, u) for u in (0, 1, 2, 4, 5)}
    assert all(abs(count / same.total() - 0.2) < 0.07 for count in same.values())


def test_the_layout_is_that_of_selection():
    texts = [["d0u0 d0u1 d0u2", "d0u3", "d1u0 d1u1"], ["d3u0 d3u1", "d3u2"]]
    samples = dataset(texts, Masking(MASK, [5], 1e-9), shares=(0.0, 0.0, 1.0), max_length=9)
    tokens, relations = VocabTokens(VOCAB), RelationVocab()
    for number, dialogue in enumerate(texts):
        encoded = [EncodedUtterance.of(Sentence.chain(text.split()), tokens, relations) for text in dialogue]
        expected = selection_data(encoded[:-1], encoded[-1], tokens, max_length=9)
        data = samples[number]
        assert data.y.tolist() == [2]
        assert data.mlm_target.tolist() == [-100] * data.num_nodes
        assert data.num_nodes == expected.num_nodes <= 9
        for key in {*expected.keys()} - {"num_nodes"}:
            assert torch.equal(data[key], expected[key]), key
    assert samples[0].cut_words.tolist() == [[2, 0]]


@settings(max_examples=30)
@given(
    dialogues=st.lists(
        st.lists(st.lists(st.sampled_from(VOCAB.words[5:]), max_size=4).map(" ".join), max_size=6), max_size=5
    ),
    seed=st.integers(0, 9),
    epoch=st.integers(0, 9),
    max_length=st.integers(4, 24),
)
def test_any_dialogues(dialogues, seed, epoch, max_length):
    sizes = [sum(bool(u) for u in dialogue) for dialogue in dialogues]
    options = {"seed": seed, "max_length": max_length}
    if sum(size > 0 for size in sizes) < 2 or max(sizes) < 2:
        with pytest.raises(ValueError, match="'dialogues' must"):
            dataset(dialogues, **options)
        return
    samples = dataset(dialogues, **options)
    batch = Batch.from_data_list([samples[Key(epoch, number)] for number in range(len(samples))])
    assert batch.y.shape == (len(samples),)
    assert set(batch.y.tolist()) <= {0, 1, 2}
    asked = batch.mlm_target >= 0
    assert not (asked & (batch.node_type != NodeType.WORD)).any()
    assert (batch.ptr.diff() <= max_length).all()
    described = samples.describe()
    assert described["samples"] == len(samples)
    assert described["utterances"] + described["blank_utterances"] == sum(map(len, dialogues))
    assert described["dialogues"] + described["empty_dialogues"] == len(dialogues)


def same(first, second) -> bool:
    return all(torch.equal(first[key], second[key]) for key in ("input_ids", "mlm_target", "y"))


def test_a_sample_depends_on_seed_epoch_and_number_only():
    samples, again = dataset(seed=5), dataset(seed=5)
    number = range(len(samples))
    list(again)  # earlier draws do not matter
    assert all(same(samples[Key(2, i)], again[Key(2, i)]) for i in number)
    assert all(same(samples[Key(0, i)], samples[i]) for i in number)
    assert not all(same(samples[Key(1, i)], samples[Key(2, i)]) for i in number)
    assert not all(same(dataset(seed=6)[Key(2, i)], samples[Key(2, i)]) for i in number)
    copy = pickle.loads(pickle.dumps(samples))
    assert all(same(copy[Key(3, i)], samples[Key(3, i)]) for i in number)


class Pairs(Parser):
    """The second word governs all others; records its texts."""

    def __init__(self) -> None:
        super().__init__(progress=False)
        self.seen: list[str] = []

    @property
    def fingerprint(self) -> str:
        return "pairs"

    def parse_texts(self, texts):
        self.seen += texts
        return [Parsed([self.tree(text.split())]) for text in texts]

    def parse_sentences(self, sentences):
        return [Parsed([self.tree(words)]) for words in sentences]

    def tree(self, words):
        more = len(words) - 2
        return Sentence(list(words), [2, 0, *[2] * more], ["dep", "root", *["obj"] * more])


def test_trees_of_a_parser_or_given_ones():
    texts = [["d0u0 d0u1 d0u2", "d0u3 d0u4"], ["d0u3 d0u4", "d3u0 d3u1 d3u2 d3u3"]]
    parser = Pairs()
    samples = dataset(texts, parser=parser)
    assert sorted(parser.seen) == sorted({text for dialogue in texts for text in dialogue})
    assert samples.describe()["parser_failures"] == 0
    words = samples[0].word >= 0
    assert samples[0].depth[words][:3].tolist() == [2, 1, 2]
    trees = [[parser.parse([text])[0][0] for text in dialogue] for dialogue in texts]
    given_trees = dataset(trees)
    assert all(torch.equal(a.depth, b.depth) for a, b in zip(samples, given_trees))
    chains = dataset(texts)
    assert chains[0].depth[words][:3].tolist() == [1, 2, 3]
    edges = resolve("sia")(samples[0])
    assert edges.edge_index.size(1) > edges.num_nodes


def test_left_out_parts_are_counted():
    samples = dataset([["d0u0", " ", "d0u1"], ["d1u0"], [], ["", "\t"], [f"d3u{u}" for u in range(4)]])
    assert samples.describe() == {
        "samples": 2,
        "dialogues": 3,
        "utterances": 7,
        "short_dialogues": 1,
        "one_utterance_dialogues": 1,
        "blank_utterances": 3,
        "empty_dialogues": 2,
    }


def test_bad_input():
    for dialogues, options, message in [
        (DIALOGUES, {"short_context": 0}, r"'short_context' must be at least 1 \(got 0\)"),
        (DIALOGUES, {"shares": (0.5, 0.5, 0.5)}, r"'shares' must be three probabilities that sum to 1"),
        (DIALOGUES, {"shares": (1.5, -0.5, 0.0)}, r"'shares' must be three probabilities that sum to 1"),
        (DIALOGUES[:1], {}, r"at least 2 'dialogues' must have an utterance.* \(got 1\)"),
        (
            [["a"], ["b"]],
            {},
            r"one of 'dialogues' must have at least two utterances \(got 2 of one utterance\)",
        ),
        ([], {"shares": (0.0, 0.5, 0.5)}, "one of 'dialogues' must have at least two utterances"),
    ]:
        with pytest.raises(ValueError, match=message):
            dataset(dialogues, **options)


def test_samples_out_of_range():
    for number in [-1, 20]:
        assert len(dataset(short_context=1)) < 20
        samples = dataset(short_context=1)
        with pytest.raises(IndexError, match=rf"no sample {number}: the samples are 0 to {len(samples) - 1}"):
            samples.get(number)
        for key in (20, Key(0, 20), -20):
            with pytest.raises(IndexError, match="out of range"):
                samples[key]


def test_it_is_a_dataset_like_those_of_pyg():
    samples = dataset(seed=3, transform=lambda data: data.update({"seen": True}))
    size = len(samples)
    assert isinstance(samples, Dataset)
    assert all(data.seen for data in (samples[0], samples[Key(1, 0)], next(iter(samples))))
    assert "seen" not in samples.get(0)
    assert same(samples[-1], samples[size - 1])
    assert same(samples[np.int64(2)], samples[torch.tensor(2)])
    assert same(samples[Key(4, -1)], samples[Key(4, size - 1)])
    both = samples[0, 1]  # two samples, as in PyG, not epoch and number
    assert isinstance(both, PostTrainingDataset)
    assert len(both) == 2
    assert all(same(both[i], samples[i]) for i in range(2))
    part = samples[3:]
    assert (len(part), str(part)) == (size - 3, f"PostTrainingDataset({size - 3})")
    assert all(same(part[Key(5, i)], samples[Key(5, i + 3)]) for i in range(len(part)))
    assert part.describe() == samples.describe()
    shuffled, order = samples.shuffle(return_perm=True)
    assert all(same(shuffled[Key(1, i)], samples[Key(1, n)]) for i, n in enumerate(order.tolist()))
    assert [data.num_nodes for data in part] == [samples[i].num_nodes for i in range(3, size)]
    sampler = PostTrainingSampler(len(part))
    assert sum(batch.num_graphs for batch in DataLoader(part, batch_size=3, sampler=sampler)) == len(part)


def test_one_dialogue_needs_no_random_responses():
    samples = dataset(DIALOGUES[:1], shares=(0.0, 0.5, 0.5))
    assert {samples[Key(epoch, 0)].y.item() for epoch in range(20)} == {1, 2}


def test_roots_of_several_sentences():
    for options, depth in [({}, [1, 2, 1, 2]), ({"roots": "first"}, [1, 2, 2, 3])]:

        class Pairs(Parser):
            """Sentences of two words."""

            fingerprint = "pairs"

            def parse_sentences(self, sentences):
                raise NotImplementedError

            def parse_texts(self, texts):
                parts = [text.split() for text in texts]
                return [Parsed([Sentence.chain(w[i : i + 2]) for i in range(0, len(w), 2)]) for w in parts]

        dialogues = [["d0u0 d0u1 d0u0 d0u1", "d0u1"], ["d1u0", "d1u1"]]
        data = dataset(dialogues, parser=Pairs(progress=False), short_context=1, shares=(0, 0, 1), **options)[
            0
        ]
        context = (data.node_type == NodeType.WORD) & (data.segment == 0)
        assert data.depth[context].tolist() == depth
        with pytest.raises(ValueError, match=r"'roots' must be one of first, all \(got 'last'\)"):
            dataset(dialogues, parser="chain", roots="last")


def test_each_epoch_has_all_samples_in_another_order():
    orders = []
    for epoch in (0, 1, 7):
        sampler = PostTrainingSampler(50, seed=3)
        sampler.set_epoch(epoch)
        assert len(sampler) == 50
        keys = list(sampler)
        assert {key.epoch for key in keys} == {epoch}
        assert sorted(key.number for key in keys) == list(range(50))
        orders.append([key.number for key in keys])
    assert len({tuple(order) for order in orders}) == 3


def test_the_order_depends_on_seed_and_epoch_only():
    straight = PostTrainingSampler(50, seed=3)
    for epoch in range(3):
        straight.set_epoch(epoch)
        last = list(straight)
    resumed = PostTrainingSampler(50, seed=3)
    resumed.set_epoch(2)
    assert list(resumed) == last
    other = PostTrainingSampler(50, seed=4)
    other.set_epoch(2)
    assert list(other) != last


@given(ids=st.lists(st.integers(5, 99), max_size=60), seed=st.integers(0, 10**6), share=st.floats(0.01, 1.0))
def test_masked_pieces_can_be_restored_and_others_are_unchanged(ids, seed, share):
    input_ids = torch.tensor(ids, dtype=torch.long)
    words = torch.tensor([i % 3 > 0 for i in range(len(ids))], dtype=torch.bool)
    masked, target = Masking(100, range(5, 100), share)(input_ids, words, random.Random(seed))
    assert masked.dtype == target.dtype == torch.long
    asked = target != -100
    assert not (asked & ~words).any()
    assert torch.equal(torch.where(asked, target, masked), input_ids)
    assert ((masked == 100) <= asked).all()


def test_shares_are_those_of_bert():
    input_ids = torch.full((40_000,), 7)
    words = torch.ones(40_000, dtype=torch.bool)
    masked, target = Masking(3, range(10, 1000))(input_ids, words, random.Random(0))
    asked = target == 7
    share = 3 * (0.15 * 0.85 / 40_000) ** 0.5
    assert float(asked.float().mean()) == pytest.approx(0.15, abs=share)
    counts = {name: int((masked[asked] == i).sum()) for name, i in (("mask", 3), ("kept", 7))}
    assert counts["mask"] / int(asked.sum()) == pytest.approx(0.8, abs=0.02)
    assert counts["kept"] / int(asked.sum()) == pytest.approx(0.1, abs=0.015)
    replaced = masked[asked & (masked != 3) & (masked != 7)]
    assert 10 <= int(replaced.min()) < 30
    assert 970 < int(replaced.max()) < 1000


def test_the_same_random_state_gives_the_same_masks():
    ids, words = torch.arange(5, 65), torch.ones(60, dtype=torch.bool)
    masking = Masking(2, range(5, 65))
    first, again, other = (masking(ids, words, random.Random(seed))[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_share_of_one_masks_every_piece():
    ids, words = torch.arange(5, 25), torch.ones(20, dtype=torch.bool)
    assert torch.equal(Masking(2, [9], 1.0)(ids, words, random.Random(0))[1], ids)


def test_print_and_hash():
    masking = Masking(2, [*range(5, 30_000)], 0.3)
    assert str(masking) == "Masking(mask_id=2, share=0.3)"
    assert masking == Masking(2, range(5, 30_000), 0.3)
    assert hash(masking) == hash(Masking(2, range(5, 30_000), 0.3))
    assert masking != Masking(2, [5], 0.3)


def test_bad_arguments():
    for arguments, message in [
        ((2, [9], 0.0), r"'share' must be in 0 < share <= 1 \(got 0.0\)"),
        ((2, [9], 1.5), r"'share' must be in 0 < share <= 1 \(got 1.5\)"),
        ((2, []), "'replacements' is empty"),
    ]:
        with pytest.raises(ValueError, match=message):
            Masking(*arguments)


def test_ids_of_a_tokenizer(tmp_path):
    transformers = pytest.importorskip("transformers")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n")
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))
    tokenizer.add_special_tokens({"additional_special_tokens": ["[EOU]"]})
    masking = Masking.of_tokenizer(tokenizer, 0.3)
    assert (masking.mask_id, list(masking.replacements), masking.share) == (4, [5, 6], 0.3)
    tokenizer.mask_token = None
    with pytest.raises(ValueError, match="'tokenizer' has no mask token"):
        Masking.of_tokenizer(tokenizer)


ROWS = """\
1\ta b\tc\td e
0\ta b\tc\tf
1\tc\tg
0\tc\ta
1\tc\t \th
0\tc\t \ta
1\ta b\tc\td e\ti
0\ta b\tc\td e\tf
"""


def rows(folder, text, parser):
    (folder / "raw").mkdir()
    for name in ("train", "valid", "test"):
        (folder / "raw" / f"{name}.txt").write_text(text)
    return Douban(folder, "train", parser, log=False)


def test_right_responses_end_dialogues_and_beginnings_are_left_out(tmp_path, parser):
    dataset = rows(tmp_path, ROWS, parser)
    assert sorted(positive_dialogues(dataset)) == [
        ["a b", "c", "d e", "i"],
        ["c", "g"],
        ["c", "h"],  # without the blank utterance
    ]
    assert sorted(positive_dialogues(dataset[:2])) == [["a b", "c", "d e"]]


def test_trees(tmp_path, parser):
    dialogues = positive_dialogues(rows(tmp_path, ROWS, parser), trees=True)
    longest = max(dialogues, key=len)
    assert longest == [Sentence.chain(text.split()) for text in ("a b", "c", "d e", "i")]
    assert [Sentence.chain(["c"]), Sentence.chain(["h"])] in dialogues
    places = {id(u) for dialogue in dialogues for u in dialogue if u == longest[1]}
    assert len(places) == 1


def reply_tree(draw: random.Random, size: int) -> list[list[str]]:
    """The chain of replies up to each message but the first two; some messages are blank."""
    blank = {number for number in range(size) if draw.random() < 0.1}
    answers = {number: draw.randint(max(0, number - 4), number - 1) for number in range(2, size)}
    chains = []
    for message in answers:
        chain = [message]
        while chain[0] in answers:
            chain.insert(0, answers[chain[0]])
        chains.append(["" if number in blank else f"m{number}" for number in chain])
    return chains


def windows_of(chain: list[str], k: int) -> list[tuple[str, ...]]:
    turns = [turn for turn in chain if turn]
    if len(turns) <= k:
        return [tuple(turns)] if len(turns) > 1 else []
    return [tuple(turns[end - k : end + 1]) for end in range(k, len(turns))]


def test_each_window_of_branching_chains_occurs_once(tmp_path, parser):
    for seed in range(2):
        chains = reply_tree(random.Random(seed), 60)
        (tmp_path / str(seed)).mkdir()
        text = "".join("1\t" + "\t".join(chain) + "\n" for chain in chains)
        dataset = rows(tmp_path / str(seed), text, parser)
        for k in [1, 2, 3, 5]:
            dialogues = positive_dialogues(dataset, short_context=k)
            turns = [tuple(turn for turn in chain if turn) for chain in chains]
            longest = {
                one for one in turns if not any(one != two and two[: len(one)] == one for two in turns)
            }
            expected = {window for chain in longest for window in windows_of(chain, k)}
            drawn = [window for dialogue in dialogues for window in windows_of(dialogue, k)]
            assert sorted(drawn) == sorted(expected)
            assert len(drawn) < sum(len(windows_of(chain, k)) for chain in longest)  # chains share windows
            vocab = Vocab(f"m{number}" for number in range(60))
            samples = PostTrainingDataset(
                dialogues,
                VocabTokens(vocab),
                Masking(len(vocab), [5]),
                short_context=k,
                shares=(0.0, 0.0, 1.0),
            )
            assert len(samples) == len(expected)


def test_turns_become_their_dialogues(tmp_path):
    settings = write_tiny_dialogues(tmp_path)
    lines = (tmp_path / "raw" / "train" / "dialogues_train.txt").read_text().splitlines()
    raw = {tuple(turn.strip() for turn in line.split("__eou__")[:-1]) for line in lines}
    whole = [one for one in raw if not any(one != other and other[: len(one)] == one for other in raw)]
    dataset = DailyDialogSelection(settings["root"], "train", settings["parser"], log=False)
    assert sorted(map(tuple, positive_dialogues(dataset))) == sorted(whole)


def test_no_right_response(tmp_path, parser):
    dataset = rows(tmp_path, ROWS, parser)
    with pytest.raises(ValueError, match=r"'dataset' has no right response \(got 1 pairs\)"):
        positive_dialogues(dataset[1:2])
