from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, expand_pieces, mark_words, text_data
from graphdep.nn.models import TokenModel
from graphdep.transforms import resolve

VOCAB = Vocab("abcdefgh")
RELATIONS = RelationVocab()


class Numbered(nn.Module):
    """A state for every node, by its number; knows its nodes apart."""

    hidden_channels = 6

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(400, 6)

    def forward(self, data: Data) -> Tensor:
        return self.table.weight[: data.num_nodes]


class Letters:
    """A piece for every letter of a word."""

    cls_id, sep_id, eou_id, fingerprint = 1, 2, 3, "letters"

    def encode(self, words):
        return [[ord(letter) % 50 for letter in word] for word in words]


def make(**options) -> TokenModel:
    torch.manual_seed(0)
    return TokenModel(Numbered(), 4, **options).double().eval()


def first_pieces(data: Data) -> list[int]:
    """By a loop over the nodes."""
    seen, nodes = set(), []
    example = data.batch.tolist() if "batch" in data else [0] * data.num_nodes
    rows = zip(example, data.utterance.tolist(), data.word.tolist())
    for node, row in enumerate(rows):
        if row[2] >= 0 and row not in seen:
            seen.add(row)
            nodes.append(node)
    return nodes


def pair(sentences: list[Sentence], edges: str) -> Data:
    encoded = [EncodedUtterance.of(sentence, Letters(), RELATIONS) for sentence in sentences]
    return resolve(edges)(text_data(*encoded, tokens=Letters(), max_length=60))


def literal(model: TokenModel, data: Data) -> Tensor:
    """Word by word, each a list of its nodes; of one example."""
    states, words = model.encoder(data), []
    for first in first_pieces(data):
        row = (data.utterance == data.utterance[first]) & (data.word == data.word[first])
        nodes = row.nonzero().view(-1)
        words.append(states[nodes].mean(dim=0) if model.pieces == "mean" else states[nodes[0]])
    if model.marked:
        marked = [word for word, node in zip(words, first_pieces(data)) if data.mark[node] > 0]
        seen = torch.stack(marked).mean(dim=0) if marked else torch.zeros_like(states[0])
        words = [torch.cat([word, seen]) for word in words]
    return torch.stack(words) @ model.head.lin.weight.T + model.head.lin.bias


class Features(nn.Module):
    """States that a node has by itself, so that a batch gives those of its examples."""

    hidden_channels = 6

    def forward(self, data: Data) -> Tensor:
        place = torch.arange(1, 7, dtype=torch.double)
        return torch.sin((1 + data.input_ids[:, None] + 7 * data.position[:, None]) * place)


def marked_example(sentences: list[Sentence], marks: list[int]) -> Data:
    """With a mark for each word, one text after the other."""
    data = pair(sentences, "dra")
    first = zip(first_pieces(data), marks, strict=False)
    words = {(int(data.utterance[node]), int(data.word[node])): mark for node, mark in first}
    rows = zip(data.utterance.tolist(), data.word.tolist())
    data.mark = torch.tensor([words.get(row, 0) for row in rows])
    return data


texts = st.lists(st.text("abcdefgh", min_size=1, max_size=3), min_size=1, max_size=5).map(Sentence.chain)


def test_one_example_and_a_batch_of_it() -> None:
    model, data = make(), pair([Sentence.chain(["ab", "c"]), Sentence.chain(["def"])], "dam")
    assert data.word.tolist() == [-1, 0, 0, 1, -1, 0, 0, 0, -1, -1]  # the last is a relation node
    logits, nodes = model(data)
    assert nodes.tolist() == [1, 3, 5]
    batched = model(Batch.from_data_list([data, data]))
    assert batched[1].tolist() == [1, 3, 5, 11, 13, 15]
    torch.testing.assert_close(batched[0][:3], logits)


def test_words_of_our_own_and_their_pieces() -> None:
    data = to_data([Sentence.chain(["a", "b"]), Sentence.chain(["c"])], vocab=VOCAB)
    logits, nodes = make()(data)
    assert nodes.tolist() == [1, 2, 4]
    assert logits.shape == (3, 4)
    pieces = expand_pieces(data, [[1], [5, 6], [7], [1], [8, 9, 10]])
    assert make()(pieces)[1].tolist() == [1, 3, 5]


def test_no_words() -> None:
    data = text_data(EncodedUtterance.of(None, Letters(), RELATIONS), tokens=Letters(), max_length=9)
    logits, nodes = make()(data)
    assert (logits.shape, nodes.numel()) == ((0, 4), 0)


@settings(max_examples=20)
@given(
    sizes=st.lists(st.lists(texts, min_size=1, max_size=2), min_size=1, max_size=4),
    marks=st.lists(st.sampled_from([0, 0, 1, 2]), min_size=10, max_size=10),
    pieces=st.sampled_from(["first", "mean"]),
    marked=st.booleans(),
)
def test_pieces_and_marks_equal_a_loop_and_a_batch_each_alone(sizes, marks, pieces, marked):
    torch.manual_seed(0)
    model = TokenModel(Features(), 4, pieces=pieces, marked=marked).double().eval()
    nn.init.normal_(model.head.lin.weight)
    examples = [marked_example(part, marks[i:] + marks[:i]) for i, part in enumerate(sizes)]
    batch = Batch.from_data_list(examples)
    logits, nodes = model(batch)
    assert nodes.tolist() == first_pieces(batch)
    expected = torch.cat([literal(model, one) for one in examples])
    torch.testing.assert_close(logits, expected, rtol=1e-12, atol=1e-12)
    alone = torch.cat([model(one)[0] for one in examples])
    torch.testing.assert_close(logits, alone, rtol=1e-12, atol=1e-12)


def test_mean_of_pieces_beside_relation_nodes_and_empty_nodes() -> None:
    data = pair([Sentence.chain(["abc", "d"]), Sentence.chain(["ef"])], "dam")
    model = make(pieces="mean")
    logits, nodes = model(data)
    assert nodes.tolist() == [1, 4, 6]
    x = model.encoder.table.weight
    states = torch.stack([x[1:4].mean(dim=0), x[4], x[6:8].mean(dim=0)])
    torch.testing.assert_close(logits, model.head(states))
    empty = [("1.1", "x", "_", "_", "_", "_", "_", "_", "1:dep", "_")]
    sentence = Sentence(
        ["a", "b"], [0, 1], ["root", "dep"], deps=[[("0", "root")], [("1", "dep")]], empty=empty
    )
    assert make()(to_data([sentence], vocab=VOCAB, arcs="enhanced"))[1].tolist() == [1, 2]
    enhanced = expand_pieces(to_data([sentence], arcs="enhanced"), [[1], [5, 6], [7], [8, 9]])
    logits, nodes = model(enhanced)
    assert nodes.tolist() == [1, 3]
    torch.testing.assert_close(logits, model.head(torch.stack([x[1:3].mean(dim=0), x[3]])))


def test_the_marked_word_learns() -> None:
    model = make(pieces="mean", marked=True)
    nn.init.ones_(model.head.lin.weight)
    data = mark_words(pair([Sentence.chain(["ab", "c"])], "dra"), [1, 0])
    model(data)[0].sum().backward()
    # A word is read once by itself, the marked one by both words too: a half each of its two pieces.
    assert model.encoder.table.weight.grad[:5, 0].tolist() == [0, 6, 6, 4, 0]


@pytest.mark.parametrize("pieces", ["first", "mean"])
def test_no_words_to_mark(pieces) -> None:
    empty = text_data(EncodedUtterance.of(None, Letters(), RELATIONS), tokens=Letters(), max_length=9)
    mark_words(empty, [])
    logits, nodes = make(pieces=pieces, marked=True)(empty)
    assert (logits.shape, nodes.numel()) == ((0, 4), 0)
    data = mark_words(pair([Sentence.chain(["ab"])], "dra"), [1])
    model = TokenModel(Features(), 4, pieces=pieces, marked=True).double().eval()
    keys = ("node_type", "governor_index", "input_ids", "position", "utterance", "word", "mark")
    empty, data = (Data(num_nodes=one.num_nodes, **{key: one[key] for key in keys}) for one in (empty, data))
    logits, _ = model(Batch.from_data_list([empty, data, empty]))
    torch.testing.assert_close(logits, model(data)[0])


def test_options_of_pieces_and_marks() -> None:
    assert repr(make(pieces="mean", marked=True)).startswith("TokenModel(\n  pieces='mean', marked=True\n")
    data = pair([Sentence.chain(["ab"])], "dra")
    with pytest.raises(ValueError, match=r"no 'mark': call graphdep.data.node_table\(data, marks\)"):
        make(marked=True)(data)
    model, again = make(marked=True), make(marked=True)
    nn.init.normal_(model.head.lin.weight)
    again.load_state_dict(model.state_dict())
    mark_words(data, [1])
    assert torch.equal(model(data)[0], again(data)[0])


@pytest.mark.parametrize("pieces", ["first", "mean"])
def test_bfloat16(pieces) -> None:
    model = TokenModel(Numbered(), 4, pieces=pieces, marked=True).eval()
    data = mark_words(pair([Sentence.chain(["ab", "c"])], "dra"), [1, 0])
    expected = model(data)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(data)[0]
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.05)
    assert model.bfloat16()(data)[0].dtype == torch.bfloat16


@pytest.mark.parametrize("pieces", ["first", "mean"])
def test_all_tensors_are_made_on_the_device_of_the_data(pieces) -> None:
    """With another default device, a tensor made without saying where would not fit the others."""
    model = make(pieces=pieces, marked=True)
    data = mark_words(pair([Sentence.chain(["ab", "c"])], "dra"), [1, 0])
    expected = model(data)
    with torch.device("meta"):
        out = model(data)
    assert all(map(torch.equal, out, expected))


@pytest.mark.cuda
@pytest.mark.parametrize("pieces", ["first", "mean"])
def test_cuda(pieces) -> None:
    model = make(pieces=pieces, marked=True)
    data = mark_words(pair([Sentence.chain(["ab", "c"])], "dra"), [1, 0])
    expected = model(data)
    out = model.cuda()(data.clone().to("cuda"))
    for got, wanted in zip(out, expected):
        torch.testing.assert_close(got.cpu(), wanted, rtol=0, atol=1e-10)
