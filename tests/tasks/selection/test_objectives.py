from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch_geometric.data import Batch
from typer.testing import CliRunner

from graphdep import ResponseSelector, attention_map
from graphdep.cli import app
from graphdep.datasets.selection.objectives import FORMS
from graphdep.nn.models import SIA
from graphdep.nn.models.selection import LOSSES, SPEAKERS
from graphdep.tasks.selection.model import EpochKeys
from graphdep.tasks.selection.settings import OBJECTIVES, SelectionConfig
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.build import Parts
from graphdep.training.family import build_task
from graphdep.training.splits import EpochSampler, SharedBatches
from tests.kit.tiny_corpora import write_tiny_selection
from tests.kit.tiny_encoder import write_tiny_encoder

SIZES = {"encoder": "transformer", "hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 2}
MINI = Path(__file__).parents[3] / "datasets" / "mini"


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    corpus = write_tiny_selection(tmp_path_factory.mktemp("pools"))
    short = {"batch_size": 8, "max_epochs": 2, "lr": 0.01, "max_length": 48, "accelerator": "cpu"}
    return {"task": "ubuntu", **corpus, **SIZES, **short}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("transformers")
    return write_tiny_encoder(tmp_path_factory.mktemp("bert"))


def batches(config, epoch=0, **options):
    loader = load_splits(config).loader("train", config, shuffle=True, **options)
    loader.batch_sampler.sampler.set_epoch(epoch)
    return list(loader)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_resumed_is_uninterrupted_and_a_run_repeats(name, pools, tmp_path):
    config = TrainConfig.of(f"bert-{name}-sia", **pools)
    whole = train(config, tmp_path / "whole")
    part = tmp_path / "part"
    train(config.replace(max_epochs=1), part)
    resumed = train(config, part, resume=True)
    assert resumed["metrics"] == whole["metrics"]
    weights = [load_task(tmp_path / run / "last.ckpt")[0].state_dict() for run in ("whole", "part")]
    assert all(torch.equal(value, weights[1][key]) for key, value in weights[0].items())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_batches_are_those_of_the_plain_row_with_more_in_them(name, pools):
    config = TrainConfig.of(f"bert-{name}", **pools)
    plain = [batch.group.tolist() for batch in batches(TrainConfig.of("bert", **pools), epoch=1)]
    found = batches(config, epoch=1)
    assert [batch.group[batch.kind == 0].tolist() for batch in found if batch.kind.numel()] == plain or [
        batch.group[batch.group >= 0].tolist() for batch in found
    ] == plain
    ids = [batch.input_ids for batch in found]
    for again in (batches(config, epoch=1), batches(config.replace(num_workers=1), epoch=1)):
        assert all(torch.equal(batch.input_ids, one) for batch, one in zip(again, ids, strict=True))
    other = torch.cat([batch.input_ids for batch in batches(config, epoch=2)]).tolist()
    assert other != torch.cat(ids).tolist()


def test_keys_have_the_order_of_the_plain_row():
    keys, order = EpochKeys(9, seed=2), EpochSampler(9, seed=2)
    for epoch in (0, 3):
        keys.set_epoch(epoch)
        order.set_epoch(epoch)
        assert [*keys] == [(epoch, number) for number in order]
    assert len(keys) == 9


@pytest.mark.parametrize(
    "model", [row for name in OBJECTIVES for row in (f"bert-{name}", f"bert-{name}-sia")]
)
def test_a_pretrained_encoder_trains_from_the_command_line_and_ranks(model, folder, tmp_path):
    root = tmp_path / "mini"
    shutil.copytree(MINI / "raw", root / "raw")
    settings = ["encoder=" + folder, "max_epochs=1", "max_length=48", "batch_size=4", "accelerator=cpu"]
    command = ["train", "--task", "ubuntu", "--model", model, "--root", str(root), "--parser", "chain"]
    command += [part for text in settings for part in ("--set", text)]
    done = CliRunner().invoke(app, [*command, "--output", str(tmp_path / "runs"), "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    task, state = load_task(result["checkpoint"])
    assert isinstance(task.model.encoder, SIA) == model.endswith("-sia")
    assert state.config.model == model
    selector = ResponseSelector(result["checkpoint"], parser="chain", device="cpu")
    ranking = selector.rank(["do you like tea ?", "yes"], ["no", "the bus is late .", "so do i"])
    shown = attention_map(result["checkpoint"], ["do you like tea ?", "yes"], parser="chain")
    assert len(shown.layers) == 2 + 2 * model.endswith("-sia")
    selector.save_pretrained(tmp_path / "saved")
    again = ResponseSelector(tmp_path / "saved", parser="chain", device="cpu")
    assert again.rank(["do you like tea ?", "yes"], ["no", "the bus is late .", "so do i"]) == ranking


def test_the_loss_is_the_weighted_sum(pools):
    weights = {"insertion_weight": 0.5, "deletion_weight": 0.0, "search_weight": 2.0}
    config = TrainConfig.of("bert-ums", **pools, **weights, dropout=0.0)
    splits = load_splits(config)
    torch.manual_seed(0)
    task = build_task(config, Parts(len(splits.vocab), len(splits.relations)))
    logged = {}
    task.log = lambda name, value, **options: logged.update({name: value.item()})
    batch = task.on_before_batch_transfer(batches(config)[0], 0)
    loss = task.loss(batch).item()
    pairs = batch.kind == 0
    own = F.binary_cross_entropy_with_logits(task.model(batch)[pairs], batch.y[pairs])
    assert logged["train_selection"] == pytest.approx(own.item(), rel=1e-5)
    expected = own.item() + 0.5 * logged["train_insertion"] + 2 * logged["train_search"]
    assert loss == pytest.approx(expected, rel=1e-5)
    assert task.items(batch) == int(pairs.sum()) == 8


@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("name", ["ums", "spider"])
def test_two_processes_have_the_loss_of_one(name, idle, pools, monkeypatch):
    """Each further loss is weighed by its own items, which one may have many of and the other few."""
    config = TrainConfig.of(f"bert-{name}", **pools, dropout=0.0)
    splits = load_splits(config)
    torch.manual_seed(0)
    task = build_task(config, Parts(len(splits.vocab), len(splits.relations)))
    task.log = lambda *args, **options: None
    pairs: list[list] = []
    for data in batches(config)[0].to_data_list():
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
    task._trainer = SimpleNamespace(
        world_size=2, train_dataloader=SimpleNamespace(batch_sampler=counted), sanity_checking=False
    )
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


def test_settings_of_an_objective_are_for_it_alone():
    assert {*SelectionConfig.objective_of.values()} <= {*OBJECTIVES}
    with pytest.raises(ValueError, match="'manipulated_turns' is for objective='ums'"):
        TrainConfig.of("bert-sia", task="ubuntu", manipulated_turns=3)
    assert TrainConfig.of("bert-ums", task="ubuntu", manipulated_turns=3).weights == {
        "insertion": 1.0,
        "deletion": 1.0,
        "search": 1.0,
    }
    assert TrainConfig.of("bert", task="ubuntu").weights == {}


def test_any_row_takes_an_objective_and_its_name_tells(pools):
    config = TrainConfig.of("bert-inter", **pools, objective="ums")
    assert config.digest() != TrainConfig.of("bert-inter", **pools).digest()
    assert config.sia_edges == "sia-inter"


@pytest.mark.parametrize("speakers", ["added", "segments"])
def test_speakers_and_cuts_are_settings(speakers, pools):
    config = TrainConfig.of("bert-ss-da", **pools, speakers=speakers, cuts=3)
    splits = load_splits(config)
    task = build_task(config, Parts(len(splits.vocab), len(splits.relations)))
    batch = task.on_before_batch_transfer(batches(config)[0], 0)
    assert ("mark" in batch) == (speakers == "added")
    assert batch.num_graphs > 8 == int((batch.group >= 0).sum())
    assert batch.y[batch.group < 0].mean() == 0.5
    assert task.items(batch) == batch.num_graphs
    logits, losses = task.model.training_losses(batch)
    assert logits.shape == batch.y.shape
    assert losses == {}


def test_choices_are_those_of_the_models():
    """Settings do not import them."""
    assert SelectionConfig.marks["manipulation_loss"]["choices"] == LOSSES
    assert SelectionConfig.marks["speakers"]["choices"] == SPEAKERS
    assert SelectionConfig.marks["order_form"]["choices"] == FORMS


@pytest.mark.parametrize("form", ["extra", "same"])
def test_spider_learns_from_its_own_examples_or_from_the_same(form, pools):
    config = TrainConfig.of("bert-spider-sia", **pools, order_form=form, dropout=0.0, order_weight=0.3)
    splits = load_splits(config)
    task = build_task(config, Parts(len(splits.vocab), len(splits.relations)))
    logged = {}
    task.log = lambda name, value, **options: logged.update({name: value.item()})
    batch = task.on_before_batch_transfer(batches(config)[0], 0)
    assert (batch.num_graphs > 8) == (form == "extra")
    assert task.items(batch) == 8
    assert (batch.order_target >= 0).any()
    loss = task.loss(batch).item()
    expected = logged["train_selection"] + 0.3 * logged["train_order"] + 0.5 * logged["train_backbone"]
    assert loss == pytest.approx(expected, rel=1e-5)
    assert task.model.triples(batch).size(1) > 0
