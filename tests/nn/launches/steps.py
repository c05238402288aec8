"""Training steps of small models of every family, as ``graphdep train`` has them, on the counting device."""

from __future__ import annotations

import copy
import json
import traceback
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from graphdep.nn.graphed_step import Graphed, TrainingStep, _make_capturable
from graphdep.nn.pretrained import PretrainedEncoder, load_encoder
from graphdep.training import TrainConfig, load_splits
from graphdep.training.build import BuildInputs
from graphdep.training.family import build_task
from graphdep.training.filling import wanted_filler
from graphdep.training.splits import Splits
from graphdep.training.task import config_of
from graphdep.transforms.presets import PHRASE_PRESETS, PRESETS
from tests.kit.runs import SIZES
from tests.kit.tiny_corpora import write_tiny_aspects
from tests.kit.tiny_encoder import write_tiny_encoder
from tests.nn.launches.count import Table
from tests.nn.launches.device import DEVICE, Calls, OnDevice

MINI = Path(__file__).parents[3] / "datasets" / "mini"


# A task of each family, whose models the table has, and where its corpus is in datasets/mini.
TASKS = {"sick-e": "raw", "dailydialog": "raw", "ubuntu": "raw/ubuntu-v1", "post-train": "raw/ubuntu-v1"}
TASKS |= {"ud-tags": "ud/raw", "aspects": ""}
_OTHERS = {"sst": "raw/sst-sentence", "agreement": "agreement/raw"}
_SETTINGS: dict[str, Any] = {"limit_train": 16, "batch_size": 8, "accelerator": "cpu", "precision": "32-true"}


class Workplace:
    """Small corpora and a tiny pretrained encoder below a folder, and settings of runs on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.encoder = write_tiny_encoder(folder / "encoder", positions=512)
        self.splits: dict[str, Splits] = {}

    def corpus(self, task: str) -> dict[str, str]:
        """The settings that say where a task's corpus is."""
        root = self.folder / task
        if task == "aspects":
            return {"root": str(root)} if root.exists() else write_tiny_aspects(root)
        return {"raw_from": str(MINI / {**TASKS, **_OTHERS}.get(task, "raw")), "root": str(root)}

    def config(self, task: str, model: str, **given: Any) -> TrainConfig:
        """Settings of a model on a task, with few channels and examples."""
        own: dict[str, Any] = {"task": task, **self.corpus(task), **_SETTINGS, "min_freq": 1}
        if task == "post-train" or model.startswith("bert"):
            own["encoder"] = self.encoder
        else:
            own |= SIZES
        if task == "dailydialog":
            own |= {"context_layers": 1, "decoder_layers": 1, "warmup_steps": 2}
        if task == "ud-tags":
            own["trees"] = "parser"  # its own have no constituents
        if task in ("dailydialog", "ubuntu"):
            own.pop("relation_dim", None)
        return TrainConfig.of(model, **{**own, **given})

    @cached_property
    def pretrained(self) -> PretrainedEncoder:
        return load_encoder(self.encoder)

    def load(self, config: TrainConfig, pretrained: Any) -> Splits:
        """The training split."""
        key = json.dumps(config.data_settings(), sort_keys=True, default=str)
        if key not in self.splits:
            self.splits[key] = load_splits(config, ("train",), pretrained=pretrained)
        return self.splits[key]


def move(task: nn.Module) -> None:
    """Takes a module to the device."""
    done: dict[int, Any] = {}
    for module in task.modules():
        for name, weight in module._parameters.items():
            if weight is not None:
                if id(weight) not in done:
                    done[id(weight)] = nn.Parameter(OnDevice(weight.detach()), weight.requires_grad)
                module._parameters[name] = done[id(weight)]
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = done.setdefault(id(buffer), OnDevice(buffer))
        if isinstance(module, nn.RNNBase):
            module._init_flat_weights()
        if hasattr(module, "_device"):
            module._device = DEVICE


class _Step(TrainingStep):
    """Tells the parts of a step apart."""

    def __init__(self, calls: Calls, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.calls = calls

    def zero_grad(self) -> None:
        self.calls.phase = "forward"
        super().zero_grad()

    def backward(self, loss: Tensor) -> None:
        self.calls.phase = "backward"
        super().backward(loss)

    def update(self) -> None:
        self.calls.phase = "first update"  # in which the optimizer makes its state
        super().update()
        self.calls.phase = "optimizer"
        super().update()


def count(config: TrainConfig, place: Workplace) -> Calls:
    """What a training step of the settings asks for."""
    torch.manual_seed(0)
    pretrained = copy.deepcopy(place.pretrained) if config.pretrained else None
    splits = place.load(config, pretrained)
    labels = splits.labels()
    num_classes = None if labels is None else len(labels)
    sizes = len(splits.vocab), len(splits.relations)
    task = build_task(config, BuildInputs(*sizes, None, pretrained, num_classes, labels))
    task.train().begin(config)
    task._updates = lambda: 100
    move(task)
    task.filler = wanted_filler(task, splits, config, DEVICE)
    batch = next(iter(splits.loader("train", config, shuffle=True)))
    batch = task.on_before_batch_transfer(batch, 0)
    made = task.configure_optimizers()
    optimizer = made["optimizer"] if isinstance(made, dict) else made
    calls = Calls()
    task.losses.add("train_loss", OnDevice(torch.zeros(())), 0)  # as in every step but the first
    task.losses.watch("train_loss")
    step = _Step(calls, task.counted_loss, optimizer, clip=config.clip)
    again, flatten = None, task.flattener(DEVICE, training=True)
    with calls.during("moved"):
        if task.filler is None:
            step(batch.to(DEVICE))
        else:
            run = Graphed(step, task, optimizer, flatten=flatten)
            if run.static:
                calls.phase = "first update"
                _make_capturable(optimizer, DEVICE)
            calls.phase = "flattened"
            flat = run.flat(batch) if run.static else batch
            if asked := [kind for phase, kind in calls.counts if phase == "flattened" and kind != "cpu"]:
                raise RuntimeError(f"worker processes have no device, and are asked for {', '.join(asked)}")
            calls.phase = "moved"
            run.captures = False  # all that a capture would see is run instead
            run(flat)
            calls.static = run.static
            again = run if run.static and calls.numbers[-1] else None
    if again is not None:  # where a capture fails, batches run as they are
        again.static, step.calls = False, (calls := Calls())
        with calls.during("moved"):
            again(batch)
    return calls


def rows() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Task, model and further settings of each row."""
    seen = set()
    for task in TASKS:
        for model, preset in config_of(task).models.items():
            seen.add(preset.edges)
            yield task, model, {}
    for edges in dict.fromkeys([*PRESETS, *PHRASE_PRESETS]):
        if edges not in seen:
            typed = {"own-arcs": ("dt", {"arcs": "enhanced"})}
            model, given = typed.get(edges, ("transformer", {}))
            yield "ud-tags", model, {"edges": edges, **given}


def count_table(place: Workplace) -> tuple[Table, list[str]]:
    """The rows, and what went wrong with others."""
    table: Table = {}
    wrong = []
    for task, model, given in rows():
        config = place.config(task, model, **given)
        try:
            table[task, model, config.edges or ""] = count(config, place).numbers
        except Exception:
            wrong.append(
                f"task {task}, model {model}, edges {config.edges}: {traceback.format_exc(limit=-4)}"
            )
    return table, wrong
