from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.data.encoded import deletion_data, insertion_data, search_data
from graphdep.datasets import Masking, PostTrainingDataset
from graphdep.datasets.selection.objectives import as_kind
from graphdep.nn.conv import AttentionConv, DRAConv
from graphdep.nn.models import (
    SIA,
    GraphTransformer,
    PostTrainingModel,
    SelectionModel,
    SpeakerSelectionModel,
    StructuralDialogueModel,
    UtteranceManipulationModel,
)
from graphdep.nn.models.selection import triples
from graphdep.transforms import ChainTree, resolve
from graphdep.vocab import VocabTokens

CLS = NodeType.CLS
WORD = NodeType.WORD
SEP = NodeType.SEP


class Lookup(nn.Module):
    """States of nodes by their ids."""

    hidden_channels = 6

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 6)

    def forward(self, data: Data) -> Tensor:
        return self.table(data.input_ids)


def example(kinds: list[NodeType], first: int = 0) -> Data:
    ids = torch.arange(first, first + len(kinds))
    return Data(node_type=torch.tensor(kinds), input_ids=ids, num_nodes=len(kinds))


def make(**options) -> SelectionModel:
    torch.manual_seed(0)
    model = SelectionModel(Lookup(), **options).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model.eval()


def test_equation_2() -> None:
    model = make()
    first, second = example([CLS, WORD, SEP]), example([WORD, CLS], 4)
    lin = model.mlp[-1]
    expected = torch.stack([lin.weight[0] @ model.encoder.table.weight[i] + lin.bias[0] for i in (0, 5)])
    torch.testing.assert_close(model(Batch.from_data_list([first, second])), expected)
    torch.testing.assert_close(torch.cat([model(first), model(second)]), expected)
    assert sum(parameter.numel() for parameter in model.mlp.parameters()) == 7


def test_means_of_words() -> None:
    model = make(readout="mean")
    kinds = [[CLS, WORD, NodeType.EOU, WORD, SEP, WORD, SEP], [CLS, SEP], [WORD, WORD]]
    examples = [example(k, first) for k, first in zip(kinds, (0, 0, 4))]
    table, lin = model.encoder.table.weight, model.mlp[-1]
    means = torch.stack([table[[1, 3, 5]].mean(dim=0), torch.zeros(6).double(), table[[4, 5]].mean(dim=0)])
    expected = means @ lin.weight[0] + lin.bias[0]
    torch.testing.assert_close(model(Batch.from_data_list(examples)), expected)
    torch.testing.assert_close(torch.cat([model(one) for one in examples]), expected)
    assert "readout='mean'" in str(model)


def utterances(kinds: list[NodeType], utterance: list[int], first: int) -> Data:
    data = example(kinds, first)
    data.utterance = torch.tensor(utterance)
    return data


def test_pairs_of_means() -> None:
    model = make(readout="pair")
    eou = NodeType.EOU
    examples = [
        utterances([CLS, WORD, eou, WORD, SEP, WORD, WORD, SEP], [0, 0, 0, 1, 1, 2, 2, 2], 0),
        utterances([CLS, SEP, WORD, SEP], [0, 0, 1, 1], 4),  # a context without words
        utterances([CLS, WORD, SEP, SEP], [0, 0, 0, 1], 1),  # a response without words
    ]
    table, lin, none = model.encoder.table.weight, model.mlp[-1], torch.zeros(6).double()
    sides = [(table[[1, 3]].mean(dim=0), table[[5, 6]].mean(dim=0)), (none, table[6]), (table[2], none)]
    features = torch.stack([torch.cat([u, v, (u - v).abs(), u * v]) for u, v in sides])
    expected = features @ lin.weight[0] + lin.bias[0]
    torch.testing.assert_close(model(Batch.from_data_list(examples)), expected)
    torch.testing.assert_close(torch.cat([model(one) for one in examples]), expected)
    segments = [one.clone() for one in examples]
    for one in segments:  # of speakers, who take turns
        one.segment = one.utterance % 2
    torch.testing.assert_close(model(Batch.from_data_list(segments)), expected)
    deep = make(readout="pair", mlp_layers=2)
    first, last = (module for module in deep.mlp if isinstance(module, nn.Linear))
    assert (first.in_features, first.out_features, last.in_features) == (24, 6, 6)


def test_more_layers() -> None:
    model = make(mlp_layers=3)
    lins = [module for module in model.mlp if isinstance(module, nn.Linear)]
    x = model.encoder.table.weight[2]
    x = torch.tanh(lins[1](torch.tanh(lins[0](x))))
    torch.testing.assert_close(model(example([CLS, SEP], 2)), lins[2](x))
    assert len(lins) == 3


def test_dropout_and_reset() -> None:
    model, data = make(mlp_layers=2, dropout=0.5).train(), example([CLS, SEP])
    assert not torch.equal(model(data), model(data))
    encoder = Lookup()
    kept = encoder.table.weight.clone()
    SelectionModel(encoder)
    assert torch.equal(encoder.table.weight, kept)


def test_errors() -> None:
    good = example([CLS, SEP])
    for kinds, count in (([WORD, SEP], 0), ([CLS, WORD, CLS], 2)):
        with pytest.raises(ValueError, match=rf"an example has one CLS node \(got {count} in example 1\)"):
            make()(Batch.from_data_list([good, example(kinds), good]))
    missing_and_double = [example([WORD]), example([CLS, CLS])]  # as many as there are examples
    with pytest.raises(ValueError, match=r"\(got 0 in example 0\)"):
        make()(Batch.from_data_list(missing_and_double))


# -- speaker ---------------------------------------------------------------------------------------------


WORDS = [f"w{number}" for number in range(6)]
TOKENS = VocabTokens(Vocab(WORDS))
TURNS = [EncodedUtterance.of(Sentence.chain([word]), TOKENS, RelationVocab()) for word in WORDS]


def encoder(words=6, segments=2):
    return GraphTransformer(
        words + 10,
        lambda number: AttentionConv(8, 4, heads=2),
        hidden_channels=8,
        num_layers=2,
        ff_channels=8,
        dropout=0.0,
        segments=segments,
    )


def joined(some):
    return resolve("transformer")(Batch.from_data_list(some))


def batch():
    return joined([selection_data(TURNS[:n], TURNS[5], TOKENS, y=1.0) for n in (1, 3)])


@pytest.mark.parametrize("sia", [False, True])
def test_a_speaker_has_a_vector_of_its_own(sia):
    torch.manual_seed(0)
    plain = encoder()
    made = SpeakerSelectionModel(SIA(plain, dropout=0.0) if sia else plain, dropout=0.0).eval()
    one = batch()
    one.mark = torch.ones_like(one.input_ids)
    first = made(one)
    one.mark = torch.full_like(one.input_ids, 2)
    assert not torch.allclose(made(one), first)
    with torch.no_grad():
        plain.embedding.mark.weight.zero_()
    scored = SelectionModel(made.encoder, dropout=0.0).eval()
    scored.mlp.load_state_dict(made.mlp.state_dict())
    assert torch.equal(made(one), scored(one))  # nothing else is added


def test_segments_may_be_the_speakers():
    plain = encoder()
    made = SpeakerSelectionModel(plain, speakers="segments", dropout=0.0).eval()
    assert plain.embedding.mark is None
    assert made(batch()).shape == (2,)
    with pytest.raises(ValueError, match="speakers='segments' needs two segments: the encoder has 0"):
        SpeakerSelectionModel(encoder(segments=0), speakers="segments")
    refusing = encoder()
    with pytest.raises(ValueError, match="'readout' must be one of"):
        SpeakerSelectionModel(refusing, readout="last")
    assert refusing.embedding.mark is None
    with pytest.raises(ValueError, match="'speakers' must be one of added, segments"):
        SpeakerSelectionModel(encoder(), speakers="both")


# -- structure -------------------------------------------------------------------------------------------


NINE_WORDS = [f"w{number}" for number in range(9)]


class Pieces(VocabTokens):
    """Two pieces a word, so that the first one counts."""

    def encode(self, words):
        return [[*ids, *ids] for ids in super().encode(words)]


STRUCTURE_TOKENS = Pieces(Vocab(NINE_WORDS))
TREES = [
    Sentence(["w0", "w1", "w2"], [2, 0, 2], ["nsubj", "root", "obj"]),
    Sentence(["w3", "w4"], [2, 0], ["nsubj:pass", "root"]),  # no object
    # two subjects (a word and a clause), two objects, and a verb below the verb
    Sentence(
        ["w5", "w1", "w6", "w7", "w8", "w2"],
        [2, 0, 2, 2, 2, 5],
        ["csubj", "root", "iobj", "obj", "xcomp", "obj"],
    ),
    Sentence(["w1", "w2"], [0, 1], ["root", "obj"]),  # no subject
    # an expletive, a subject and an object with subtypes
    Sentence(["w0", "w1", "w2", "w3"], [2, 0, 2, 2], ["expl", "root", "nsubj:pass", "obj:agent"]),
]
STRUCTURE_TURNS = [EncodedUtterance.of(tree, STRUCTURE_TOKENS, RelationVocab()) for tree in TREES]


def model(sia=False, **options):
    torch.manual_seed(0)
    made = encoder(9)
    return StructuralDialogueModel(SIA(made, dropout=0.0) if sia else made, dropout=0.0, **options).eval()


def example_structure(turns, kind, asked=None):
    *context, response = turns
    data = selection_data(
        [STRUCTURE_TURNS[n] for n in context], STRUCTURE_TURNS[response], STRUCTURE_TOKENS, y=1.0
    )
    data.group = torch.tensor([0])
    data.order_target = torch.full_like(data.input_ids, -100)
    if asked is not None:
        data.order_target[data.node_type == NodeType.EOU] = torch.tensor(asked)
    return as_kind(data, kind)


def examples():
    return [
        example_structure([0, 1, 2], 0),
        example_structure([2, 0, 1, 3], 1, asked=[1, 2, 0]),
        example_structure([1, 3], 0),
        example_structure([0, 3, 1], 1, asked=[-100, 0]),
    ]


def slow(made):
    """Example by example, utterance by utterance and word by word."""
    order, backbone = [], []
    for data in examples():
        x = made.encoder(joined([data]))
        for node, target in enumerate(data.order_target.tolist()):
            if target >= 0:
                order.append(-float(made.order(x[node]).log_softmax(-1)[target]))
        if int(data.kind):
            continue
        for subject, verb, other in slow_triples(data):
            left, right = (x[subject] + x[verb]).tolist(), x[other].tolist()
            dot = sum(a * b for a, b in zip(left, right))
            length = math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))
            backbone.append(1 - dot / length)
    return sum(order) / len(order), sum(backbone) / len(backbone)


def slow_triples(data):
    labels = RelationVocab()
    arcs = [
        (*arc, labels.label(kind)) for *arc, kind in zip(*data.arc_index.tolist(), data.arc_type.tolist())
    ]
    return {
        (subject, verb, other)
        for verb, subject, first in arcs
        for other_verb, other, second in arcs
        if verb == other_verb
        and first.split(":")[0] in ("nsubj", "csubj", "expl")
        and second.split(":")[0] in ("obj", "iobj")
    }


@pytest.mark.parametrize("sia", [False, True])
@torch.no_grad()
def test_losses_equal_a_slow_reference(sia):
    made = model(sia)
    logits, losses = made.training_losses(joined(examples()))
    order, backbone = slow(made)
    assert float(losses["order"][0]) == pytest.approx(order, rel=1e-4)
    assert float(losses["backbone"][0]) == pytest.approx(backbone, rel=1e-4)
    whole = joined(examples())
    assert losses["order"][1] == int((whole.order_target >= 0).sum())
    assert losses["backbone"][1] == triples(whole).size(1)
    pairs = [data for data in examples() if not int(data.kind)]
    assert torch.allclose(logits, torch.cat([made(joined([data])) for data in pairs]), atol=1e-5)


TOKENS_OF = {STRUCTURE_TOKENS.encode([word])[0][0]: word for word in NINE_WORDS}


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        # of the first utterance; of the third with each of its objects
        ([0, 1, 2], {("w0", "w1", "w2"), ("w5", "w1", "w6"), ("w5", "w1", "w7")}),
        # subtypes and an expletive
        ([0, 4], {("w0", "w1", "w2"), ("w0", "w1", "w3"), ("w2", "w1", "w3")}),
    ],
)
def test_triples_are_those_of_the_tree(turns, words):
    data = example_structure(turns, 0)
    found = triples(joined([data])).T.tolist()
    assert sorted(map(tuple, found)) == sorted(slow_triples(data))
    assert len(found) == len(words)
    assert {tuple(TOKENS_OF[int(data.input_ids[node])] for node in triple) for triple in found} == words


def test_a_control_has_its_own_triples():
    one = Batch.from_data_list([example_structure([0, 1, 2], 0)])
    assert triples(ChainTree()(one)).shape == (3, 0)


def test_a_batch_without_either_trains_all_the_same():
    made = model()
    logits, losses = made.training_losses(joined([example_structure([1, 3], 0)]))
    assert [(loss.item(), count) for loss, count in losses.values()] == [(0.0, 0), (0.0, 0)]
    (logits.sum() + sum(loss for loss, _ in losses.values())).backward()
    assert not [name for name, parameter in made.named_parameters() if parameter.grad is None]


def test_both_are_learnt():
    made, one = model(), joined(examples())
    optimizer = torch.optim.Adam(made.parameters(), lr=0.03)
    for _ in range(40):
        optimizer.zero_grad()
        losses = made.training_losses(one)[1]
        sum(loss for loss, _ in losses.values()).backward()
        optimizer.step()
    assert losses["order"][0].item() < 0.1
    assert losses["backbone"][0].item() < 0.1


def test_places():
    assert model(places=5).order.out_features == 5


# -- manipulation ----------------------------------------------------------------------------------------


MANIPULATION_TOKENS = VocabTokens(Vocab(NINE_WORDS))
MANIPULATION_TURNS = [
    EncodedUtterance.of(Sentence.chain(NINE_WORDS[n : n + 1 + n % 3]), MANIPULATION_TOKENS, RelationVocab())
    for n in range(6)
]


def model_manipulation(sia=False, **options):
    torch.manual_seed(0)
    made = encoder(9)
    return UtteranceManipulationModel(SIA(made, dropout=0.0) if sia else made, dropout=0.0, **options).eval()


def pair(y):
    data = selection_data(MANIPULATION_TURNS[:2], MANIPULATION_TURNS[2], MANIPULATION_TOKENS, y=y)
    data.group = torch.tensor([0])
    data.mark, data.mark_target = torch.zeros_like(data.input_ids), torch.zeros(data.num_nodes)
    return as_kind(data, 0)


def examples_manipulation():
    return [
        pair(1.0),
        as_kind(insertion_data(MANIPULATION_TURNS[:4], 1, MANIPULATION_TOKENS), 1),
        as_kind(deletion_data(MANIPULATION_TURNS[:3], MANIPULATION_TURNS[4], 0, MANIPULATION_TOKENS), 2),
        as_kind(search_data(MANIPULATION_TURNS[:5], [2, 3, 0, 1], MANIPULATION_TOKENS), 3),
        pair(0.0),
        pair(1.0),
        as_kind(insertion_data(MANIPULATION_TURNS[:2], 0, MANIPULATION_TOKENS), 1),
        as_kind(search_data(MANIPULATION_TURNS[1:3], [0], MANIPULATION_TOKENS), 3),
    ]


def slow_manipulation(made, kind, loss):
    """Example by example and symbol by symbol."""
    name = ("insertion", "deletion", "search")[kind - 1]
    losses = []
    for data in (data for data in examples_manipulation() if int(data.kind) == kind):
        alone = joined([data])
        x = made.encoder(alone)
        places = [node for node, mark in enumerate(data.mark.tolist()) if mark == kind]
        logits = [float(made.manipulations[name](x[node])) for node in places]
        answers = [float(data.mark_target[node]) for node in places]
        if loss == "softmax":
            right = logits[answers.index(1.0)]
            losses.append(math.log(sum(math.exp(z) for z in logits)) - right)
        else:
            each = [math.log1p(math.exp(-z if y else z)) for z, y in zip(logits, answers)]
            losses.append(sum(each) / len(each))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("loss", ["sigmoid", "softmax"])
@pytest.mark.parametrize("sia", [False, True])
@torch.no_grad()
def test_losses_equal_a_slow_reference_of_manipulation(loss, sia):
    made = model_manipulation(sia, loss=loss)
    logits, losses = made.training_losses(joined(examples_manipulation()))
    for kind, name in enumerate(("insertion", "deletion", "search"), start=1):
        assert float(losses[name][0]) == pytest.approx(slow_manipulation(made, kind, loss), rel=1e-4)
        assert losses[name][1] == sum(int(data.kind) == kind for data in examples_manipulation())
    pairs = [data for data in examples_manipulation() if int(data.kind) == 0]
    assert torch.allclose(logits, torch.cat([made(joined([data])) for data in pairs]), atol=1e-5)


def test_a_batch_without_examples_trains_all_the_same():
    made = model_manipulation()
    logits, losses = made.training_losses(joined([pair(1.0), pair(0.0)]))
    assert [(loss.item(), count) for loss, count in losses.values()] == [(0.0, 0)] * 3
    (logits.sum() + sum(loss for loss, _ in losses.values())).backward()
    # DDP needs a gradient of every parameter.
    assert not [name for name, parameter in made.named_parameters() if parameter.grad is None]


def test_an_answer_is_learnt():
    made = model_manipulation()
    one = joined(examples_manipulation())
    optimizer = torch.optim.Adam(made.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        loss = sum(value for value, _ in made.training_losses(one)[1].values())
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.1


def test_without_marks_it_scores_as_a_selection_model_does():
    made = model_manipulation()
    plain = SelectionModel(made.encoder, dropout=0.0).eval()
    plain.mlp.load_state_dict(made.mlp.state_dict())
    one = joined([pair(1.0), pair(0.0)])
    assert torch.equal(made(one), plain(one))


def test_the_vocabulary_does_not_grow():
    before = encoder(9)
    size = before.embedding.word.weight.shape
    assert UtteranceManipulationModel(before).encoder.embedding.word.weight.shape == size
    assert before.embedding.mark.num_embeddings == 4


def test_an_unknown_loss_is_named():
    with pytest.raises(ValueError, match="'loss' must be one of sigmoid, softmax"):
        model_manipulation(loss="hinge")


@pytest.mark.parametrize("options", [{"readout": "first"}, {"mlp_layers": 0}, {"dropout": 2.0}])
def test_a_wrong_option_leaves_the_encoder_as_it_was(options):
    made = encoder(9)
    with pytest.raises(ValueError, match=next(iter(options))):
        UtteranceManipulationModel(made, **options)
    assert made.embedding.mark is None
    UtteranceManipulationModel(made)  # it was given no marks


# -- post training ---------------------------------------------------------------------------------------


DIALOGUES = [["a b", "c", "d e f", "b"], ["c a", "f f"], ["e", "a d", "b c"]]
VOCAB = Vocab("abcdef")
NUM_WORDS = len(VOCAB) + 1  # [MASK] is the last


def make_encoder(**options):
    return GraphTransformer(
        NUM_WORDS,
        lambda number: DRAConv(8, 4, heads=2),
        **{"hidden_channels": 8, "num_layers": 2, "ff_channels": 16, "dropout": 0.0} | options,
    )


def make_data(share: float = 0.5):
    masking = Masking(NUM_WORDS - 1, range(5, NUM_WORDS - 1), share)
    edges = resolve("transformer")
    return list(PostTrainingDataset(DIALOGUES, VocabTokens(VOCAB), masking, transform=edges))


def test_logits_are_those_of_the_masked_nodes_and_of_cls():
    torch.manual_seed(0)
    model, batch = PostTrainingModel(make_encoder()), Batch.from_data_list(make_data())
    words, relevance = model(batch)
    x = model.encoder(batch)
    nodes = [i for i, target in enumerate(batch.mlm_target.tolist()) if target != -100]
    assert len(nodes) > 5
    expected = model.words(x[nodes], model.encoder.embedding.word.weight)
    assert torch.allclose(words, expected, atol=1e-6)
    cls = [i for i, kind in enumerate(batch.node_type.tolist()) if kind == 3]
    expected = torch.tanh(x[cls] @ model.pool.weight.T + model.pool.bias)
    assert torch.allclose(relevance, model.relevance(expected), atol=1e-6)
    assert relevance.shape == (len(make_data()), 3)


def test_a_batch_is_its_samples_and_a_single_sample_needs_none():
    model, samples = PostTrainingModel(make_encoder()), make_data()
    batched = model(Batch.from_data_list(samples))
    alone = [model(sample) for sample in samples]
    for got, parts in zip(batched, zip(*alone)):
        assert torch.allclose(got, torch.cat(parts), atol=1e-5)


def test_nothing_masked():
    words, relevance = PostTrainingModel(make_encoder())(Batch.from_data_list(make_data(1e-9)))
    assert words.shape == (0, NUM_WORDS)
    assert relevance.isfinite().all()


def test_the_input_vectors_are_shared():
    model, batch = PostTrainingModel(make_encoder()), Batch.from_data_list(make_data())
    table = model.encoder.embedding.word.weight
    model(batch)[0].square().sum().backward()
    unused = sorted({*range(NUM_WORDS)} - {*batch.input_ids.tolist()})
    assert unused
    assert table.grad[unused].abs().min() > 0  # as targets they count, though no node has them
    assert [name for name, p in model.named_parameters() if p.shape == table.shape] == [
        "encoder.embedding.word.weight"
    ]


def test_input_vectors_of_another_size():
    vectors = torch.randn(NUM_WORDS, 5)
    model = PostTrainingModel(make_encoder(vectors=vectors))
    assert model.words.lin.out_features == 5
    assert model(make_data()[0])[0].size(-1) == NUM_WORDS


def test_reset():
    """Everything is drawn anew, but at construction the encoder keeps its weights."""
    encoder = make_encoder()
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    model = PostTrainingModel(encoder)
    assert all(torch.equal(value, before[key]) for key, value in encoder.state_dict().items())
    model.reset_parameters()
    assert not torch.equal(encoder.embedding.word.weight, before["embedding.word.weight"])


def test_reset_leaves_a_pretrained_encoder():
    model = PostTrainingModel(Learnt())
    words = model.words.lin.weight.clone()
    model.reset_parameters()
    assert model.encoder.model.get_input_embeddings().weight.eq(1).all()
    assert not torch.equal(model.words.lin.weight, words)


class Learnt(nn.Module):
    """As a pretrained encoder, with nothing but its table."""

    hidden_channels = 4

    def __init__(self):
        super().__init__()
        self.model = nn.Module()
        self.model.table = nn.Embedding.from_pretrained(torch.ones(9, 4))
        self.model.get_input_embeddings = lambda: self.model.table

    def reset_parameters(self):
        pass


def test_autocast():
    model, batch = PostTrainingModel(make_encoder()), Batch.from_data_list(make_data())
    words, relevance = model(batch)
    with torch.autocast("cpu", torch.bfloat16):
        half_words, half_relevance = model(batch)
    assert half_words.dtype == torch.bfloat16
    assert torch.allclose(half_words.float(), words, atol=0.1)
    assert torch.allclose(half_relevance.float(), relevance, atol=0.05)
