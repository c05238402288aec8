"""Learning roles: marks, chains over words, pretrained encoders and the words that they do not see."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader as PlainLoader
from torch.utils.data import DistributedSampler
from torch_geometric.data import Batch

from graphdep.datasets.labels.words import bio_of, spans_of
from graphdep.tasks.labels.model import LabelTask
from graphdep.tasks.labels.settings import LABEL_MODELS
from graphdep.training import TrainConfig, load_splits
from graphdep.training.build import Parts, load_pretrained
from graphdep.training.family import build_task
from graphdep.training.learning_task import example_numbers, gather_rows, join_outputs

# Those over constituents: tests/tasks/test_constituents.py.
TREES = [name for name in LABEL_MODELS if "constituent" not in name]
SCRATCH = [name for name in TREES if not name.startswith("bert")]
BERT = [name for name in TREES if name.startswith("bert")]
SCORES = ("accuracy", "f1", "macro_f1", "exact")


def make(splits, settings, model: str = "dt", **more: object) -> LabelTask:
    config = TrainConfig.of(model, **{**settings, **more})
    torch.manual_seed(0)
    sizes = len(splits.vocab), len(splits.relations)
    pretrained = load_pretrained(config) if config.pretrained else None
    task = build_task(config, Parts(*sizes, pretrained=pretrained, labels=splits.labels()))
    torch.nn.init.normal_(task.model.head.lin.weight)
    if config.crf:
        torch.nn.init.normal_(task.chain.transition)
    return task.double().eval()


def batch_of(task, dataset, examples) -> Batch:
    return task.edges(Batch.from_data_list(examples, follow_batch=dataset.follow_batch))


@torch.no_grad()
def outputs_of(task, dataset, examples):
    """Those of a split, an example a batch."""
    return join_outputs([task.outputs(batch_of(task, dataset, [data])) for data in examples])


def check_batch(task, dataset, examples) -> None:
    """A batch is labelled as each of its examples alone."""
    batch = batch_of(task, dataset, examples)
    alone = [batch_of(task, dataset, [data]) for data in examples]
    torch.testing.assert_close(task(batch), torch.cat([task(data) for data in alone]))
    with torch.no_grad():
        together = task.outputs(batch)
    for whole, part in zip(together, outputs_of(task, dataset, examples)):
        torch.testing.assert_close(whole, part)
    number = [place for place, data in enumerate(alone) for _ in task.rows(data)]
    assert task.rows(batch).tolist() == number


@pytest.fixture(scope="module")
def heads(of_roles):
    return load_splits(TrainConfig.of(**of_roles))


@pytest.fixture(scope="module")
def spans(of_roles):
    return load_splits(TrainConfig.of(**of_roles, form="spans"))


@pytest.fixture(scope="module")
def pieces(of_roles, on_encoder):
    """As words of a pretrained encoder, the longest sentences of which are cut."""
    config = TrainConfig.of("bert", **of_pieces(of_roles, on_encoder), form="spans")
    return load_splits(config, pretrained=load_pretrained(config))


def of_pieces(of_roles, on_encoder) -> dict[str, object]:
    return {"task": of_roles["task"], "root": of_roles["root"], **on_encoder}


@pytest.mark.parametrize("model", SCRATCH)
def test_a_batch_of_roles_is_labelled_as_each_alone(heads, of_roles, model):
    check_batch(make(heads, of_roles, model), heads["val"], list(heads["val"])[:5])


@pytest.mark.parametrize("options", [{"crf": True}, {"decode": "viterbi"}], ids=str)
def test_so_it_is_with_a_chain(spans, of_roles, options):
    check_batch(make(spans, of_roles, form="spans", **options), spans["val"], list(spans["val"])[:5])


@pytest.mark.parametrize("model", BERT)
@pytest.mark.parametrize("word_state", ["first", "mean"])
def test_and_with_pieces_of_words(pieces, of_roles, on_encoder, model, word_state):
    settings = of_pieces(of_roles, on_encoder)
    task = make(pieces, settings, model, form="spans", word_state=word_state, decode="viterbi")
    check_batch(task, pieces["val"], list(pieces["val"])[:5])


@pytest.mark.parametrize("model", SCRATCH)
def test_every_model_reads_the_mark(heads, of_roles, model):
    """Two predicates of one sentence differ in nothing else."""
    first, second = (data for data in heads["train"][2:4])
    assert first.form_id.equal(second.form_id)
    task = make(heads, of_roles, model)
    one, two = (task(batch_of(task, heads["train"], [data])) for data in (first, second))
    assert bool(((one - two).abs() > 1e-6).any(dim=1).all())  # the marked word's state is part of all
    assert task.model.head.lin.in_features == 2 * task.model.encoder.hidden_channels


def test_the_mark_is_read_by_pretrained_encoders(pieces, of_roles, on_encoder):
    task = make(pieces, of_pieces(of_roles, on_encoder), "bert", form="spans")
    with torch.no_grad():
        task.model.encoder.marks.weight.normal_()
    first, second = (batch_of(task, pieces["train"], [data]) for data in pieces["train"][2:4])
    assert not torch.allclose(task.model.encoder(first), task.model.encoder(second))


def test_loss_of_words_alone(heads, of_roles):
    task = make(heads, of_roles)
    examples = list(heads["train"])[:4]
    batch = batch_of(task, heads["train"], examples)
    logits, losses = task(batch).detach(), []
    for row, label in zip(logits, batch.y.tolist()):
        if label >= 0:
            losses.append(-float(row.log_softmax(-1)[label]))
    assert task.loss(batch).item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def score_of(chain, logits, labels) -> float:
    """Of a whole sequence: logits, and what the chain has learned."""
    found = float(logits[range(len(labels)), labels].sum() + chain.first[labels[0]])
    return found + sum(float(chain.transition[pair]) for pair in itertools.pairwise(labels))


def allowed(names) -> bool:
    return bio_of(spans_of(names), len(names)) == names


@torch.no_grad()
def test_loss_and_best_labels_of_a_chain_over_all_sequences(spans, of_roles):
    """Of an example of six words: every sequence that the rules of spans allow, one by one."""
    task = make(spans, of_roles, form="spans", crf=True)
    data, names = spans["train"][0], task.scoring.labels
    assert (data.y == -100).tolist() == [False, False, False, True, False, False]
    batch = batch_of(task, spans["train"], [data])
    logits = task(batch).detach().float()
    sequences = [
        list(labels)
        for labels in itertools.product(range(len(names)), repeat=6)
        if allowed([names[label] for label in labels])
    ]
    scores = torch.tensor([score_of(task.chain, logits, labels) for labels in sequences])
    asked = [0 if label == -100 else label for label in data.y.tolist()]  # the predicate finds nothing
    loss = scores.logsumexp(0) - scores[sequences.index(asked)]
    assert task.loss(batch).item() == pytest.approx(float(loss) / 5, rel=1e-4)
    assert task.predict(batch, logits).tolist() == sequences[int(scores.argmax())]


@pytest.mark.parametrize("options", [{"crf": True}, {"decode": "viterbi"}], ids=str)
def test_no_label_breaks_the_rules(spans, of_roles, options):
    task = make(spans, of_roles, form="spans", **options)
    plain = make(spans, of_roles, form="spans")
    assert plain.chain is None
    broken = 0
    for data in spans["test"]:
        batch = batch_of(task, spans["test"], [data])
        names = [task.scoring.labels[label] for label in task.predict(batch, task(batch))]
        assert allowed(names)
        broken += not allowed([plain.scoring.labels[label] for label in plain.predict(batch, plain(batch))])
    assert broken  # chance breaks them


def test_what_the_chain_is_told_of_words_without_a_label(spans, of_roles):
    task = make(spans, of_roles, form="spans", crf=True)
    number = {name: place for place, name in enumerate(task.scoring.labels)}
    begin, go_on = number["B-ARG0"], number["I-ARG0"]
    y = torch.tensor([-100, begin, -100, go_on, -1, 0, -100, -100])
    assert task._filled(y).tolist() == [0, begin, go_on, go_on, 0, 0, 0, 0]
    words = make(spans, of_roles, form="heads", crf=True)
    assert words._filled(y).tolist() == [0, begin, 0, go_on, 0, 0, 0, 0]


def test_labels_that_the_rules_forbid_are_not_learned_from(spans, of_roles):
    task = make(spans, of_roles, form="spans", crf=True)
    batch = batch_of(task, spans["train"], [spans["train"][0]])
    batch.y = torch.full_like(batch.y, task.scoring.labels.index("I-ARG0"))
    with pytest.raises(ValueError, match="none that the rules of spans"):
        task.loss(batch)


def test_scores_are_those_of_whole_splits_with_what_was_cut(pieces, spans, of_roles, on_encoder):
    task = make(pieces, of_pieces(of_roles, on_encoder), "bert-dt", form="spans")
    dataset = pieces["test"]
    assert dataset.describe()["cut_words"] > 0
    whole = outputs_of(task, dataset, dataset)
    prediction, losses, target, example, group, place, sentence = (column.tolist() for column in whole)
    # The same words as rows of words, which are not cut.
    scratch = make(spans, of_roles, form="spans")
    other = outputs_of(scratch, spans["test"], spans["test"])
    assert [column.tolist() for column in other[2:]] == [target, example, group, place, sentence]
    assert task.groups(whole).tolist() == sentence
    away = [found == -2 for found in prediction]
    assert 0 < sum(away) == sum(int((data.cut_y != -100).sum()) for data in dataset)
    assert all(loss == 0 for loss, gone in zip(losses, away) if gone)
    scores = task.score(whole, "test")
    right = [found == asked for found, asked in zip(prediction, target)]
    assert scores["test_accuracy"] == pytest.approx(np.mean(right))
    complete = [all(r for r, n in zip(right, example) if n == number) for number in sorted({*example})]
    assert scores["test_exact"] == pytest.approx(np.mean(complete))
    there, found = set(), set()
    for number, data in enumerate(spans["test"]):
        rows = [row for row, n in enumerate(example) if n == number]
        for labels, some in ((target, there), (prediction, found)):
            tags: list[str | None] = [None] * data.y.numel()
            for row in rows:
                tags[place[row]] = None if labels[row] < 0 else task.scoring.labels[labels[row]]
            some |= {(number, *span) for span in spans_of(tags)}
    assert scores["test_f1"] == pytest.approx(2 * len(there & found) / (len(there) + len(found)))
    assert {*scores} == {f"test_{name}" for name in ("loss", *SCORES)}


def test_an_example_of_nothing_but_cut_words_is_wrong(pieces, of_roles, on_encoder):
    task = make(pieces, of_pieces(of_roles, on_encoder), "bert", form="spans")
    data = pieces["test"][1].clone()
    data.y = torch.full_like(data.y, -100)
    assert (data.cut_y != -100).any()
    outputs = outputs_of(task, pieces["test"], [data])
    scores = task.score(outputs, "test")
    assert [scores[f"test_{name}"] for name in SCORES] == [0, 0, 0, 0]
    assert scores["test_loss"] == 0


@pytest.mark.parametrize("processes", [2, 3])
def test_rows_of_several_processes_are_those_of_one(pieces, of_roles, on_encoder, monkeypatch, processes):
    task = make(pieces, of_pieces(of_roles, on_encoder), "bert", form="spans")
    dataset = pieces["test"]
    config = TrainConfig.of("bert", **of_pieces(of_roles, on_encoder), form="spans")
    one = join_outputs([task.outputs(task.edges(batch)) for batch in pieces.loader("test", config)])
    parts = []
    for rank in range(processes):
        sampler = DistributedSampler(range(len(dataset)), processes, rank, shuffle=False)
        loader = PlainLoader(range(len(dataset)), batch_size=4, sampler=sampler)
        seen, rows, outputs = 0, [], []
        for numbers in loader:
            batch = batch_of(task, dataset, [dataset[int(number)] for number in numbers])
            outputs.append(task.outputs(batch))
            rows.append(seen + task.rows(batch))
            seen += len(numbers)
        parts.append((join_outputs(outputs), example_numbers(loader, rows)))

    def all_gather(into, mine):
        into[:] = parts

    fake = SimpleNamespace(get_world_size=lambda: processes, all_gather_object=all_gather)
    monkeypatch.setattr("graphdep.training.learning_task.dist", fake)
    for mine, theirs in zip(gather_rows(*parts[0]), one):
        torch.testing.assert_close(mine, theirs)


def test_what_is_compared_are_words_or_whole_groups(spans, of_roles):
    from dataclasses import replace

    from graphdep.tasks.labels.settings import TASKS

    task = make(spans, of_roles, form="spans")
    outputs = outputs_of(task, spans["test"], spans["test"])
    scores = task.score(outputs, "test")
    target, prediction = task.compared(outputs)
    for metric in task.metrics:
        assert metric(prediction, target) == pytest.approx(scores[f"test_{metric.name}"])
    task.metrics = replace(TASKS["propbank-ewt"], main="exact").metrics
    target, prediction = task.compared(outputs)
    assert target.tolist() == [1] * len(spans["test"])
    assert task.metrics[0](prediction, target) == pytest.approx(scores["test_exact"])


@pytest.mark.parametrize("options", [{}, {"crf": True}], ids=str)
def test_all_that_is_learned_is_in_the_optimizer_once(pieces, of_roles, on_encoder, options):
    task = make(pieces, of_pieces(of_roles, on_encoder), "bert-dt", form="spans", **options)
    groups = task.configure_optimizers().param_groups
    given = [id(parameter) for group in groups for parameter in group["params"]]
    assert sorted(given) == sorted(id(parameter) for parameter in task.parameters())
    rates = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    config = TrainConfig.of("bert-dt", **of_pieces(of_roles, on_encoder))
    new = [*task.model.head.parameters(), *(task.chain.parameters() if options else ())]
    assert {rates[id(parameter)] for parameter in new} == {config.head_lr}


def test_a_chain_needs_labels_that_it_has_rules_for(spans, of_roles):
    config = TrainConfig.of(**of_roles, form="spans", decode="viterbi")
    parts = Parts(len(spans.vocab), len(spans.relations), labels=("O", "B-A", "I-A", "I-B"))
    with pytest.raises(ValueError, match="rules of spans ask for B-B before I-B, and training has none"):
        build_task(config, parts)
    parts = Parts(len(spans.vocab), len(spans.relations), labels=("B-A", "I-A"))
    with pytest.raises(ValueError, match="'crf' needs 'O' among the labels of training"):
        build_task(TrainConfig.of(**of_roles, form="spans", crf=True), parts)
