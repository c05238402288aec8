"""Models from words that match each utterance with the response, as rows of the tasks."""

from __future__ import annotations

import pytest
import torch

from graphdep import ResponseSelector
from graphdep.nn.models import MatchingModel
from graphdep.nn.models.baselines.deep_matching import DAM_FORMS, OBJECTIVES
from graphdep.nn.models.baselines.matching import ACCUMULATIONS
from graphdep.tasks.selection.model import build_matching_model
from graphdep.tasks.selection.settings import MATCHING_ENCODERS, PAPER, SELECTION_MODELS, SelectionConfig
from graphdep.training import TrainConfig, load_task, train
from graphdep.training.ablation import ablate
from graphdep.training.table import write_report
from graphdep.vocab import UNK_ID
from tests.kit.runs import evaluate_own
from tests.kit.tiny_corpora import write_tiny_selection
from tests.kit.tiny_encoder import write_tiny_encoder
from tests.kit.word_dialogues import word_dialogue

SMALL = {"hidden_channels": 8, "image_words": 8, "max_length": 32, "batch_size": 8, "accelerator": "cpu"}


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return {"task": "ubuntu", **write_tiny_selection(tmp_path_factory.mktemp("pools")), **SMALL}


def test_choices_are_those_of_the_layers() -> None:
    """Settings do not import them."""
    assert SelectionConfig.marks["accumulation"]["choices"] == ACCUMULATIONS
    assert SelectionConfig.marks["matching_form"]["choices"] == DAM_FORMS
    assert SelectionConfig.marks["block_objective"]["choices"] == OBJECTIVES


def test_each_is_a_row_with_a_published_figure() -> None:
    assert {*MATCHING_ENCODERS} <= {*SELECTION_MODELS}
    for published in PAPER.values():
        assert {*MATCHING_ENCODERS} <= {*published.rows} <= {*SELECTION_MODELS}


@pytest.mark.parametrize("model", MATCHING_ENCODERS)
def test_unknown_words_start_as_zeros_beside_vectors_of_a_file(model) -> None:
    vectors = torch.ones(9, 8)
    start = build_matching_model(TrainConfig.of(model, task="ubuntu", **SMALL), 9, vectors)
    weight = start.encoder.word.weight
    assert (weight[UNK_ID] == 0).all()
    assert (weight[[row for row in range(9) if row != UNK_ID]] == 1).all()
    assert (vectors == 1).all()


@pytest.mark.parametrize("model", MATCHING_ENCODERS)
def test_a_trained_one_ranks_as_it_was_scored(model, pools, tmp_path) -> None:
    result = train(TrainConfig.of(model, **pools, max_epochs=1), tmp_path)
    assert evaluate_own(tmp_path / "best.ckpt")["metrics"]["test_MRR"] == result["metrics"]["test_MRR"]
    task, state = load_task(tmp_path / "best.ckpt")
    assert isinstance(task.model, MatchingModel)
    assert (state.config.encoder, state.config.edges, state.config.sia_edges) == (model, None, None)
    selector = ResponseSelector(tmp_path / "best.ckpt", parser="chain", device="cpu", progress=False)
    pool = {"context": ["ann saw bob", "bob met"], "candidates": ["ann saw", "the bob met cid", "ann saw"]}
    ranking, _ = selector.rank_pools([pool, {"context": ["bob"], "candidates": ["cid ."]}])
    assert ranking.scores[0] == ranking.scores[2]
    selector.save_pretrained(tmp_path / "saved")
    again = ResponseSelector.from_pretrained(tmp_path / "saved", parser="chain", device="cpu")
    assert again.rank(**pool).scores == pytest.approx(ranking.scores)


def test_a_model_learns_who_is_spoken_of(pools, tmp_path) -> None:
    own = {**pools, "hidden_channels": 32, "match_channels": 16}
    result = train(TrainConfig.of("smn", **own, max_epochs=30, patience=None, lr=5e-3), tmp_path)
    assert result["metrics"]["test_MRR"] > 0.6 > 0.3 > result["floor"]["test_MRR"]


def test_settings_reach_the_model(pools) -> None:
    from graphdep.training.build import Parts
    from graphdep.training.family import build_task

    def built(model: str, **settings):
        return build_task(TrainConfig.of(model, **pools, **settings), Parts(9, 5)).model

    assert built("smn", accumulation="static", image_turns=3).turns.weight.shape == (3,)
    assert built("smn", match_channels=7).lin.in_features == 7
    assert [built(name, image_turns=3).max_turns for name in MATCHING_ENCODERS] == [3] * 4
    dam = built("dam-2018", image_turns=2, num_layers=1)
    assert (dam.max_turns, dam.form, len(dam.own), dam.max_words) == (2, "code", 1, 8)
    assert built("dua").form == "paper"
    ioi = built("ioi", block_objective="global", matching_form="code", num_layers=2)
    assert (ioi.objective, ioi.form, len(ioi.blocks)) == ("global", "code", 2)
    assert built("ioi", dropout=0.0).encoder.dropout.p == 0


def test_presets_have_the_published_sizes() -> None:
    found = {name: TrainConfig.of(name, task="ubuntu") for name in MATCHING_ENCODERS}
    assert {config.hidden_channels for config in found.values()} == {200}
    assert {config.image_words for config in found.values()} == {50}
    assert [found[name].num_layers for name in ("dam-2018", "ioi")] == [5, 7]
    turns = {name: config.image_turns for name, config in found.items()}
    assert turns == {"smn": 10, "dua": 10, "dam-2018": 9, "ioi": 10}
    assert found["smn"].match_channels == 50
    for config in found.values():
        data = word_dialogue([" ".join("a" * 50)] * 10, " ".join("b" * 50), config.max_length)
        assert data.cut_words.tolist() == [[0, 0]]
    douban = TrainConfig.of("smn", task="douban")
    assert (douban.encoder, douban.parser) == ("smn", "stanza:zh")


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        ("smn", {"encoder": "bert-base-uncased"}, "model 'smn' starts from words: 'encoder' must be 'smn'"),
        ("smn@random", {"encoder": "transformer"}, "'encoder' must be 'smn' .got 'transformer'"),
        (
            "smn",
            {"objective": "ums"},
            "'objective' is for models on an encoder; with encoder='smn' it must",
        ),
        ("smn", {"sia_edges": "sia"}, "'sia_edges' is for models on an encoder; with encoder='smn' it must"),
        ("dua", {"readout": "mean"}, "it must be 'cls' .got 'mean'"),
        ("dua", {"accumulation": "last"}, "'accumulation' is for encoder smn .got 'last'"),
        ("bert", {"image_words": 9}, "'image_words' is for encoder smn, dua, dam-2018, ioi .got 9"),
        ("smn", {"image_words": 4}, "'image_words' must be at least 5"),
        ("smn", {"matching_form": "code"}, "'matching_form' is for encoder dua, dam-2018, ioi"),
        ("ioi", {"block_objective": "all"}, "'block_objective' must be one of local, global"),
        ("smn", {"edges": "sia"}, "'edges' are for encoder='transformer'"),
    ],
)
def test_wrong_settings_are_named(model, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig.of(model, task="ubuntu", **settings)


def test_runs_share_their_data_and_have_names_of_their_own(pools) -> None:
    smn, dua = (TrainConfig.of(model, **pools) for model in ("smn", "dua"))
    assert smn.data_settings() == dua.data_settings()
    bert = TrainConfig.of("bert", **{**pools, "image_words": 50, "encoder": "transformer"})
    assert smn.data_settings() == bert.data_settings()
    assert len({smn.digest(), dua.digest(), smn.replace(accumulation="last").digest()}) == 3


def test_a_table_of_models_of_words_and_of_pieces(pools, tmp_path) -> None:
    """One encoder is given, for the row that stands on one; both rank the same pools, and are compared."""
    encoder = write_tiny_encoder(tmp_path / "bert")
    corpus = {name: pools[name] for name in ("root", "parser")}
    settings = {**corpus, "max_length": 40, "max_epochs": 1, "accelerator": "cpu", "encoder": encoder}
    summary = ablate("ubuntu", ["smn", "bert"], [0], tmp_path / "table", settings=settings, reference="smn")
    first, second = summary["rows"]
    assert [row["label"] for row in (first, second)] == ["smn", "bert"]
    assert first["data"] != second["data"]
    assert second["against"]["row"] == "smn"


def test_a_table_on_pools_of_another_size(tmp_path) -> None:
    """Their scores have other names than those of ten candidates."""
    lines = [f"{int(n == k)}\tann saw bob {k}\tbob met {n}\n" for k in range(6) for n in range(k, k + 4)]
    (tmp_path / "raw").mkdir()
    for name in ("train", "valid", "test"):
        (tmp_path / "raw" / f"{name}.txt").write_text("".join(lines))
    settings = {"raw_from": str(tmp_path / "raw"), "root": str(tmp_path / "own"), "parser": "chain"}
    settings |= {"pool_size": None, "max_epochs": 1, **SMALL}
    summary = ablate("ubuntu", ["smn", "dua"], [0], tmp_path / "table", settings=settings)
    files = write_report(summary, tmp_path / "table")
    assert "test_R4@1" in (tmp_path / "table" / "table.md").read_text()
    assert "test_R10@1" not in (tmp_path / "table" / "table.csv").read_text()
    assert {"plot"} <= {*files}
