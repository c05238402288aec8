"""``graphdep demo``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphdep.cli import options as o
from graphdep.cli.common import print_json
from graphdep.io.console import plain_console
from graphdep.io.files import check_replaced
from graphdep.io.limits import check_limit, plural

if TYPE_CHECKING:
    from graphdep.sentence import Sentence

PARSER = "bundled"
TEXTS = ("I'd like to reserve a hotel room.", "The dog that the cat watched was chased by the horse")
EXPLORED, VERBS = "the cook who called his riders found the poet .", ("called", "found")
AGREEMENT_MODELS = ("transformer", "dt-nolevel-nopos@chain", "dt-nolevel-nopos")
# All three learn the training structures, only the tree the others.
AGREEMENT_SETTINGS: dict[str, Any] = {
    "hidden_channels": 64,
    "ff_channels": 128,
    "num_layers": 2,
    "dropout": 0.0,
    "min_freq": 1,
    "max_epochs": 5,
}
MODELS = ("transformer", "dt@random", "dt")
PICTURES = ("tree.png", "edges_dra.png", "edges_dt.png", "attention.png", "explorer.html")
DIALOGUE = "transformer-dra"
# Takes three minutes on two cores, and is enough to learn who takes part; who did what to whom needs 10 to 20
# epochs.
SETTINGS: dict[str, Any] = {
    "hidden_channels": 64,
    "ff_channels": 64,
    "num_layers": 2,
    "heads": 4,
    "relation_dim": 16,
    "dropout": 0.0,
    "optimizer": "adam",
    "lr": 0.001,
    "max_epochs": 8,
    "patience": None,
}
DIALOGUE_SETTINGS: dict[str, Any] = {
    "hidden_channels": 64,
    "ff_channels": 128,
    "heads": 4,
    "num_layers": 2,
    "decoder_layers": 2,
    "dropout": 0.0,
    "lr": 0.003,
    "warmup_steps": 30,
    "min_freq": 1,
    "max_epochs": 6,
}


def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder for pictures and results.")] = Path(
        "runs/demo"
    ),
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Runs per model.")] = 2,
    max_epochs: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of epochs.")] = SETTINGS[
        "max_epochs"
    ],
    overwrite: o.Overwrite = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object to stdout and nothing else.")
    ] = False,
) -> None:
    """A tour in under three minutes on two cores, without downloads.

    Parses sentences with the bundled parser and draws a tree with its attention edges. Trains models of
    subject-verb agreement and tests them on structures that training lacks. Trains the Dependency-Transformer
    and its controls on sentence pairs whose label depends on who did what to whom, and draws the attention of
    the trained model. Trains a dialogue model and shows its responses. Prints the tables. All texts are
    self-written. Finished runs are not repeated.
    """
    check_limit("seeds", seeds)
    mine = PICTURES if any(output.glob("agreement/agreement_*")) else ()
    check_replaced(output, PICTURES, mine, overwrite=overwrite)
    import torch

    torch.set_num_threads(1)  # with small matrices, more threads mostly wait for one another
    console = plain_console(stderr=json)
    say = Steps(console)
    say("Parsing with the bundled parser")
    sentences = parse_texts(console)
    say("Drawing a tree and its attention edges")
    pictures = draw_trees(sentences[0], output)
    root = mini_root(output)
    say(f"Agreement, {plural(seeds, 'seed')}: {', '.join(AGREEMENT_MODELS)}")
    agreement = train_agreement(root, output, seeds, max_epochs)
    say(f"Sentence pairs, {plural(seeds, 'seed')}: {', '.join(MODELS)}")
    pairs = train_pairs(root, output, seeds, max_epochs)
    say("Drawing the attention of the trained model")
    pictures += draw_attention(pairs, sentences[1], output)
    say(f"Training {DIALOGUE} on dialogues, and talking to it")
    talk(root, output, max_epochs, console)
    say("The tables")
    agreement["files"] = show(agreement, output / "agreement", console, overwrite)
    pairs["files"] = show(pairs, output, console, overwrite)
    console.print(f"Pictures: {', '.join(map(str, pictures))}", soft_wrap=True)
    page = explore_model(agreement, output)
    if page is not None:
        console.print(f"Explore the trained model in a browser: {page.resolve()}", soft_wrap=True)
    for what, task in (("PropBank's roles", "propbank-ewt"), ("SICK", "sick-e")):
        command = f"{program()} ablate --task {task} --raw-from DIR"
        console.print(f"Next, with {what}: {command}", soft_wrap=True)
    if json:
        print_json(
            pairs
            | {
                "agreement": agreement,
                "pictures": [str(path) for path in pictures],
                "page": page and str(page),
            }
        )


class Steps:
    """Prints numbered headings."""

    def __init__(self, console: Console) -> None:
        self.console, self.number = console, 0

    def __call__(self, text: str) -> None:
        self.number += 1
        self.console.rule(f"{self.number}. {text}", align="left")


def mini_root(output: Path) -> Path:
    """``datasets/mini`` of a clone, else a copy generated below ``output``."""
    from graphdep.datasets.mini.mini import write_mini

    clone = Path("datasets/mini")
    if (clone / "raw" / "SICK_train.txt").is_file():
        return clone
    write_mini(output / "mini")
    return output / "mini"


def parse_texts(console: Console) -> list[Sentence]:
    """Parses the demo's texts and prints the trees."""
    from graphdep.parsing import resolve_parser

    parsed = [sentences[0] for sentences in resolve_parser(PARSER).parse(TEXTS)]
    for sentence in parsed:
        governors = ["ROOT", *sentence.form]
        rows = zip(sentence.form, sentence.deprel, sentence.head)
        arcs = [f"{form} <-{label}- {governors[head]}" for form, label, head in rows]
        console.print("   ".join(arcs))
    return parsed


def draw_trees(sentence: Sentence, output: Path) -> list[Path]:
    """Draws the tree with the edges of DRA, and the relation matrix of DT."""
    from graphdep.data import to_data
    from graphdep.transforms import resolve
    from graphdep.visualization import plot_edge_matrix, plot_tree
    from graphdep.vocab import RelationVocab

    data = to_data([sentence])
    labels = ["[ROOT]", *sentence.form]
    dra, dt = resolve("dra")(data), resolve("dt")(data)
    figures = {
        "tree.png": plot_tree(
            sentence, {"DRA": dra.edge_index}, title="A tree, and below it the edges of DRA"
        ),
        "edges_dra.png": plot_edge_matrix(dra, labels, title="DRA"),
        "edges_dt.png": plot_edge_matrix(
            dt, labels, relations=RelationVocab(), title="DT: relations of pairs"
        ),
    }
    return save(figures, output)


def train_agreement(root: Path, output: Path, seeds: int, max_epochs: int) -> dict[str, Any]:
    """Trains on sentences in which the last noun before a verb has the number of its subject, and tests on
    sentences in which it does not; returns the summary, with an explanation under ``seen``.
    """
    from graphdep.training.ablation import ablate

    settings = {**AGREEMENT_SETTINGS, "root": str(root / "agreement")}
    settings["max_epochs"] = min(max_epochs, settings["max_epochs"])
    folder = output / "agreement"
    summary = ablate(
        "agreement", AGREEMENT_MODELS, range(seeds), folder, settings=settings, command="graphdep demo"
    )
    rows = [row for row in summary["rows"] if row["n"]]
    scores = [f"{row['name']} {row['metrics']['val_accuracy']['mean']:.2f}" for row in rows]
    seen = (
        "Singular or plural? In training and validation, the last noun before a verb has the number of its "
        f"subject (validation accuracy: {', '.join(scores)}). In the test sentences it never has: a model is "
        "right only if it finds the subject, which the tree shows."
    )
    return summary | {"title": "datasets/mini/agreement, the number of verbs", "seen": seen}


def train_pairs(root: Path, output: Path, seeds: int, max_epochs: int) -> dict[str, Any]:
    """Trains on pairs of sentences; returns the summary, with an explanation under ``seen``."""
    from graphdep.training.ablation import ablate

    settings = {**SETTINGS, "max_epochs": max_epochs, "root": str(root)}
    summary = ablate("sick-e", MODELS, range(seeds), output, settings=settings, command="graphdep demo")
    seen = (
        "Who did what to whom? Each three pairs have the same words and different labels. In a few epochs dt "
        "learns who takes part, which suffices for two of the three; who does it to whom takes more "
        "(--max-epochs 18)."
    )
    # The paper's numbers are of another corpus.
    return summary | {"paper": None, "title": "datasets/mini, in the format of SICK-E", "seen": seen}


def show(summary: dict[str, Any], folder: Path, console: Console, overwrite: bool) -> dict[str, str]:
    """Writes the files of a table, and prints it with its explanations."""
    from graphdep.training.table import rich_table, write_report

    paths = write_report(summary, folder, overwrite=overwrite)
    console.print(rich_table(summary, console.width))
    lines = [f"- {row['label']}: {row['about']}" for row in summary["rows"]]
    failed = [(row["name"], *item) for row in summary["rows"] for item in row["failed"].items()]
    lines += [f"- FAILED {name} seed {seed}: {error}" for name, seed, error in failed]
    for line in [*lines, summary["seen"], f"More: {', '.join(paths.values())}", ""]:
        console.print(line, soft_wrap=True)
    return paths


def draw_attention(summary: dict[str, Any], sentence: Sentence, output: Path) -> list[Path]:
    """Draws attention heat maps of the first trained ``dt``."""
    from graphdep.data import to_data
    from graphdep.training import load_task
    from graphdep.visualization import attention_weights, plot_attention

    rows = {row["model"]: row for row in summary["rows"]}
    if not rows["dt"]["checkpoints"]:
        return []
    task, state = load_task(rows["dt"]["checkpoints"][0])
    # The model reads pairs: the sentence is paired with itself, and the first copy is drawn.
    pair = task.edges(to_data([sentence, sentence], vocab=state.vocab, relations=state.relations))
    pairs, alpha = attention_weights(task.model, pair)[-1]
    first = (pairs <= len(sentence)).all(dim=0)
    labels = ["[ROOT]", *sentence.form]
    title = "Attention of the trained Dependency-Transformer, last layer"
    figure = plot_attention(alpha[first], labels, edge_index=pairs[:, first], title=title)
    return save({"attention.png": figure}, output)


def explore_model(summary: dict[str, Any], output: Path) -> Path | None:
    """Makes a page that compares the last model of the table, which reads trees, with the first one."""
    from graphdep.visualization.attention import explore

    rows = [row["checkpoints"] for row in summary["rows"]]
    if not rows[0] or not rows[-1]:
        return None
    title = "Is the subject of a verb singular or plural? A model with the tree, and one without"
    options: dict[str, Any] = {"edges": ["dra"], "asked": VERBS, "parser": PARSER, "title": title}
    options["names"] = ("with the tree", "without")
    page = explore(rows[-1][0], EXPLORED, against=rows[0][0], **options)
    return page.save(output / "explorer.html", overwrite=True)  # which was checked before the work


def talk(root: Path, output: Path, max_epochs: int, console: Console) -> None:
    """Trains a dialogue model, and prints its responses to some dialogues of the test split."""
    from graphdep.tasks.dialogues.model import read_responses
    from graphdep.tasks.dialogues.settings import responses_name
    from graphdep.training import TrainConfig, load_splits, run_folder, train

    settings = DIALOGUE_SETTINGS | {"max_epochs": min(max_epochs, DIALOGUE_SETTINGS["max_epochs"])}
    config = TrainConfig.of(DIALOGUE, task="dailydialog", root=str(root), **settings)
    splits = load_splits(config)
    folder = run_folder(config, splits, output)
    result = train(config, folder, splits=splits, resume=True, console=console)
    score, floor = (result[kind]["test_perplexity"] for kind in ("metrics", "floor"))
    console.print(f"Perplexity on the test split {score:.2f}; of a unigram model {floor:.2f}")
    for line in read_responses(folder / responses_name("test"))[2:5]:
        for turn in line["context"]:
            console.print(f"- {turn}", soft_wrap=True)
        answer = f"  -> {line['response']}   (reference: {line['reference']})"
        console.print(answer, soft_wrap=True)


def save(figures: dict[str, Any], output: Path) -> list[Path]:
    """Writes pictures atomically."""
    from graphdep.io import atomic_path

    for name, figure in figures.items():
        with atomic_path(output / name) as temporary:
            figure.savefig(temporary, dpi=130)
    return [output / name for name in figures]


def program() -> str:
    """The shell command for this program: ``graphdep`` if it is on the path, else as it was started."""
    if shutil.which("graphdep"):
        return "graphdep"
    return sys.argv[0] if Path(sys.argv[0]).name == "graphdep" else f"{sys.executable} -m graphdep"
