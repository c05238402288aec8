"""Response selection: loss and scores of pools, objectives, speakers, and runs."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Batch

from graphdep import NodeType, RelationVocab, ResponseSelector, Sentence, Vocab, attention_map
from graphdep.data import EncodedUtterance, selection_data
from graphdep.metrics import RANKING
from graphdep.nn.models import SIA, SMN
from graphdep.nn.models.selection import triples
from graphdep.nn.pretrained import load_encoder
from graphdep.tasks import SelectionTask
from graphdep.tasks.selection.model import EpochKeys, Speakers, build_matching_model, example_keys
from graphdep.tasks.selection.settings import MATCHING_ENCODERS, OBJECTIVES
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.ablation import ablate
from graphdep.training.build import BuildInputs, load_pretrained
from graphdep.training.family import build_task
from graphdep.training.learning_task import join_outputs
from graphdep.training.splits import EpochSampler, SharedBatches
from graphdep.training.table import write_report
from graphdep.vocab import UNK_ID, VocabTokens
from tests.kit.runs import evaluate_own
from tests.kit.word_dialogues import LETTERS, VOCAB, random_dialogue, word_dialogue

MINI = Path(__file__).parents[2] / "datasets" / "mini" / "raw"
# ------------------------------------------------------------------------------------------ loss and scores


class Fixed(nn.Module):
    """Returns the logit that is stored in each example."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, data):
        return data.logit * self.scale


def made_batches(logits, labels, groups, size=3, responses=None):
    """Batches of examples whose candidates differ, unless ``responses`` are given."""
    texts = LETTERS if responses is None else responses
    examples = [word_dialogue(["a"], text) for text, _ in zip(texts, logits)]
    for data, x, y, g in zip(examples, logits, labels, groups):
        data.logit, data.y, data.group = torch.tensor([float(x)]), torch.tensor([float(y)]), torch.tensor([g])
    return [Batch.from_data_list(examples[i : i + size]) for i in range(0, len(examples), size)]


def task(**options):
    return SelectionTask(Fixed(), lambda batch: batch, **options)


def outputs(logits, labels, groups, **options):
    with torch.no_grad():
        found = [task().predict_step(batch, 0) for batch in made_batches(logits, labels, groups, **options)]
    return join_outputs(found)


LOGITS = [2.0, 1.0, 0.0, 0.5, 3.0, -1.0, 1.0, 1.0]
LABELS = [1, 0, 0, 0, 1, 0, 1, 0]
GROUPS = [0, 0, 0, 0, 1, 1, 1, 1]


def test_loss_is_the_mean_binary_cross_entropy():
    (batch,) = made_batches([2.0, -1.0], [1, 0], [0, 0])
    expected = (math.log1p(math.exp(-2.0)) + math.log1p(math.exp(-1.0))) / 2
    assert task().loss(batch).item() == pytest.approx(expected, rel=1e-6)


def test_scores_are_of_pools_whatever_the_batches():
    scores = task().score(outputs(LOGITS, LABELS, GROUPS), "val")
    # pool 0: rank 1; pool 1: positives at ranks 1 and 2 or 3, tied
    assert scores["val_R4@1"] == pytest.approx((1 + 0.5) / 2)
    assert scores["val_P@1"] == pytest.approx(1.0)
    assert scores["val_MAP"] == pytest.approx((1 + (1 + (1 + 2 / 3) / 2) / 2) / 2)
    assert "val_loss" in scores


def test_pools_of_different_sizes_have_keys_without_a_number():
    scores = task().score(outputs(LOGITS[:7], LABELS[:7], GROUPS[:7]), "test")
    assert "test_R@1" in scores
    assert not any(name.startswith("test_R4") for name in scores)


def test_options_reach_the_metrics():
    tied = outputs([1.0, 1.0], [1, 0], [0, 0])
    found = {
        ties: task(ties=ties).score(tied, "test")["test_P@1"] for ties in ("mid", "pessimistic", "optimistic")
    }
    assert found == {"mid": 0.5, "pessimistic": 0.0, "optimistic": 1.0}
    some = outputs([1.0, 0.0, 1.0, 0.0], [1, 0, 0, 0], [0, 0, 1, 1])
    assert task(filter="both").score(some, "test")["test_P@1"] == 1.0
    assert task(filter="none").score(some, "test")["test_P@1"] == 0.5


def test_floor_is_what_equal_scores_get():
    found = outputs(LOGITS, LABELS, GROUPS)
    equal = outputs([0.0] * len(LOGITS), LABELS, GROUPS)
    floor = task().floor(None, "test", found)
    scores = task().score(equal, "test")
    assert floor == pytest.approx({name: scores[name] for name in floor})
    assert floor["test_P@1"] == pytest.approx((1 / 4 + 2 / 4) / 2)


def test_pools_are_compared():
    chance, found = task().compared(outputs(LOGITS, LABELS, GROUPS))
    assert chance.tolist() == [0.25, 0.5]
    assert found.tolist() == [1.0, 1.0]
    metric = RANKING["P@1"]
    assert metric(found, chance) == 1.0
    assert metric.floor(chance, chance) == pytest.approx(0.375)


def test_equal_candidates_have_one_score_whatever_the_model_says_of_them():
    """Equal right and wrong candidates of a pool whose logits differ in the last digits."""
    logits, labels, groups = [0.1, 0.1 + 1e-8, 0.1 - 1e-8, 2.0], [0, 1, 0, 1], [0, 0, 0, 1]
    logits, labels, groups = [*logits, 1.0, 1.0 + 1e-7], [*labels, 0, 0], [*groups, 1, 1]
    found = outputs(logits, labels, groups, size=2, responses="aaaabb")
    scores = task().score(found, "test")
    assert scores["test_P@1"] == pytest.approx((1 / 3 + 1) / 2)
    assert scores["test_MRR"] == pytest.approx(((1 + 1 / 2 + 1 / 3) / 3 + 1) / 2)
    assert task().compared(found)[1].tolist() == pytest.approx([1 / 3, 1.0])


def test_a_tree_of_its_own_is_another_candidate():
    tokens, first, last = VocabTokens(VOCAB), ([0, 1], ["root", "dep"]), ([2, 0], ["dep", "root"])
    one, other = (
        EncodedUtterance.of(Sentence(["a", "b"], *tree), tokens, RelationVocab()) for tree in (first, last)
    )
    examples = [selection_data([one], response, tokens) for response in (one, one, other)]
    keys = example_keys(Batch.from_data_list(examples))
    assert keys[0] == keys[1] != keys[2]
    assert torch.equal(example_keys(Batch.from_data_list(examples[1:])), keys[1:])


@pytest.mark.parametrize("size", [10, 64])
def test_a_model_ranks_pools_of_one_text_as_chance_does(size):
    torch.manual_seed(0)
    model, rng = SMN(len(VOCAB), hidden_channels=50).eval(), random.Random(5)
    examples = []
    for pool in range(16):
        dialogue = random_dialogue(rng, rng.randint(1, 6), 15)
        for place in range(10):
            data = word_dialogue(*dialogue)
            data.y, data.group = torch.tensor([float(place == 0)]), torch.tensor([pool])
            examples.append(data)
    own = SelectionTask(model, lambda batch: batch)
    parts = [Batch.from_data_list(examples[i : i + size]) for i in range(0, len(examples), size)]
    with torch.no_grad():
        found = own.score(join_outputs([own.predict_step(batch, 0) for batch in parts]), "test")
    assert found["test_P@1"] == pytest.approx(0.1)


def test_nan_is_no_perfect_score():
    with pytest.raises(ValueError, match="finite"):
        task().score(outputs([math.nan, 0.0], [1, 0], [0, 0]), "val")


# ------------------------------------------------------------------------------------------------- speakers


WORDS = [f"w{number}" for number in range(6)]
TOKENS = VocabTokens(Vocab(WORDS))


def example(sizes):
    trees = [Sentence.chain(WORDS[:size]) for size in sizes]
    *context, response = [EncodedUtterance.of(tree, TOKENS, RelationVocab()) for tree in trees]
    return selection_data(context, response, TOKENS)


def slow(data, place):
    """The speakers, from the response back."""
    found = []
    rows = [data[key].tolist() for key in ("node_type", "utterance")]
    of_response = max(rows[1])
    for kind, utterance in zip(*rows):
        back, second = of_response, True
        while back != utterance:
            back, second = back - 1, not second
        if place == "segments":
            found.append(0 if kind == NodeType.CLS else int(second))
        else:
            found.append(0 if kind in (NodeType.CLS, NodeType.SEP) else 1 + int(second))
    return found


@pytest.mark.parametrize(("place", "key"), [("added", "mark"), ("segments", "segment")])
@given(st.lists(st.lists(st.integers(1, 3), min_size=2, max_size=5), min_size=1, max_size=3))
def test_speakers_take_turns_and_the_last_word_is_the_seconds(place, key, dialogues):
    examples = [example(sizes) for sizes in dialogues]
    expected = [row for data in examples for row in slow(data, place)]
    assert Speakers(place)(Batch.from_data_list(examples))[key].tolist() == expected
    alone = [row for data in examples for row in Speakers(place)(data.clone())[key].tolist()]
    assert alone == expected


def test_speakers_have_one_of_two_places():
    assert repr(Speakers("added")) == "Speakers('added')"
    with pytest.raises(ValueError, match=r"'place' must be one of added, segments \(got 'bogus'\)"):
        Speakers("bogus")


# ----------------------------------------------------------------------------------------------- objectives


@pytest.fixture
def batches(config_of):
    """The batches of an epoch of a model."""

    def batches(model, epoch=0, **options):
        config = config_of("ubuntu", model, **{"max_length": 48, **options})
        loader = load_splits(config, ("train",)).loader("train", config, shuffle=True)
        loader.batch_sampler.sampler.set_epoch(epoch)
        return list(loader)

    return batches


@pytest.fixture
def objective(config_of, batches):
    """A task with an objective, and its first batch."""

    def objective(model, **options):
        config = config_of("ubuntu", model, dropout=0.0, max_length=48, **options)
        splits = load_splits(config, ("train",))
        torch.manual_seed(0)
        task = build_task(config, BuildInputs(len(splits.vocab), len(splits.relations)))
        return task, batches(model, dropout=0.0, **options)[0]

    return objective


@pytest.mark.parametrize("name", OBJECTIVES)
def test_batches_are_those_of_the_plain_row_with_more_in_them(name, batches):
    plain = [batch.group.tolist() for batch in batches("bert", 1)]
    found = batches(f"bert-{name}", 1)
    assert [batch.group[batch.kind == 0].tolist() for batch in found if batch.kind.numel()] == plain or [
        batch.group[batch.group >= 0].tolist() for batch in found
    ] == plain
    ids = [batch.input_ids for batch in found]
    again = batches(f"bert-{name}", 1)
    assert all(torch.equal(batch.input_ids, one) for batch, one in zip(again, ids, strict=True))
    other = torch.cat([batch.input_ids for batch in batches(f"bert-{name}", 2)]).tolist()
    assert other != torch.cat(ids).tolist()


def test_keys_have_the_order_of_the_plain_row():
    keys, order = EpochKeys(9, seed=2), EpochSampler(9, seed=2)
    for epoch in (0, 3):
        keys.set_epoch(epoch)
        order.set_epoch(epoch)
        assert [*keys] == [(epoch, number) for number in order]
    assert len(keys) == 9


@pytest.mark.parametrize("model", ["bert-ums", "bert-ss-da-sia", "bert-spider-sia"])
def test_a_pretrained_encoder_ranks_and_shows_its_attention(model, config_of, encoder, tmp_path):
    shutil.copytree(MINI, tmp_path / "mini" / "raw")
    own = {"root": str(tmp_path / "mini"), "parser": "chain", "encoder": encoder, "max_length": 48}
    own |= {"limit_train": 8, "limit_eval": 10}
    result = train(config_of("ubuntu", model, **own), tmp_path / "run")
    task, state = load_task(result["checkpoint"])
    assert isinstance(task.model.encoder, SIA) == model.endswith("-sia")
    assert state.config.model == model
    selector = ResponseSelector(result["checkpoint"], parser="chain", device="cpu")
    asked = ["do you like tea ?", "yes"], ["no", "the bus is late .", "so do i"]
    ranking = selector.rank(*asked)
    shown = attention_map(result["checkpoint"], asked[0], parser="chain")
    assert len(shown.layers) == 2 + 2 * model.endswith("-sia")
    selector.save_pretrained(tmp_path / "saved")
    assert ResponseSelector(tmp_path / "saved", parser="chain", device="cpu").rank(*asked) == ranking


def test_the_loss_is_the_weighted_sum(objective):
    weights = {"insertion_weight": 0.5, "deletion_weight": 0.0, "search_weight": 2.0}
    task, batch = objective("bert-ums", **weights)
    batch = task.on_before_batch_transfer(batch, 0)
    loss, parts = task.loss(batch).item(), task.losses.read()
    pairs = batch.kind == 0
    own = F.binary_cross_entropy_with_logits(task.model(batch)[pairs], batch.y[pairs])
    assert parts["train_selection"] == pytest.approx(own.item(), rel=1e-5)
    expected = own.item() + 0.5 * parts["train_insertion"] + 2 * parts["train_search"]
    assert loss == pytest.approx(expected, rel=1e-5)
    assert task.items(batch) == int(pairs.sum()) == 8


@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("name", ["ums", "spider"])
def test_two_processes_have_the_loss_of_one(name, idle, objective, monkeypatch):
    """Further losses are weighted by the numbers of their items, which differ between processes."""
    task, batch = objective(f"bert-{name}")
    pairs: list[list] = []
    for data in batch.to_data_list():
        pairs += [[data]] if int(data.kind) == 0 else []
        pairs[-1] += [data] if int(data.kind) else []
    pairs.sort(key=len)
    halves = [pairs, pairs[:1]] if idle else [pairs[:3], pairs[3:]]

    def made(some):
        return task.on_before_batch_transfer(
            Batch.from_data_list([data for pair in some for data in pair]), 0
        )

    whole, parts = made(pairs), [made(some) for some in halves]
    expected = task.loss(whole)
    sent: list[torch.Tensor] = []
    counted = SharedBatches(None)
    task._trainer = SimpleNamespace(world_size=2, train_dataloader=SimpleNamespace(batch_sampler=counted))
    monkeypatch.setattr(dist, "all_reduce", lambda value: sent.append(value.clone()))

    def losses():
        for number, part in enumerate(parts):
            counted._idle = {0} if idle and number else set()
            yield task.loss(part)

    [*losses()]
    total = sum(sent)
    monkeypatch.setattr(dist, "all_reduce", lambda value: value.copy_(total))
    items = [0 if idle and number else task.items(part) for number, part in enumerate(parts)]
    found = sum(n * loss for n, loss in zip(items, losses())) / sum(items)
    torch.testing.assert_close(found, expected)
    task._trainer = None


@pytest.mark.parametrize("speakers", ["added", "segments"])
def test_speakers_and_cuts_are_settings(speakers, objective):
    task, batch = objective("bert-ss-da", speakers=speakers, cuts=3)
    batch = task.on_before_batch_transfer(batch, 0)
    assert ("mark" in batch) == (speakers == "added")
    assert batch.num_graphs > 8 == int((batch.group >= 0).sum())
    assert batch.y[batch.group < 0].mean() == 0.5
    assert task.items(batch) == batch.num_graphs
    logits, losses = task.model.training_losses(batch)
    assert logits.shape == batch.y.shape
    assert losses == {}


@pytest.mark.parametrize("form", ["extra", "same"])
def test_spider_learns_from_its_own_examples_or_from_the_same(form, objective):
    task, batch = objective("bert-spider-sia", order_form=form, order_weight=0.3)
    batch = task.on_before_batch_transfer(batch, 0)
    assert (batch.num_graphs > 8) == (form == "extra")
    assert task.items(batch) == 8
    assert (batch.order_target >= 0).any()
    loss, parts = task.loss(batch).item(), task.losses.read()
    expected = parts["train_selection"] + 0.3 * parts["train_order"] + 0.5 * parts["train_backbone"]
    assert loss == pytest.approx(expected, rel=1e-5)
    assert triples(batch).size(1) > 0


# ----------------------------------------------------------------------------------------- models and runs


def of_pieces(config_of, encoder, **others):
    return config_of("ubuntu", "bert-sia", encoder=encoder, **others)


def test_a_pretrained_encoder_needs_its_folder_only_in_training(config_of, encoder, tmp_path):
    result = train(of_pieces(config_of, encoder, freeze_layers=1, layer_decay=0.5), tmp_path)
    task, state = load_task(tmp_path / "best.ckpt")
    elsewhere = dataclasses.replace(state, config=state.config.replace(encoder="/nowhere"))
    checkpoint = torch.load(tmp_path / "best.ckpt", weights_only=True)
    checkpoint["graphdep"] |= elsewhere.state_dict()
    torch.save(checkpoint, tmp_path / "moved.ckpt")
    found = evaluate_own(tmp_path / "moved.ckpt")
    assert found["metrics"]["test_MRR"] == result["metrics"]["test_MRR"]
    assert isinstance(task.model.encoder, SIA)
    # Only frozen layers keep their weights.
    now, before = task.model.encoder.encoder.model, load_encoder(encoder).model
    assert torch.equal(now.embeddings.word_embeddings.weight, before.embeddings.word_embeddings.weight)
    old, new = (model.encoder.layer for model in (before, now))
    assert torch.equal(old[0].output.dense.weight, new[0].output.dense.weight)
    assert not torch.equal(old[1].output.dense.weight, new[1].output.dense.weight)


def test_learning_rates_fall_from_layer_to_layer_and_biases_do_not_decay(config_of, encoder):
    config = of_pieces(config_of, encoder, layer_decay=0.5, lr=0.01)
    task = build_task(config, BuildInputs(5, 5, pretrained=load_pretrained(config)))
    groups = task.configure_optimizers().param_groups
    assert sorted({group["lr"] for group in groups}) == pytest.approx([0.0025, 0.005, 0.01])
    grouped = [parameter for group in groups for parameter in group["params"]]
    assert len(grouped) == len({id(p) for p in grouped}) == sum(1 for _ in task.parameters())
    config = of_pieces(config_of, encoder, lr=1e-3, head_lr=1e-2, weight_decay=0.1, sia_block="bert")
    task = build_task(config, BuildInputs(5, 5, pretrained=load_pretrained(config)))
    groups = task.configure_optimizers().param_groups
    assert {group["lr"] for group in groups} == {1e-3, 1e-2}
    for group in groups:
        assert {parameter.dim() > 1 for parameter in group["params"]} == {group["weight_decay"] > 0}


def test_only_some_pools_are_evaluated(config_of, encoder):
    splits = load_splits(config_of("ubuntu", "bert", limit_eval=11, limit_train=6))
    assert {split: len(splits[split]) for split in splits.datasets} == {"train": 6, "val": 20, "test": 20}
    config = config_of("ubuntu", "bert", encoder=encoder, max_length=49, root="nowhere")
    # Raised before the corpus is built.
    with pytest.raises(ValueError, match="'max_length' must be at most 48, the positions of the encoder"):
        load_splits(config)


def test_scores_of_a_run_are_those_of_pools(trained):
    folder, result = trained("ubuntu", "bert-sia")
    for split in ("val", "test"):
        assert result["floor"][f"{split}_R10@1"] == pytest.approx(0.1)
        assert 0 <= result["metrics"][f"{split}_R10@1"] <= result["metrics"][f"{split}_R10@5"] <= 1
        # one right candidate per pool
        assert result["metrics"][f"{split}_MAP"] == pytest.approx(result["metrics"][f"{split}_MRR"])
    assert (result["data"]["examples"]["test"], result["predictions"]) == (50, 5)
    made = load_task(folder / "best.ckpt")[0]
    assert made.model.readout == "cls"


def test_a_table_of_models_of_words_and_of_pieces(places, encoder, tmp_path):
    """The encoder is for the pretrained row only; both rows rank the same pools and are compared."""
    own = {"max_length": 40, "max_epochs": 1, "accelerator": "cpu", "encoder": encoder, **places("ubuntu")}
    summary = ablate("ubuntu", ["smn", "bert"], [0], tmp_path / "table", settings=own, reference="smn")
    first, second = summary["rows"]
    assert [row["label"] for row in (first, second)] == ["smn", "bert"]
    assert first["data"] != second["data"]
    assert second["against"]["row"] == "smn"
    write_report(summary, tmp_path)
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    for text in ("test_R10@1", "| 0.1000 |", "R10@1|ties=mid|filter=both"):
        assert text in table
    assert json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["rows"][0]["n"] == 1


def test_a_table_on_pools_of_another_size(tmp_path):
    """Names of scores have the size of the pools."""
    lines = [f"{int(n == k)}\tann saw bob {k}\tbob met {n}\n" for k in range(6) for n in range(k, k + 4)]
    (tmp_path / "raw").mkdir()
    for name in ("train", "valid", "test"):
        (tmp_path / "raw" / f"{name}.txt").write_text("".join(lines))
    settings = {"raw_from": str(tmp_path / "raw"), "root": str(tmp_path / "own"), "parser": "chain"}
    settings |= {"pool_size": None, "max_epochs": 1, "max_length": 32, "image_words": 8, "accelerator": "cpu"}
    summary = ablate("ubuntu", ["smn"], [0], tmp_path / "table", settings={**settings, "hidden_channels": 8})
    files = write_report(summary, tmp_path / "table")
    assert "test_R4@1" in (tmp_path / "table" / "table.md").read_text()
    assert "test_R10@1" not in (tmp_path / "table" / "table.csv").read_text()
    assert {"plot"} <= {*files}


@pytest.mark.parametrize("model", MATCHING_ENCODERS)
def test_unknown_words_start_as_zeros_beside_vectors_of_a_file(model):
    vectors = torch.ones(9, 8)
    config = TrainConfig.of(model, task="ubuntu", hidden_channels=8, image_words=8, max_length=32)
    weight = build_matching_model(config, 9, vectors).encoder.word.weight
    assert (weight[UNK_ID] == 0).all()
    assert (weight[[row for row in range(9) if row != UNK_ID]] == 1).all()
    assert (vectors == 1).all()
    data = word_dialogue(
        [" ".join("a" * 50)] * 10, " ".join("b" * 50), TrainConfig.of(model, task="ubuntu").max_length
    )
    assert data.cut_words.tolist() == [[0, 0]]


def test_settings_of_matching_reach_the_model():
    def built(model: str, **settings):
        own = {"hidden_channels": 8, "image_words": 8, "max_length": 32, **settings}
        return build_task(TrainConfig.of(model, task="ubuntu", **own), BuildInputs(9, 5)).model

    assert built("smn", accumulation="static", image_turns=3).turns.weight.shape == (3,)
    assert built("smn", match_channels=7).lin.in_features == 7
    assert [built(name, image_turns=3).max_turns for name in MATCHING_ENCODERS] == [3] * 4
    dam = built("dam-2018", image_turns=2, num_layers=1)
    assert (dam.max_turns, dam.form, len(dam.own), dam.max_words) == (2, "code", 1, 8)
    assert built("dua").form == "paper"
    ioi = built("ioi", block_objective="global", matching_form="code", num_layers=2)
    assert (ioi.objective, ioi.form, len(ioi.blocks)) == ("global", "code", 2)
    assert built("ioi", dropout=0.0).encoder.dropout.p == 0
    smn, dua = (TrainConfig.of(model, task="ubuntu") for model in ("smn", "dua"))
    assert smn.data_settings() == dua.data_settings()
    assert len({smn.digest(), dua.digest(), smn.replace(accumulation="last").digest()}) == 3


def test_post_training_gives_an_encoder_to_go_on_with(settings_of, places, encoder, tmp_path):
    own = {"batch_size": 8, "max_epochs": 1, "max_length": 48, "accelerator": "cpu", "lr": 1e-3}
    settings = {"task": "post-train", "encoder": encoder, "root": places("ubuntu")["root"], **own}
    result = train(TrainConfig.of(**settings), tmp_path / "fp")
    assert set(result["metrics"]) >= {"test_mlm_perplexity", "val_mlm_accuracy", "test_relevance_accuracy"}
    assert result["floor"]["test_relevance_accuracy"] > 0
    found = evaluate_own(tmp_path / "fp" / "best.ckpt")
    assert found["metrics"]["test_loss"] == pytest.approx(result["metrics"]["test_loss"])
    config = TrainConfig.of("bert", **{**settings_of("ubuntu"), "encoder": str(tmp_path / "fp" / "encoder")})
    trained, start = (load_encoder(folder).model for folder in (tmp_path / "fp" / "encoder", encoder))
    task = build_task(config, BuildInputs(5, 5, pretrained=load_pretrained(config)))
    weights = [m.embeddings.word_embeddings.weight for m in (task.model.encoder.model, trained, start)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
