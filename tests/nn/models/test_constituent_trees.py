"""What holds for every encoder over constituents."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models import (
    RNTN,
    BinaryTreeLSTM,
    BiTreeLSTM,
    ClassificationHead,
    ConstituencyTreeTransformer,
    ConstituentEncoder,
    DCTreeLSTM,
    SentenceModel,
    TagHyperTreeLSTM,
)
from graphdep.nn.models.baselines.constituent_trees import BinaryTrees, binary_trees
from graphdep.vocab import PhraseVocab
from graphdep.vocab.vocab import UPOS, tag_id
from tests.kit.slow import assert_formulas, assert_same_gradients
from tests.kit.trees import Pair, bracketed_sentence, nested

VOCAB = Vocab("abcdefgh")
MAKERS: dict[str, Callable[..., ConstituentEncoder]] = {
    "tree-lstm-ct": BinaryTreeLSTM,
    "rntn": RNTN,
    "bitree-lstm-ct": BiTreeLSTM,
    "dc-treelstm": functools.partial(DCTreeLSTM, meta_channels=3),
    "dc-recnn": functools.partial(DCTreeLSTM, meta_channels=3, cell="rnn"),
    "taghypertreelstm": functools.partial(TagHyperTreeLSTM, meta_channels=3, tag_channels=4),
    "tghrecnn": functools.partial(TagHyperTreeLSTM, meta_channels=3, tag_channels=4, cell="rnn"),
    "tree-transformer-ct": functools.partial(ConstituencyTreeTransformer, heads=2, ff_channels=8),
}
each = pytest.mark.parametrize("name", MAKERS)


def make(name: str, **options) -> ConstituentEncoder:
    torch.manual_seed(0)
    return MAKERS[name](len(VOCAB), **({"hidden_channels": 6} | options)).double()


def table(*sentences: Sentence) -> Data:
    return to_data(sentences, vocab=VOCAB, phrases="tagged")


def example(seed: int, utterances: int = 2) -> Data:
    rng = random.Random(seed)
    return table(*(bracketed_sentence(rng, rng.randint(1, 8)) for _ in range(utterances)))


@each
def test_a_sentence_of_one_word(name: str) -> None:
    model = make(name)
    out = [model(table(Sentence(["a"], [0], ["root"], constituents=c))) for c in ([], [("NP", 0, 1)])]
    torch.testing.assert_close(*out, rtol=0, atol=0)
    assert out[0][0].any()


@each
def test_the_root_has_the_state_of_the_whole(name: str) -> None:
    data, model = example(4, 1), make(name)
    x, phrases = model.states(data)
    first, last = data.phrase_index
    whole = (first == 1) & (last == data.num_nodes - 1)
    for row in phrases[whole]:
        torch.testing.assert_close(row, x[0], rtol=0, atol=0)


@each
def test_a_long_deep_sentence(name: str) -> None:
    words = 40
    nested = [("S", start, words) for start in range(words - 1)]
    chain = Sentence.chain(["a"] * words)
    sentence = Sentence(chain.form, chain.head, chain.deprel, constituents=nested)
    model = make(name)
    out = model(table(sentence))
    assert out.shape == (words + 1, model.hidden_channels)
    out.sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", ["rntn", "tree-transformer-ct"])  # which finds its states in another way
def test_labelled_nodes(name: str) -> None:
    """The head sees words and constituents that have a label, and those alone."""
    data = example(7, 1)
    data.word_y = torch.full((data.num_nodes,), -1)
    data.word_y[1:3] = torch.tensor([1, 0])[: data.num_nodes - 1]
    data.phrase_y = torch.arange(data.phrase_type.numel()) % 3 - 1
    model = SentenceModel(make(name), ClassificationHead(6, 2)).double()
    logits, y = model.node_logits(data)
    x, phrases = model.encoder.states(data)
    expected = torch.cat([x[data.word_y >= 0], phrases[data.phrase_y >= 0]])
    torch.testing.assert_close(logits, model.head(expected), rtol=0, atol=1e-12)
    assert y.tolist() == [v for v in [*data.word_y.tolist(), *data.phrase_y.tolist()] if v >= 0]
    del data.phrase_y
    with pytest.raises(ValueError, match="the data has no 'phrase_y': SST"):
        model.node_logits(data)


# -- trees -----------------------------------------------------------------------------------------------


each_rule = pytest.mark.parametrize("rule", ["left", "head"])


def sentences(seed: int) -> list[Sentence]:
    rng = random.Random(seed)
    return [bracketed_sentence(rng, rng.randint(1, 9)) for _ in range(1 + seed % 3)]


def spans(trees: BinaryTrees) -> list[tuple[int, int]]:
    """First word and the word after the last one of each node."""
    found = [(word, word + 1) for word in range(trees.word.numel())]
    known = dict(enumerate(found))
    pairs = list(zip(trees.left.tolist(), trees.right.tolist()))

    def span(node: int) -> tuple[int, int]:
        if node not in known:
            left, right = map(span, pairs[node - len(found)])
            assert left[1] == right[0], "children are not side by side"
            known[node] = left[0], right[1]
        return known[node]

    return [span(node) for node in range(len(found) + len(pairs))]


def pairs(node: Pair | int) -> list[tuple[list[int], str]]:
    """The words and the label of each pair, the topmost last."""
    if isinstance(node, int):
        return []
    below = [*pairs(node.left), *pairs(node.right)]
    return [*below, (words_in(node), node.label)]


def words_in(node: Pair | int) -> list[int]:
    return [node] if isinstance(node, int) else [*words_in(node.left), *words_in(node.right)]


@each_rule
def test_trees_are_those_of_a_recursion(rule: str) -> None:
    for seed in range(12):
        check_trees(rule, seed)


def check_trees(rule: str, seed: int) -> None:
    labels, parsed = PhraseVocab(), sentences(seed)
    examples = [to_data([one], vocab=VOCAB, phrases="spans") for one in parsed]
    for data in (Batch.from_data_list(examples), to_data(parsed, vocab=VOCAB, phrases="spans")):
        trees = binary_trees(data, rule)
        found = spans(trees)
        starts = [sum(map(len, parsed[:number])) for number in range(len(parsed))]
        expected = [
            (start + words[0], start + words[-1] + 1, labels[label])
            for start, sentence in zip(starts, parsed)
            for words, label in pairs(nested(sentence, rule))
        ]
        inner = zip(found[trees.word.numel() :], trees.label.tolist())
        assert sorted((*span, label) for span, label in inner) == sorted(expected)
        whole = [(start, start + len(sentence)) for start, sentence in zip(starts, parsed)]
        assert [found[node] for node in trees.top.tolist()] == whole
        rank = {node: number for number, node in enumerate(trees.word.tolist())}
        constituents = [(rank[a], rank[b] + 1) for a, b in data.phrase_index.t().tolist()]
        assert [found[node] for node in trees.phrase.tolist()] == constituents


def test_no_words_and_no_constituents() -> None:
    whole = Sentence(["a", "b"], [2, 0], ["dep", "root"], constituents=[])
    trees = binary_trees(to_data([whole], vocab=VOCAB, phrases="spans"))
    assert PhraseVocab().label(int(trees.label)) == "ROOT"
    data = to_data([Sentence(["a"], [0], ["root"], constituents=[])], vocab=VOCAB, phrases="spans")
    for key in ("node_type", "word", "depth", "utterance"):
        data[key] = data[key][:1]
    trees = binary_trees(data)
    assert [part.numel() for part in trees] == [0] * 7


def test_errors_of_trees() -> None:
    with pytest.raises(ValueError, match="the data has no 'phrase_index': make it with phrases='spans'"):
        binary_trees(to_data([Sentence.chain(["a"])], vocab=VOCAB))


# -- lstm ------------------------------------------------------------------------------------------------


each_leaf = pytest.mark.parametrize("leaf", ["paper", "code"])


def make_lstm(seed: int = 0, **options) -> BinaryTreeLSTM:
    torch.manual_seed(seed)
    model = BinaryTreeLSTM(len(VOCAB), **({"hidden_channels": 4} | options)).double()
    if model.bias_f is not None:
        torch.nn.init.normal_(model.bias_f)
    return model


def literal(model: BinaryTreeLSTM, sentence: Sentence) -> list[Tensor]:
    """Eq. 9-14 by recursion, gate by gate: the state of the whole, and those of the words."""
    size = model.hidden_channels
    ids = to_data([sentence], vocab=VOCAB).input_ids[1:]
    x = model.embedding.word.weight[ids]
    zero = x.new_zeros(size)
    w, b = model.lin_x.weight, model.lin_x.bias
    u = model.lin_h.weight.view(5, size, 2, size)
    words: list[Tensor] = [zero] * len(sentence)

    def gate(number: int, left: Tensor, right: Tensor) -> Tensor:
        bias = model.lin_h.bias.view(5, size)[number] if model.bias_f is None else zero
        return u[number, :, 0] @ left + u[number, :, 1] @ right + bias

    def own(number: int) -> Tensor:
        return torch.cat([b, model.bias_f, model.bias_f]).view(5, size)[number]

    def word(number: int) -> tuple[Tensor, Tensor]:
        rows = w.view(-1, size, w.size(1)) @ x[number] + b.view(-1, size)
        if model.leaf == "code":
            o, c = rows
        else:
            i, o, candidate = rows
            c = i.sigmoid() * candidate.tanh()
        words[number] = o.sigmoid() * c.tanh()
        return words[number], c

    def state(node: Pair | int) -> tuple[Tensor, Tensor]:
        if isinstance(node, int):
            return word(node)
        (lh, lc), (rh, rc) = state(node.left), state(node.right)
        i, o, candidate, lf, rf = (
            gate(n, lh, rh) + (own(n) if model.leaf == "paper" else 0) for n in range(5)
        )
        c = i.sigmoid() * candidate.tanh() + lf.sigmoid() * lc + rf.sigmoid() * rc
        return o.sigmoid() * c.tanh(), c

    return [state(nested(sentence, model.binarized))[0], *words]


@each_leaf
@pytest.mark.parametrize("binarized", ["left", "head"])
def test_equals_the_equations(leaf: str, binarized: str) -> None:
    assert_formulas(make_lstm(leaf=leaf, binarized=binarized), VOCAB, literal)


def test_sizes_of_the_paper() -> None:
    """150 channels over vectors of 300, which are not projected before."""
    model = BinaryTreeLSTM(20, hidden_channels=150, vectors=torch.randn(20, 300))
    shapes = {name: [*parameter.shape] for name, parameter in model.named_parameters()}
    assert shapes == {
        "bias_f": [150],
        "embedding.word.weight": [20, 300],
        "lin_x.weight": [450, 300],
        "lin_x.bias": [450],
        "lin_h.weight": [750, 300],
    }
    code = BinaryTreeLSTM(20, hidden_channels=150, vectors=torch.randn(20, 300), leaf="code")
    # Gates of the composer, the word's memory and its gate; the paper's code has the composer's biases twice.
    composer, words = 5 * (2 * 150 * 150 + 150), 2 * (300 * 150 + 150)
    found = sum(p.numel() for n, p in code.named_parameters() if "embedding" not in n)
    assert found == composer + words
    assert found + 5 * 150 == 316_800


# -- bitree ----------------------------------------------------------------------------------------------


def make_bitree(seed: int = 0, **options) -> BiTreeLSTM:
    torch.manual_seed(seed)
    return BiTreeLSTM(len(VOCAB), **({"hidden_channels": 4} | options)).double()


def literal_bitree(model: BiTreeLSTM, sentence: Sentence) -> list[Tensor]:
    """The formulas by recursion: the state of the whole, then those of the words."""
    size, up, down = model.hidden_channels, model.up, model.down
    words = model.embedding.word.weight[to_data([sentence], vocab=VOCAB).input_ids[1:]]
    below: dict[int, Tensor] = {}
    found: dict[int, Tensor] = {}

    def head(node: Pair | int) -> Tensor:
        if isinstance(node, int):
            return words[node]
        left, right = head(node.left), head(node.right)
        z = torch.sigmoid(model.lin_head(torch.cat([left, right])))
        return z * left + (1 - z) * right

    def upward(node: Pair | int) -> tuple[Tensor, Tensor]:
        xi, xf, xg, xo = (up.lin_x.weight @ head(node)).split(size)
        bi, bl, br, bg, bo = up.lin_h.bias.split(size)
        if isinstance(node, int):
            c = torch.sigmoid(xi + bi) * torch.tanh(xg + bg)
            return torch.sigmoid(xo + bo) * torch.tanh(c), c
        (lh, lc), (rh, rc) = upward(node.left), upward(node.right)
        hi, hl, hr, hg, ho = (up.lin_h.weight @ torch.cat([lh, rh])).split(size)
        ci, cl, cr = (up.lin_c.weight @ torch.cat([lc, rc])).split(size)
        i = torch.sigmoid(xi + hi + ci + bi)
        left_f, right_f = torch.sigmoid(xf + hl + cl + bl), torch.sigmoid(xf + hr + cr + br)
        c = i * torch.tanh(xg + hg + bg) + left_f * lc + right_f * rc
        return torch.sigmoid(xo + ho + up.lin_o.weight @ c + bo) * torch.tanh(c), c

    def downward(node: Pair | int, above: tuple[Tensor, Tensor] | None, side: int) -> Tensor:
        i, f, g, o = F.linear(head(node), down.lin_x.weight, down.lin_x.bias).split(size)
        if above is None:
            c = torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        else:
            part = slice(side * size, (side + 1) * size)
            hi, hf, hg, ho = (down.lin_h.weight[:, part] @ above[0]).split(size)
            ci, cf = (down.lin_c.weight[:, part] @ above[1]).split(size)
            c = torch.sigmoid(i + hi + ci) * torch.tanh(g + hg) + torch.sigmoid(f + hf + cf) * above[1]
            h = torch.sigmoid(o + ho + down.lin_o.weight @ c) * torch.tanh(c)
        if isinstance(node, int):
            below[node] = h
        else:
            downward(node.left, (h, c), 0)
            downward(node.right, (h, c), 1)
        return h

    tree = nested(sentence, model.binarized)
    top = downward(tree, None, 0)
    mean = torch.stack([*below.values()]).mean(dim=0)
    found = {word: torch.cat([upward(word)[0], below[word], below[word]]) for word in below}
    rows = [torch.cat([upward(tree)[0], mean, top]), *(found[word] for word in sorted(found))]
    return [torch.relu(model.lin_state(row)) for row in rows]


@pytest.mark.parametrize("binarized", ["left", "head"])
def test_equals_the_formulas(binarized: str) -> None:
    assert_formulas(make_bitree(binarized=binarized), VOCAB, literal_bitree)


def test_number_of_parameters() -> None:
    """As many as the code's list of them has, of vectors of 300 and states of 150, all of one size."""
    model = BiTreeLSTM(20, vectors=torch.randn(20, 300))
    d, h = 300, 150
    heads = 2 * d * d + d
    up = 4 * d * h + (5 * 2 + 3 * 2 + 1) * h * h + 5 * h
    down = 4 * d * h + (4 * 2 + 2 * 2 + 1) * h * h + 4 * h
    state = 3 * h * h + h
    own = sum(p.numel() for n, p in model.named_parameters() if "embedding" not in n)
    assert own == heads + up + down + state


# -- rntn ------------------------------------------------------------------------------------------------


def make_rntn(seed: int = 0, **options) -> RNTN:
    torch.manual_seed(seed)
    model = RNTN(len(VOCAB), **({"hidden_channels": 4} | options)).double()
    torch.nn.init.normal_(model.lin.bias)
    return model


def literal_rntn(model: RNTN, sentence: Sentence) -> Tensor:
    """The formula by recursion, number by number."""
    d = model.hidden_channels
    x = model.embedding.word.weight[to_data([sentence], vocab=VOCAB).input_ids[1:]]
    # One matrix a slice; both sides of the tensor take the pair.
    slices = model.tensor.view(2 * d, 2 * d, d).permute(2, 0, 1)

    def state(node: Pair | int) -> Tensor:
        if isinstance(node, int):
            return x[node] if model.leaf == "paper" else torch.tanh(x[node])
        pair = torch.cat([state(node.left), state(node.right)])
        products = torch.stack([pair @ matrix @ pair for matrix in slices])
        return torch.tanh(products + model.lin.weight @ pair + model.lin.bias)

    return state(nested(sentence, model.binarized))


@pytest.mark.parametrize("leaf", ["paper", "code"])
@pytest.mark.parametrize("binarized", ["left", "head"])
def test_equals_the_formula(leaf: str, binarized: str) -> None:
    model, rng = make_rntn(leaf=leaf, binarized=binarized), random.Random(1)
    for words in (1, 2, 5, 9, 12):
        sentence = bracketed_sentence(rng, words)
        out = model(to_data([sentence], vocab=VOCAB, phrases="spans"))[0]
        expected = literal_rntn(model, sentence)
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        assert_same_gradients(out, expected, model)


def test_sizes_and_start() -> None:
    model = RNTN(20)
    shapes = {name: [*parameter.shape] for name, parameter in model.named_parameters()}
    assert shapes == {
        "tensor": [60, 60 * 30],
        "embedding.word.weight": [20, 30],
        "lin.weight": [30, 60],
        "lin.bias": [30],
    }
    assert model.tensor.abs().max() <= 1 / 120
    near = model.lin.weight - torch.eye(30).repeat(1, 2)
    assert near.abs().max() <= 0.5 * 30**-0.5
    assert not model.lin.bias.any()


# -- meta ------------------------------------------------------------------------------------------------


TAGS = 1 + len(UPOS) + len(PhraseVocab())
KINDS = [DCTreeLSTM, TagHyperTreeLSTM]
each_kind = pytest.mark.parametrize("kind", KINDS)
each_cell = pytest.mark.parametrize("cell", ["lstm", "rnn"])


def make_meta(kind: type, **options):
    torch.manual_seed(0)
    model = kind(len(VOCAB), **({"hidden_channels": 4, "meta_channels": 3} | options)).double()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter)
    return model


def literal_meta(model, sentence: Sentence) -> list[Tensor]:
    """The formulas by recursion: the whole, then the words."""
    size, small, lstm = model.hidden_channels, model.meta_channels, model.cell == "lstm"
    vectors = model.embedding.word.weight[to_data([sentence], vocab=VOCAB).input_ids[1:]]
    labels = PhraseVocab()
    zero, none, no_word = vectors.new_zeros(size), vectors.new_zeros(small), vectors.new_zeros(size)

    def cell(gates: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        if not lstm:
            return gates.tanh(), torch.zeros_like(left)
        i, o, u, lf, rf = gates.split(len(left))
        c = i.sigmoid() * u.tanh() + lf.sigmoid() * left + rf.sigmoid() * right
        return o.sigmoid() * c.tanh(), c

    def gates_of(x: Tensor, z: Tensor) -> Tensor:
        if isinstance(model, DCTreeLSTM):
            weight = model.lin_p.weight @ torch.diag(z) @ model.lin_q.weight
            return weight @ x + model.lin_b.weight @ z
        scale = model.lin_scale.weight @ z + model.lin_scale.bias
        bias = model.lin_bias.weight @ z + model.lin_bias.bias
        return torch.diag(scale) @ model.lin.weight @ x + bias

    def state(node: Pair | int) -> tuple[Tensor, ...]:
        if isinstance(node, int):
            left = right = (zero, zero, none, none)
            word, tag = vectors[node], tag_id(sentence.upos[node])
        else:
            left, right = state(node.left), state(node.right)
            word, tag = no_word, 1 + len(UPOS) + labels[node.label]
        x = torch.cat([word, left[0], right[0]])
        read = x if isinstance(model, DCTreeLSTM) else model.tag.weight[tag]
        m, memory = cell(model.lin_meta(torch.cat([read, left[2], right[2]])), left[3], right[3])
        h, c = cell(gates_of(x, model.lin_z(m)), left[1], right[1])
        return h, c, m, memory

    return [state(nested(sentence, model.binarized))[0], *(state(w)[0] for w in range(len(sentence)))]


@each_kind
@each_cell
@pytest.mark.parametrize("binarized", ["left", "head"])
def test_equals_the_formulas_of_meta(kind: type, cell: str, binarized: str) -> None:
    assert_formulas(make_meta(kind, cell=cell, binarized=binarized), VOCAB, literal_meta, phrases="tagged")


def test_tags_make_the_composition() -> None:
    """The same words and constituents, other tags."""
    model, rest = make_meta(TagHyperTreeLSTM), {"constituents": [("NP", 0, 2)]}
    tree = list("ab"), [2, 0], ["dep", "root"]
    outs = []
    for tags, label in ((["NOUN", "NOUN"], "NP"), (["VERB", "NOUN"], "NP"), (["NOUN", "NOUN"], "VP")):
        sentence = Sentence(*tree, upos=tags, constituents=[(label, 0, 2)])
        outs.append(model(to_data([sentence], vocab=VOCAB, phrases="tagged"))[0])
    for number, one in enumerate(outs):
        assert not any(torch.allclose(one, other) for other in outs[number + 1 :])
    unknown = [Sentence(*tree, upos=tags, **rest) for tags in (None, ["X", "X"], ["?", "X"])]
    a, b, c = (model(to_data([one], vocab=VOCAB, phrases="tagged")) for one in unknown)
    torch.testing.assert_close(a, b)
    torch.testing.assert_close(a, c)


def test_sizes() -> None:
    """Of vectors of 300, 300 channels and 50 of the other network."""
    x, gates = 300 + 600, 5 * 300
    for kind, own in (
        (DCTreeLSTM, 50 * x + 2 * 50 * gates + 5 * 50 * (x + 100)),
        (
            TagHyperTreeLSTM,
            gates * x + 2 * 51 * gates + 5 * 50 * 150 + 50 * TAGS,
        ),
    ):
        model = kind(20, vectors=torch.randn(20, 300))
        found = sum(p.numel() for n, p in model.named_parameters() if "embedding" not in n)
        assert found == own + 5 * 50 + 50 * 50 + 50


@each_kind
def test_composition_begins_nearly_the_same_everywhere(kind: type) -> None:
    model = kind(5)
    start = model.lin_z.bias if kind is DCTreeLSTM else model.lin_scale.bias
    assert start.unique().tolist() == [1]
    torch.nn.init.zeros_(start)
    model.reset_parameters()
    assert start.unique().tolist() == [1]


def test_without_tags() -> None:
    data = to_data([bracketed_sentence(random.Random(0), 3)], vocab=VOCAB, phrases="spans")
    with pytest.raises(ValueError, match="the data has no 'tag': make it with phrases='tagged'"):
        make_meta(TagHyperTreeLSTM)(data)


def test_ids_of_tags() -> None:
    assert [tag_id(tag) for tag in ("ADJ", "X", "strange")] == [1, 17, 17]
    data = to_data([Sentence(["a"], [0], ["root"], upos=["ADV"], constituents=[])] * 2, phrases="tagged")
    assert data.tag.tolist() == [0, 3, 0, 3]
    with pytest.raises(ValueError, match="'phrases' must be one of False, True, spans, tagged"):
        to_data([Sentence.chain(["a"])], phrases="tags")
