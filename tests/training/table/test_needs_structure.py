"""Five rows on tasks whose answer is known: of structure, of words alone, and of nothing."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from graphdep.metrics.scores import ACCURACY, MSE
from graphdep.training import TrainConfig, needs_structure
from graphdep.training import structure as module
from graphdep.training.evaluation import write_predictions
from graphdep.training.family import StructureRows
from graphdep.training.structure import _all, _Cost, _fits, _val_every
from tests.kit.trees import random_sentence

WORDS = "abcdef"
SIZES = {"hidden_channels": 16, "ff_channels": 16, "num_layers": 1, "heads": 2, "relation_dim": 4, "lr": 0.02}
SHORT = {
    "max_epochs": 12,
    "batch_size": 16,
    "min_freq": 1,
    "accelerator": "cpu",
    "dropout": 0.0,
    "patience": None,
}
QUIET = Console(quiet=True)


def write(folder: Path, rule, tested: int = 40) -> dict[str, object]:
    """Files of sentences with trees, and a label for each word by a rule of the words, heads and chance."""
    rng = random.Random(0)
    sizes = {"train": 60, "val": 20, "test": tested}
    for name, count in sizes.items():
        with open(folder / f"{name}.jsonl", "w") as file:
            for _ in range(count):
                head = random_sentence(rng, rng.randint(5, 8)).head
                words = [rng.choice(WORDS) for _ in head]
                labels = [rule(words, head, place, rng) for place in range(len(head))]
                deprel = ["dep" if above else "root" for above in head]
                file.write(
                    json.dumps({"words": words, "labels": labels, "head": list(head), "deprel": deprel})
                    + "\n"
                )
    files = {name: str(folder / f"{name}.jsonl") for name in sizes}
    return {**files, **SIZES, **SHORT}


def ask(folder: Path, rule, **options) -> dict:
    own = {name: options.pop(name) for name in ("max_epochs", "lr") if name in options}
    settings = write(folder, rule, options.pop("tested", 40)) | {"outside": "none"} | own
    given = {"seeds": 3, "minutes": 30, "bound": 0.05, "console": QUIET, **options}
    return needs_structure("labels", folder / "runs", settings=settings, **given)


def of_governor(words, head, place, rng):
    return words[head[place] - 1] if head[place] else "top"


def of_word(words, head, place, rng):
    return words[place].upper()


def of_chance(words, head, place, rng):
    return rng.choice("XY")


def test_structure_decides(tmp_path):
    found = ask(tmp_path, of_governor)
    assert found["verdict"] == "yes", found["sentences"]
    assert [row["name"] for row in found["rows"]][1:3] == ["transformer-nopos", "transformer"]
    assert found["rows"][3]["difference"] > 0.3
    assert found["sentences"][-1] == "A parser is worth having here."
    assert Path(found["files"]["plot"]).stat().st_size > 1000
    assert json.loads(json.dumps(found)) == found
    # The same call has nothing to do; another one in the same folder is refused.
    assert ask(tmp_path, of_governor)["rows"] == found["rows"]
    for other in ({"seeds": 4}, {"bound": 0.9}):
        with pytest.raises(ValueError, match="plan.json is of another call"):
            ask(tmp_path, of_governor, **other)
    with pytest.raises(ValueError, match="or of files that have changed"):
        ask(tmp_path, of_word)
    (tmp_path / "runs" / "plan.json").write_text("{}")
    with pytest.raises(ValueError, match="plan.json is damaged"):
        ask(tmp_path, of_governor)


def test_structure_decides_of_spans(tmp_path):
    """Whether one of two words hangs from the other; in half of the pairs the first word gives it away."""
    rng, sizes = random.Random(0), {"train": 200, "val": 40, "test": 80}
    for name, count in sizes.items():
        lines = [json.dumps(pair_of_words(rng)) + "\n" for _ in range(count)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    files = {name: str(tmp_path / f"{name}.jsonl") for name in sizes}
    settings = {**files, **SIZES, **SHORT, "max_epochs": 14}
    given = {"seeds": 3, "minutes": 30, "bound": 0.05, "console": QUIET}
    found = needs_structure("spans", tmp_path / "runs", settings=settings, **given)
    assert found["verdict"] == "yes", found["sentences"]
    assert found["rows"][2]["name"] == "transformer"


def pair_of_words(rng):
    head = random_sentence(rng, rng.randint(5, 8)).head
    below = rng.choice([place for place, above in enumerate(head) if above])
    above, arc = head[below] - 1, rng.random() < 0.5
    apart = [x for x in range(len(head)) if x not in (below, above) and head[x] - 1 != below]
    one, two = sorted((below, above if arc or not apart else rng.choice(apart)))
    words = [rng.choice(WORDS) for _ in head]
    label = "arc" if above in (one, two) else "apart"
    if rng.random() < 0.5:
        words[one] = "a" if label == "arc" else "b"
    deprel = ["dep" if above else "root" for above in head]
    tree = {"head": list(head), "deprel": deprel}
    return {"words": words, "spans": [[one, one + 1], [two, two + 1]], "label": label, **tree}


def test_words_decide(tmp_path):
    found = ask(tmp_path, of_word, tested=120)  # rows that are equal on 40 sentences may differ by .09
    assert found["verdict"] == "no", found["sentences"]
    assert found["smallest_visible_effect"] < 0.05


def test_models_that_have_learnt_nothing_deny_nothing(tmp_path):
    found = ask(tmp_path, of_word, max_epochs=1, lr=1e-6)
    assert found["verdict"] == "undecided", found["sentences"]
    assert "the plain model is no better than no skill" in found["sentences"][-1]


def test_models_that_are_still_learning_deny_nothing(tmp_path):
    """Words that decide all, read by models that were stopped before they had learnt them."""
    found = ask(tmp_path, of_word, max_epochs=3, lr=0.003)
    assert found["verdict"] == "undecided", found["sentences"]
    assert "runs with trees were still getting better in their last epochs" in found["sentences"][-1]


def summed(mean: float, *curves: list[float | None]) -> dict:
    """A row of runs with these scores of the validation split, None for epochs without."""
    paths = [Path(f"run{number}", "best.ckpt") for number in range(len(curves))]
    for path, curve in zip(paths, curves):
        path.parent.mkdir(exist_ok=True)
        lines = [f"{epoch},{'' if score is None else score}" for epoch, score in enumerate(curve, 1)]
        path.with_name("metrics.csv").write_text("\n".join(["epoch,val_accuracy", *lines, ""]))
    return {"metrics": {"test_accuracy": {"mean": mean}}, "checkpoints": paths, "n": len(curves)}


FLAT, RISING, SLOW = [0.5, 0.9, None, 0.9], [0.5, 0.8, None, 0.9], [0.5, 0.89, None, 0.9]


@pytest.mark.parametrize(
    ("plain", "trees", "of_plain", "of_trees", "no_skill", "yes", "no"),
    [
        (0.9, 0.9, [FLAT], [FLAT], 0.5, None, None),
        (0.9, 0.9, [FLAT], [FLAT, SLOW], 0.5, None, None),  # by less than half the bound
        (0.9, 0.9, [FLAT], [FLAT], None, None, None),
        (0.5, 0.9, [FLAT], [FLAT], 0.5, "the plain model is no better", "the plain model is no better"),
        (0.53, 0.9, [FLAT], [FLAT], 0.5, "the plain model is no better", "the plain model is no better"),
        (0.9, 0.4, [FLAT], [FLAT], 0.5, None, "the model with trees is no better than no skill (0.4, 0.5)"),
        (0.9, 0.9, [FLAT], [FLAT, RISING, FLAT], 0.5, None, "1 of 3 runs with trees were still getting"),
        (0.9, 0.9, [FLAT], [FLAT, [0.86, 0.9]], 0.5, None, "1 of 2 runs with trees"),  # by half the bound
        (0.9, 0.9, [FLAT], [[None, 0.9]], 0.5, None, "1 of 1 runs with trees"),  # nobody knows
        # .1 in the last of three validations: .3 in as many again, and trees have .2 more.
        (0.9, 0.9, [RISING], [FLAT], 0.5, "the plain model was still getting better", None),
        (0.9, 0.9, [RISING, FLAT], [FLAT], 0.5, None, None),  # .15 on average
        (0.9, 0.9, [[0.9]], [FLAT], 0.5, "the plain model was still getting better", None),
    ],
)
def test_doubts(tmp_path, monkeypatch, plain, trees, of_plain, of_trees, no_skill, yes, no):
    rows = {}
    for name, mean, curves in (("plain", plain, of_plain), ("trees", trees, of_trees)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        rows[name] = summed(mean, *curves)
        rows[name]["checkpoints"] = [path.absolute() for path in rows[name]["checkpoints"]]
    found = module._doubts(ACCURACY, no_skill, 0.05, 0.2, **rows)
    assert found.keys() == {name for name, said in (("yes", yes), ("no", no)) if said}
    assert all(found[name].startswith(said) for name, said in (("yes", yes), ("no", no)) if said)
    if yes and "getting better" in yes:
        assert "yes" not in module._doubts(ACCURACY, no_skill, 0.05, -0.1, **rows)  # nothing to make up for


def test_doubts_where_less_is_better(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {name: summed(0.5, [0.9, 0.5]) for name in ("plain", "trees")}
    for row in rows.values():
        row["metrics"] = {"test_mse": {"mean": 0.5}}
    path = tmp_path / "run0" / "metrics.csv"
    path.write_text(path.read_text().replace("accuracy", "mse"))
    assert module._doubts(MSE, 1.0, 0.05, 0.1, **rows).keys() == {"yes", "no"}
    assert module._doubts(MSE, 1.0, 0.05, 0.9, **rows).keys() == {"no"}
    said = module._doubts(MSE, 0.53, 0.05, 0.9, **rows)
    assert {*said} == {"yes", "no"}
    assert all("the plain model is no better than no skill (0.5, 0.53)" in why for why in said.values())


def test_no_skill_knows_the_labels_of_the_test_split(tmp_path):
    """Training has most of 0, of which the test split has a quarter."""
    target = np.array([0, 1, 1, 1])
    write_predictions(tmp_path / "predictions.csv", target, target)
    row = {"checkpoints": [str(tmp_path / "best.ckpt")]}
    assert module._no_skill(ACCURACY, 0.25, row) == 0.75
    assert module._no_skill(ACCURACY, 0.9, row) == 0.9


@pytest.mark.parametrize(
    ("epochs", "every"), [(1, 1), (2, 1), (3, 1), (7, 1), (9, 3), (10, 2), (12, 4), (20, 5)]
)
def test_validations(epochs, every):
    assert _val_every(epochs) == every


def test_nothing_decides(tmp_path):
    found = ask(tmp_path, of_chance, bound=0.001)
    assert found["verdict"] == "undecided", found["sentences"]
    assert "no better than no skill" in found["sentences"][-1]  # by whatever epoch chance has chosen


PART = "the 100 of 2,000 examples that fit into the time"


@pytest.mark.parametrize(
    ("plain", "random", "metric", "verdict", "of_a_part"),
    [
        ((0.1, 0.2), (0.1, 0.2), ACCURACY, "yes", f"worth having here, with {PART}."),
        ((0.1, 0.2), (-0.1, 0.2), ACCURACY, "undecided", "than random trees with the same labels"),
        ((-0.1, 0.01), (-0.1, 0.2), ACCURACY, "no", "(more --minutes)"),
        # Real, and too small.
        ((0.001, 0.01), (-0.1, 0.2), ACCURACY, "no", "(more --minutes)"),
        ((0.001, 0.01), (0.001, 0.01), ACCURACY, "no", "(more --minutes)"),
        ((-0.1, 0.03), (-0.1, 0.2), ACCURACY, "undecided", f"not have been seen with {PART}"),
        ((-0.2, -0.1), (-0.2, -0.1), MSE, "yes", f"worth having here, with {PART}."),
        ((0.1, 0.2), (0.1, 0.2), MSE, "no", "(more --minutes)"),
    ],
)
def test_verdicts(plain, random, metric, verdict, of_a_part):
    plain, random = ({"interval": ends, "smallest_visible": 0.3} for ends in (plain, random))

    def ask(doubts, whole):
        found = module._verdict(plain, random, 0.02, metric, doubts, whole=whole)
        told = {name: found[name] for name in ("over", "over_random", "excluded")}
        assert found["smallest_visible_effect"] == 0.3
        part = None if whole else PART
        return found["verdict"], module._worth(found, 0.02, doubts, part=part, more="minutes", **told)

    assert ask({}, True)[0] == verdict
    assert ask({}, False)[0] == verdict.replace("no", "undecided")
    assert of_a_part in ask({}, False)[1]
    # A doubt takes back the verdict that it is against, and no other one.
    doubts = {"yes": "it may be otherwise.", "no": "it may be otherwise."}
    assert ask(doubts, True)[0] == "undecided"
    if verdict != "undecided":
        assert ask({verdict: doubts["no"]}, True)[1].endswith("undecided: it may be otherwise.")
        assert ask({"no" if verdict == "yes" else "yes": "x"}, True)[0] == verdict


def test_as_many_examples_as_there_is_time_for():
    rows, costs = StructureRows("a", "b", "c", "d"), [_Cost(0.01, 2.0, 1.0), _Cost(0.02, 3.0, 1.5)]
    # 2 rows without trees and 2 with them, 3 seeds, 5 epochs, 2 validations.
    each, fixed = 3 * 5 * (2 * 0.01 + 2 * 0.02), 3 * (2 * (2 * 1.0 + 2.0) + 2 * (2 * 1.5 + 3.0))
    assert _all(costs, rows, 3, (5, 2), 7) == pytest.approx(fixed + 7 * each)
    assert _fits(costs, rows, 3, (5, 2), fixed + 7.5 * each) == 7


@pytest.mark.parametrize("trees", ["parser", "gold"])
@pytest.mark.parametrize("task", ["propbank-ewt", "ud-tags", "up"])
def test_random_trees_have_the_labels_of_the_trees_beside_them(task, trees):
    """Else the corpus' own would tell the words of random trees what the parser's do not know."""
    rows = module._rows(task, None, trees)
    of = [
        TrainConfig.of(row, task=task).dataset_options("train")["parser"] for row in (rows.trees, rows.random)
    ]
    assert of == (["bundled"] * 2 if trees == "parser" else ["gold"] * 2)


def test_errors(tmp_path):
    with pytest.raises(
        ValueError, match="'minutes' is too short: 60 examples take about [0-9]+ minutes \\(got 0.001\\)"
    ):
        ask(tmp_path, of_word, minutes=0.001)
    for name, wrong in (("minutes", math.inf), ("minutes", math.nan), ("seeds", 1), ("bound", -1.0)):
        with pytest.raises(ValueError, match=f"'{name}' must be "):
            ask(tmp_path, of_word, **{name: wrong})
    with pytest.raises(ValueError, match="'model' must be one of dt, bert-dt \\(got 'bilstm'\\)"):
        ask(tmp_path, of_word, model="bilstm")
    with pytest.raises(ValueError, match="'trees' must be 'parser': the corpus has no trees of its own"):
        needs_structure("csv", tmp_path / "other", trees="gold", console=QUIET)
    with pytest.raises(ValueError, match="no rows are known .* 'post-train'"):
        needs_structure("post-train", tmp_path / "other", console=QUIET)


def test_a_test_split_of_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="rows are compared on 10 examples at least \\('labels' has 1\\)"):
        ask(tmp_path, of_word, tested=1)
