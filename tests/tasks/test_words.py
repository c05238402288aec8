"""Labels of words and of marked spans: losses and scores by loops, chains, cut words."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from torch.nn import functional as F
from torch.utils.data import DataLoader as PlainLoader
from torch.utils.data import DistributedSampler
from torch_geometric.data import Batch

from graphdep.datasets.labels.bio import bio_of, spans_of
from graphdep.datasets.spans.rows import LABELS
from graphdep.tasks.labels.model import word_losses
from graphdep.tasks.labels.settings import TASKS
from graphdep.training import load_splits
from graphdep.training.build import BuildInputs, load_pretrained
from graphdep.training.family import build_task
from graphdep.training.learning_task import example_numbers, gather_rows, join_outputs
from graphdep.vocab import RelationVocab

SCORES = ("accuracy", "f1", "macro_f1", "exact")


@pytest.fixture(scope="module")
def made(config_of):
    """A task in double precision, with large new weights, and its splits."""
    known = {}

    def made(task, model="dt", **options):
        config = config_of(task, model, dropout=0.0, **options)
        key = str((task, config.pretrained, config.data_settings()))
        splits = known[key] = known.get(key) or load_splits(config)
        torch.manual_seed(0)
        pretrained = load_pretrained(config) if config.pretrained else None
        parts = BuildInputs(
            len(splits.vocab), len(splits.relations), pretrained=pretrained, labels=splits.labels()
        )
        built = build_task(config, parts)
        torch.nn.init.normal_(built.model.head.lin.weight)
        if getattr(config, "crf", False):
            torch.nn.init.normal_(built.chain.transition)
        return built.double().eval(), splits

    return made


def batch_of(task, dataset, examples) -> Batch:
    return task.edges(Batch.from_data_list(list(examples), follow_batch=dataset.follow_batch))


@torch.no_grad()
def outputs_of(task, dataset):
    """The outputs of a split, one example per batch."""
    return join_outputs([task.outputs(batch_of(task, dataset, [data])) for data in dataset])


@pytest.mark.parametrize("task", ["sick-e", "propbank-ewt", "semeval2010"])
@pytest.mark.parametrize("model", ["bert-dt", "bert-g2g", "bert-dam"])
def test_rows_on_a_pretrained_encoder_differ_by_their_syntax_alone(config_of, task, model):
    marks, heads = [], []
    for row in ("bert", model):
        config = config_of(task, row)
        labels = LABELS if task == "semeval2010" else ("O", "A", "B")
        parts = BuildInputs(9, len(RelationVocab()), pretrained=load_pretrained(config), labels=labels)
        torch.manual_seed(0)
        built = build_task(config, parts).model
        marks += [built.encoder.marks.weight] if task != "sick-e" else []
        heads.append(torch.cat([p.flatten() for p in built.head.parameters()]))
    assert torch.equal(*heads)
    assert task == "sick-e" or torch.equal(*marks)


@pytest.mark.parametrize("task", ["ud-tags", "semeval2010"])
def test_labels_are_those_of_the_data(config_of, task):
    with pytest.raises(ValueError, match="'labels' must be given"):
        build_task(config_of(task, "dt"), BuildInputs(9, 9))


# -------------------------------------------------------------------------------------- labels of words


def test_losses_of_words():
    logits, y = torch.randn(4, 3), torch.tensor([2, -1, -100, 0])
    losses = word_losses(logits, y)
    torch.testing.assert_close(losses[[0, 3]], F.cross_entropy(logits[[0, 3]], y[[0, 3]], reduction="none"))
    assert losses[[1, 2]].tolist() == [0, 0]
    assert y.tolist() == [2, -1, -100, 0]


def test_loss_and_scores_word_by_word(made):
    task, splits = made("ud-tags", key="feats:PronType")
    batch = batch_of(task, splits["train"], splits["train"])
    batch.y = batch.y.clone()
    scored = (batch.y >= 0).nonzero().view(-1)
    assert 0 < len(scored) < len(batch.y)
    batch.y[scored[:2]] = -1  # labels that training does not have
    logits, y = task(batch).detach(), batch.y.tolist()
    losses = [-float(row.log_softmax(-1)[label]) for row, label in zip(logits, y) if label >= 0]
    right = [int(row.argmax()) == label for row, label in zip(logits, y) if label != -100]
    assert task.loss(batch).item() == pytest.approx(sum(losses) / len(losses))
    with torch.no_grad():
        outputs = task.outputs(batch)
    assert {len(output) for output in outputs} == {len(right)}
    scores = task.score(outputs, "val")
    assert scores["val_loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert scores["val_accuracy"] == pytest.approx(sum(right) / len(right))
    assert {*scores} == {f"val_{name}" for name in ("loss", *SCORES)}
    target, prediction = task.compared(outputs)
    assert (target == prediction).tolist() == right
    places = [number for number, data in enumerate(splits["train"]) for y in data.y.tolist() if y >= 0]
    assert task.rows(batch).tolist() == places
    batch.y = torch.full_like(batch.y, -100)  # nothing is learned from unscored words
    loss = task.train().loss(batch)
    loss.backward()
    assert loss.item() == 0
    assert not any(bool(p.grad.any()) for p in task.parameters() if p.grad is not None)


def test_the_mark_is_read_by_pretrained_encoders(made):
    task, splits = made("propbank-ewt", "bert", form="spans")
    with torch.no_grad():
        task.model.encoder.marks.weight.normal_()
    first, second = (batch_of(task, splits["train"], [data]) for data in splits["train"][2:4])
    assert not torch.allclose(task.model.encoder(first), task.model.encoder(second))


def allowed(names) -> bool:
    return bio_of(spans_of(names), len(names)) == names


@torch.no_grad()
def test_loss_and_best_labels_of_a_chain_over_all_sequences(made):
    """For an example of six words, over all allowed sequences of labels."""
    task, splits = made("propbank-ewt", form="spans", crf=True)
    data, names, chain = splits["train"][0], task.scoring.labels, task.chain
    assert (data.y == -100).tolist() == [False, False, False, True, False, False]
    batch = batch_of(task, splits["train"], [data])
    logits = task(batch).float()
    # All allowed sequences, by extending allowed prefixes.
    sequences = [[]]
    for _ in range(6):
        longer = [[*labels, label] for labels in sequences for label in range(len(names))]
        sequences = [labels for labels in longer if allowed([names[label] for label in labels])]
    labels = torch.tensor(sequences)
    scores = logits[torch.arange(6), labels].sum(dim=1) + chain.first[labels[:, 0]]
    scores = scores + sum(chain.transition[labels[:, n], labels[:, n + 1]] for n in range(5))
    asked = [0 if label == -100 else label for label in data.y.tolist()]  # the predicate is O
    loss = scores.logsumexp(0) - scores[sequences.index(asked)]
    assert task.loss(batch).item() == pytest.approx(float(loss) / 5, rel=1e-4)
    assert task.predict(batch, logits).tolist() == sequences[int(scores.argmax())]


def test_a_scaffold_adds_its_loss_and_changes_no_output(made):
    plain, splits = made("propbank-ewt", "bilstm")
    task, _ = made("propbank-ewt", "bilstm", scaffold=2.0)
    task.model.load_state_dict(plain.model.state_dict())
    batch = batch_of(task, splits["train"], splits["train"][:3])
    states, nodes = task.model.states(batch)
    added = 2 * task.scaffold(batch, states, nodes)
    torch.testing.assert_close(task.loss(batch), plain.loss(batch) + added)
    assert all(map(torch.equal, task.outputs(batch), plain.outputs(batch)))


@pytest.mark.parametrize("options", [{"crf": True}, {"decode": "viterbi"}], ids=str)
def test_no_label_breaks_the_rules(made, options):
    task, splits = made("propbank-ewt", form="spans", **options)
    plain, _ = made("propbank-ewt", form="spans")
    assert plain.chain is None
    broken = 0
    for data in splits["test"]:
        batch = batch_of(task, splits["test"], [data])
        names = [task.scoring.labels[label] for label in task.predict(batch, task(batch))]
        assert allowed(names)
        broken += not allowed([plain.scoring.labels[label] for label in plain.predict(batch, plain(batch))])
    assert broken  # untrained models without rules break them


def test_what_the_chain_is_told_of_words_without_a_label(made):
    task, splits = made("propbank-ewt", form="spans", crf=True)
    number = {name: place for place, name in enumerate(task.scoring.labels)}
    begin, go_on = number["B-ARG0"], number["I-ARG0"]
    y = torch.tensor([-100, begin, -100, go_on, -1, 0, -100, -100])
    assert task._filled(y).tolist() == [0, begin, go_on, go_on, 0, 0, 0, 0]
    words, _ = made("propbank-ewt", form="heads", crf=True)
    assert words._filled(torch.tensor([-100, 1, -100, 2, -1, 0])).tolist() == [0, 1, 0, 2, 0, 0]
    batch = batch_of(task, splits["train"], [splits["train"][0]])
    batch.y = torch.full_like(batch.y, go_on)
    with pytest.raises(ValueError, match="are not allowed in BIO"):
        task.loss(batch)


def test_a_chain_needs_labels_that_it_has_rules_for(config_of):
    config = config_of("propbank-ewt", "dt", form="spans", decode="viterbi")
    with pytest.raises(ValueError, match="BIO requires B-B before I-B, which training lacks"):
        build_task(config, BuildInputs(9, 9, labels=("O", "B-A", "I-A", "I-B")))
    with pytest.raises(ValueError, match="'crf' needs 'O' among the labels of training"):
        build_task(config.replace(crf=True, decode="argmax"), BuildInputs(9, 9, labels=("B-A", "I-A")))


def test_scores_are_those_of_whole_splits_with_what_was_cut(made):
    task, splits = made("propbank-ewt", "bert-dt", form="spans")
    dataset = splits["test"]
    assert dataset.describe()["cut_words"] > 0
    whole = outputs_of(task, dataset)
    prediction, losses, target, example, group, place, sentence = (column.tolist() for column in whole)
    # The same words in a model of words, which are not cut.
    scratch, words = made("propbank-ewt", form="spans")
    other = outputs_of(scratch, words["test"])
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
    for number, data in enumerate(words["test"]):
        rows = [row for row, n in enumerate(example) if n == number]
        for labels, some in ((target, there), (prediction, found)):
            tags: list[str | None] = [None] * data.y.numel()
            for row in rows:
                tags[place[row]] = None if labels[row] < 0 else task.scoring.labels[labels[row]]
            some |= {(number, *span) for span in spans_of(tags)}
    assert scores["test_f1"] == pytest.approx(2 * len(there & found) / (len(there) + len(found)))
    data = dataset[1].clone()  # an example of cut words only is wrong
    data.y = torch.full_like(data.y, -100)
    assert (data.cut_y != -100).any()
    with torch.no_grad():
        scores = task.score(task.outputs(batch_of(task, dataset, [data])), "test")
    assert [scores[f"test_{name}"] for name in ("loss", *SCORES)] == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(("task", "model"), [("propbank-ewt", "bert"), ("semeval2010", "dt")])
@pytest.mark.parametrize("processes", [2, 3])
def test_rows_of_several_processes_are_those_of_one(made, monkeypatch, task, model, processes):
    built, splits = made(task, model, **({"form": "spans"} if task == "propbank-ewt" else {}))
    dataset, parts = splits["test"], []
    one = outputs_of(built, dataset)
    for rank in range(processes):
        sampler = DistributedSampler(range(len(dataset)), processes, rank, shuffle=False)
        loader = PlainLoader(range(len(dataset)), batch_size=4, sampler=sampler)
        seen, rows, outputs = 0, [], []
        for numbers in loader:
            batch = batch_of(built, dataset, [dataset[int(number)] for number in numbers])
            with torch.no_grad():
                outputs.append(built.outputs(batch))
            rows.append(seen + built.rows(batch))
            seen += len(numbers)
        parts.append((join_outputs(outputs), example_numbers(loader, rows)))

    def all_gather(into, mine):
        into[:] = parts

    fake = SimpleNamespace(get_world_size=lambda: processes, all_gather_object=all_gather)
    monkeypatch.setattr("graphdep.training.learning_task.dist", fake)
    for mine, theirs in zip(gather_rows(*parts[0]), one):
        torch.testing.assert_close(mine, theirs)


def test_what_is_compared_are_words_or_whole_groups(made):
    task, splits = made("propbank-ewt", form="spans")
    outputs = outputs_of(task, splits["test"])
    scores = task.score(outputs, "test")
    target, prediction = task.compared(outputs)
    for metric in task.metrics:
        assert metric(prediction, target) == pytest.approx(scores[f"test_{metric.name}"])
    task.metrics = replace(TASKS["propbank-ewt"], main="exact").metrics
    target, prediction = task.compared(outputs)
    assert target.tolist() == [1] * len(splits["test"])
    assert task.metrics[0](prediction, target) == pytest.approx(scores["test_exact"])


@pytest.mark.parametrize("options", [{}, {"crf": True}], ids=str)
def test_all_that_is_learned_is_in_the_optimizer_once(made, config_of, options):
    task, _ = made("propbank-ewt", "bert-dt", form="spans", **options)
    groups = task.configure_optimizers().param_groups
    given = [id(parameter) for group in groups for parameter in group["params"]]
    assert sorted(given) == sorted(id(parameter) for parameter in task.parameters())
    rates = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    new = [*task.model.head.parameters(), *(task.chain.parameters() if options else ())]
    assert {rates[id(parameter)] for parameter in new} == {config_of("propbank-ewt", "bert-dt").head_lr}


# -------------------------------------------------------------------------------- labels of marked spans


@pytest.mark.parametrize("model", ["transformer", "dt", "dra", "bilstm", "tree-lstm", "word-average"])
def test_the_order_of_spans_is_read(made, model):
    """Two pairs of the same entities differ only in their order."""
    task, splits = made("conll04", model)
    first, second = (data for data in splits["train"][:2])
    assert first.input_ids.equal(second.input_ids)
    assert sorted((first.mark + second.mark).tolist()) == [0, 0, 0, 3, 3]
    one, two = (task(batch_of(task, splits["train"], [data])) for data in (first, second))
    assert bool(((one - two).abs() > 1e-6).any())


def test_loss_and_scores_one_by_one(made):
    task, splits = made("semeval2010", "bert-dt")
    examples = [data.clone() for data in splits["train"]]
    for data in examples[:3]:
        data.y = torch.tensor([-1])  # labels that training does not have
    batch = batch_of(task, splits["train"], examples)
    logits, y, lost = task(batch).detach(), batch.y.tolist(), (batch.lost > 0).tolist()
    losses = [
        -float(row.log_softmax(-1)[label])
        for row, label, gone in zip(logits, y, lost)
        if label >= 0 and not gone
    ]
    assert task.loss(batch).item() == pytest.approx(np.mean(losses), rel=1e-5)
    with torch.no_grad():
        outputs = task.outputs(batch)
    assert outputs[0].tolist() == [-2 if gone else int(row.argmax()) for row, gone in zip(logits, lost)]
    scores = task.score(outputs, "val")
    assert {*scores} == {f"val_{name}" for name in ("loss", *SCORES)}
    assert scores["val_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    labels = splits.labels()
    there = ["(unknown)" if label < 0 else labels[label] for label in y]
    found = ["(none)" if n < 0 else labels[n] for n in outputs[0].tolist()]
    assert scores["val_accuracy"] == pytest.approx(np.mean([a == b for a, b in zip(there, found)]))
    right = sum(a == b != "Other" for a, b in zip(there, found))
    of_finding = sum(a != "Other" for a in there), sum(b not in ("Other", "(none)") for b in found)
    assert scores["val_f1"] == pytest.approx(2 * right / sum(of_finding))
    target, prediction = task.compared(outputs)
    assert (target == prediction).tolist() == [a == b for a, b in zip(there, found)]
    assert task.metrics[0](prediction, target) == pytest.approx(scores["val_macro_f1"])
    # Nothing is learned from lost spans and unknown labels.
    nothing = [data for data in examples if int(data.lost) or int(data.y) < 0][:5]
    loss = task.train().loss(batch_of(task, splits["train"], nothing))
    loss.backward()
    assert loss.item() == 0
    assert not any(bool(p.grad.any()) for p in task.parameters() if p.grad is not None)


@pytest.mark.parametrize("split", ["train", "test"])
def test_lost_spans_are_wrong_in_every_metric(made, split):
    """A perfect model is wrong only for lost spans."""
    task, splits = made("semeval2010", "bert")
    dataset = splits[split].copy()
    lost, y = dataset.lost.numpy() > 0, dataset.y.numpy()
    assert 0 < lost.sum() < len(y)
    assert dataset.describe()["lost_spans"] == lost.sum()
    scores = task.scores(np.where(lost, -2, y), y)
    assert scores["accuracy"] == pytest.approx(1 - lost.mean())
    finds = y != splits.labels().index("Other")
    assert scores["f1"] == pytest.approx(2 * (finds & ~lost).sum() / (finds.sum() + (finds & ~lost).sum()))
    assert scores["macro_f1"] < 1


@pytest.mark.parametrize("direction", [True, False])
def test_the_official_score_with_and_without_direction(made, direction):
    task, splits = made("semeval2010", direction=direction)
    labels = splits.labels()
    assert len(labels) == (19 if direction else 10)
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, found = rng.integers(0, len(labels), (2, 40))
        names = [np.array([labels[n].partition("(")[0] for n in numbers]) for numbers in (y, found)]
        scores = []
        for relation in {*names[0]} - {"Other"}:
            there, told = (own == relation for own in names)
            scores.append(2 * (there & (y == found)).sum() / (there.sum() + told.sum()))
        assert task.scores(found, y)["macro_f1"] == pytest.approx(np.mean(scores))


def test_macro_f1_leaves_out_the_outside_label(made):
    task, splits = made("spans", outside="none")
    assert splits.labels() == ["cause", "effect", "none"]
    y, found = np.random.default_rng(0).integers(0, 3, (2, 50))
    expected = f1_score(y, found, labels=[0, 1], average="macro")
    assert task.scores(found, y)["macro_f1"] == pytest.approx(expected)
    assert task.codes(np.array([0, 1, 2, -1, -2])).tolist() == [1, 2, 0, -1, -2]
