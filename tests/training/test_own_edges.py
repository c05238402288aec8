"""Runs on own edges: a name in a file imports nothing, and two transforms of one name are never mixed up."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from graphdep import RelationVocab, Vocab
from graphdep.training import TrainConfig, evaluate, load_splits, load_task, run_folder, train
from graphdep.training.checkpoint import RunState, save_task
from graphdep.transforms import (
    EdgeConstructor,
    EdgeSet,
    Nodes,
    RootEdges,
    SelfLoops,
    SpecialEdges,
    register_edges,
)
from graphdep.transforms import presets as registry
from graphdep.transforms.presets import UnknownEdgesError
from tests.kit.edges import Ahead
from tests.kit.runs import SIZES

pytestmark = pytest.mark.usefixtures("no_own_edges")


def ahead(step: int):
    return lambda: Ahead(step) | RootEdges() | SelfLoops()


def forget() -> None:
    """Removes registered edges, as in another process."""
    registry._own.clear()


@pytest.fixture
def config(tiny) -> TrainConfig:
    register_edges("ahead", ahead(1))
    return TrainConfig.of("dt", edges="ahead", **{**tiny, "max_epochs": 1})


@pytest.fixture
def checkpoint(config, tmp_path):
    train(config, tmp_path / "run")
    return tmp_path / "run" / "best.ckpt"


@pytest.fixture
def malicious(tmp_path, monkeypatch):
    """A checkpoint that names a module, which writes a file if it is imported."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    register_edges("evil:Edges", ahead(1))
    state = RunState(TrainConfig.of("dt", edges="evil:Edges", **SIZES), Vocab(["a"]), RelationVocab(), {})
    save_task(tmp_path / "evil.ckpt", state.build_task(), state)
    forget()
    return tmp_path


def test_the_papers_edges_are_not_own_ones():
    assert TrainConfig.of("dt").own_edges() == {}


def test_two_transforms_under_one_name_are_two_runs(config):
    first = config.digest(), config.own_edges()
    register_edges("ahead", ahead(2), replace=True)
    second = config.digest(), config.own_edges()
    register_edges("ahead", ahead(1), replace=True)
    assert (config.digest(), config.own_edges()) == first
    assert first[0] != second[0]
    assert first[1]["edges"].partition(" [")[0] == second[1]["edges"].partition(" [")[0]


def test_settings_take_any_edges_that_are_known_by_then():
    with pytest.raises(ValueError, match=r"'edges' must be one of .*dra.*got 'ahead'.*register_edges"):
        TrainConfig.of(edges="ahead")
    register_edges("ahead", ahead(1))
    assert TrainConfig.of(edges="ahead").label == "dt, edges ahead"
    assert TrainConfig.of(task="ubuntu", sia_edges="ahead").own_edges().keys() == {"sia_edges"}
    with pytest.raises(ValueError, match="'sia_edges' must be one of .*ahead.*got 'behind'"):
        TrainConfig.of(task="ubuntu", sia_edges="behind")


def test_options_of_a_factory_are_settings(config):
    register_edges("near", lambda *, max_distance=9: Ahead(max_distance) | RootEdges() | SelfLoops())
    near = config.replace(edges="near", max_distance=1)
    parts = RunState(near, Vocab(["a"]), RelationVocab(), {})
    assert parts.build_task().edges.transforms[0].left.left.step == 1


def test_a_checkpoint_names_its_edges_and_asks_for_them(checkpoint, config):
    task, state = load_task(checkpoint)
    assert state.config == config
    forget()
    message = "best.ckpt: edges 'ahead' are not known here: import the module that registers them"
    for use in (load_task, evaluate):
        with pytest.raises(UnknownEdgesError, match=message):
            use(checkpoint)
    register_edges("ahead", ahead(1))
    again, _ = load_task(checkpoint)
    for mine, its in zip(task.state_dict().values(), again.state_dict().values()):
        assert torch.equal(mine, its)


def test_edges_are_given_again(checkpoint, config):
    expected = evaluate(checkpoint, settings={"root": config.root, "parser": config.parser})["metrics"]
    forget()
    for edges in (ahead(1)(), "mine"):
        if edges == "mine":
            register_edges("mine", ahead(1))
        _, state = load_task(checkpoint, edges)
        assert state.config.replace(edges="dra") == config.replace(edges="dra")
        assert state.config.own_edges() != {}
    places = {"root": config.root, "parser": config.parser}
    assert evaluate(checkpoint, settings={**places, "edges": "mine"})["metrics"] == expected
    with pytest.raises(UnknownEdgesError):  # the edges of the training are still unknown
        evaluate(checkpoint, settings=places)
    with pytest.raises(ValueError, match="best.ckpt: 'edges' must be those of the training, .*Ahead.*got"):
        load_task(checkpoint, ahead(2)())
    with pytest.raises(ValueError, match="'edges' must be those of the training"):
        load_task(checkpoint, "dra")
    with pytest.raises(ValueError, match="'edges' must be one of .*got 'nothing'"):
        load_task(checkpoint, "nothing")
    register_edges("ahead", ahead(1))
    evaluate(checkpoint, settings={**places, "edges": "dra"})  # known edges may be replaced


def test_edges_of_a_preset_are_given_by_their_name(tiny, tmp_path):
    train(TrainConfig.of("dt", **{**tiny, "max_epochs": 1}), tmp_path)
    load_task(tmp_path / "best.ckpt", "dt")
    with pytest.raises(ValueError, match=r"'edges' must be those of the training, 'dt' \(got .*Ahead"):
        load_task(tmp_path / "best.ckpt", ahead(1)())


def test_edges_that_have_changed_are_refused(checkpoint):
    register_edges("ahead", ahead(2), replace=True)
    with pytest.raises(ValueError, match="best.ckpt: edges 'ahead' are not those of the training: .* then"):
        load_task(checkpoint)


def test_a_renamed_class_of_the_same_code_is_taken(checkpoint):
    class Renamed(Ahead):
        def __repr__(self) -> str:
            return "Renamed()"

    register_edges("ahead", Renamed() | RootEdges() | SelfLoops(), replace=True)
    load_task(checkpoint)


def test_a_name_in_a_file_imports_nothing(malicious):
    message = "edges 'evil:Edges' are not known here: if you trust 'evil', name the edges yourself"
    for use in (load_task, evaluate):
        with pytest.raises(UnknownEdgesError, match=message):
            use(malicious / "evil.ckpt")
    assert "evil" not in sys.modules
    assert not (malicious / "ran").exists()


@pytest.mark.usefixtures("last_stays")
def test_a_result_imports_nothing_either(config, tmp_path, malicious, monkeypatch):
    register_edges("ahead", ahead(1))
    train(config, tmp_path / "run")
    for name in ("result.json", "last.ckpt"):
        path = tmp_path / "run" / name
        if name == "result.json":
            result = json.loads(path.read_text())
            result["config"]["edges"] = "evil:Edges"
            path.write_text(json.dumps(result))
        else:
            (tmp_path / "run" / "result.json").unlink()
            content = torch.load(path, weights_only=True)
            content["graphdep"]["config"]["edges"] = "evil:Edges"
            torch.save(content, path)
        with pytest.raises(ValueError, match=f"{name} belongs to another run, .*'evil:Edges' are not"):
            train(config, tmp_path / "run", resume=True)
    assert not (malicious / "ran").exists()


def test_an_entry_point_is_loaded_for_you_and_not_for_a_file(install_edges, tiny, tmp_path):
    code = "from graphdep.transforms import resolve\ndef made():\n    return resolve('dra')\n"
    install_edges("pkg_dra", code, governors="pkg_dra:made")
    train(TrainConfig.of("dt", edges="governors", **{**tiny, "max_epochs": 1}), tmp_path / "run")
    forget()
    del sys.modules["pkg_dra"]
    message = "'governors' are not known here: name the edges of entry point .* --edges governors"
    with pytest.raises(UnknownEdgesError, match=message):
        load_task(tmp_path / "run" / "best.ckpt")
    assert "pkg_dra" not in sys.modules
    load_task(tmp_path / "run" / "best.ckpt", "governors")
    assert "pkg_dra" in sys.modules


def test_edges_that_read_the_batch_and_its_words(tiny, tmp_path):
    class SameWord(EdgeConstructor):
        def build(self, nodes: Nodes) -> EdgeSet:
            word, batch = nodes["input_ids"], nodes.data.batch
            same = (word == word[:, None]) & (batch == batch[:, None])
            return EdgeSet(nodes, *same.nonzero().T)

    register_edges("same-word", SameWord() | RootEdges() | SelfLoops())
    train(TrainConfig.of("dt", edges="same-word", **{**tiny, "max_epochs": 1}), tmp_path)


def test_edges_that_fail_do_so_before_the_training(tiny, tmp_path):
    class Failing(EdgeConstructor):
        def build(self, nodes: Nodes) -> EdgeSet:
            raise KeyError("upos")

    register_edges("failing", Failing())
    with pytest.raises(ValueError, match=r"Failing\(\) fails on a batch of two examples: KeyError: 'upos'"):
        train(TrainConfig.of("dt", edges="failing", **tiny), tmp_path)
    assert not [*tmp_path.rglob("*.ckpt")]


@pytest.mark.parametrize("own", [3, {"edges": 3}, {3: "a"}])
def test_a_damaged_checkpoint(own, malicious):
    content = torch.load(malicious / "evil.ckpt", weights_only=True)
    content["graphdep"]["own_edges"] = own
    torch.save(content, malicious / "evil.ckpt")
    with pytest.raises(ValueError, match="damaged checkpoint: 'own_edges'"):
        load_task(malicious / "evil.ckpt")


@pytest.mark.parametrize("finished", [True, False])
def test_resumed_runs_never_mix(config, tmp_path, finished):
    splits = load_splits(config)
    folder = run_folder(config, splits, tmp_path)
    train(config, folder, splits=splits)
    if not finished:
        (folder / "result.json").unlink()
    register_edges("ahead", ahead(2), replace=True)
    assert run_folder(config, splits, tmp_path) != folder
    with pytest.raises(ValueError, match="to another run, which cannot be resumed: .*own edges: .*Ahead"):
        train(config, folder, splits=splits, resume=True)
    register_edges("ahead", ahead(1), replace=True)
    assert train(config, folder, splits=splits, resume=True)["own_edges"] == config.own_edges()


def test_response_selection_takes_them_in_both_places(tmp_path):
    own = Ahead() | SelfLoops() | SpecialEdges()
    register_edges("ahead", own)
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 2, "heads": 2, "max_length": 16}
    config = TrainConfig.of(task="ubuntu", encoder="transformer", edges="ahead", sia_edges="ahead", **sizes)
    state = RunState(config, Vocab(["a"], lower=True), RelationVocab(), {})
    save_task(tmp_path / "selection.ckpt", state.build_task(), state)
    _, loaded = load_task(tmp_path / "selection.ckpt")
    assert loaded.config == config.replace(num_workers=None)
    forget()
    with pytest.raises(UnknownEdgesError):
        load_task(tmp_path / "selection.ckpt")
    load_task(tmp_path / "selection.ckpt", own)
