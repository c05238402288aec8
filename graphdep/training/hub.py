"""Folders of models for the hub: cards, licences, loading."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Self

import yaml
from huggingface_hub import ModelHubMixin

from graphdep.io.files import BEST, MODEL_CONFIG, MODEL_WEIGHTS, atomic_path, check_replaced
from graphdep.training.checkpoint import CARD, MODEL_FORMAT, PARTS, RunState, exported_files, read_task
from graphdep.training.config import RUN_FILE, TrainConfig, resolve_model, run_text
from graphdep.training.family import TaskFamily
from graphdep.training.learning_task import LearningTask
from graphdep.training.task import Task, family_of
from graphdep.version import __version__

_NONE = "none is stated"
LICENCES: Mapping[str, str] = {
    "agreement": _NONE,
    "cogs": "MIT",
    "sick": "CC BY-NC-SA 3.0",
    "sst": _NONE,
    "mrpc": "non-commercial",
    "glue": "that of each corpus of GLUE",
    "dailydialog": "CC BY-NC-SA 4.0",
    "empatheticdialogues": "CC BY-NC 4.0",
    "ubuntu": _NONE,
    "ubuntu-irc": "CC BY 4.0",
    "douban": _NONE,
    "ecommerce": _NONE,
    "conll04": _NONE,
    "semeval2014-aspects": "on request",
    "semeval2010": "CC BY 3.0",
    "propbank-ewt": "CC BY-SA 4.0",
    "universal-propbank": "that of each language",
    "ud": "that of each treebank",
}
"""By the folder of a corpus. It is that of the corpus, as its card says."""


def licence_of(root: str) -> str | None:
    """The licence of the corpus that a task has in that folder; :obj:`None` where it is not known here, such
    as that of files of one's own.

    Example:
        >>> licence_of("datasets/sick")
        'CC BY-NC-SA 3.0'
    """
    return LICENCES.get(PurePosixPath(root).name)


_HEAD = """---
library_name: graphdep
{known}tags:
- graphdep
- dependency-parsing
- pytorch-geometric
- {task}
---

# {model} on {task}

An encoder whose attention follows the syntax of its input (`{model}`: {summary}), trained by
[graphdep](https://github.com/graphdep/graphdep) on the task `{task}`. {gives}

## Use

```python
import graphdep

model = graphdep.load("FOLDER"{parser})  # this folder, or its name on the hub
{predict}```

`graphdep predict`, `evaluate` and the other commands take the folder as `--checkpoint FOLDER`. Nothing in
it is code.
"""


def model_card(config: TrainConfig, state: RunState, result: Mapping[str, Any] | None = None) -> str:
    """The card, in Markdown.

    Args:
        config: The settings, without paths of the machine.
        state: What the model was trained with.
        result: What ``graphdep train`` reports of the run; without it the card has no scores.
            (default: :obj:`None`)
    """
    summary = resolve_model(config.model, config.models).summary
    family = config.task_family
    parts = [
        _HEAD.format(
            model=config.model,
            task=config.task,
            summary=summary,
            gives=_gives(family, config.task),
            known=yaml.safe_dump(_known(config, state), sort_keys=False),
            parser="" if config.parser == "bundled" else f", parser={config.parser!r}",
            predict=_predicts(config),
        ),
        _data(config, state),
        _scores(config, result),
        "## Again\n\n```sh\ngraphdep train --config run.yaml\n```\n\n`run.yaml` has all settings; files and "
        "folders in it are names alone.\n",
        _licence(family.tasks[config.task]),
    ]
    return "\n".join(parts)


# What a hub calls tasks of a family, and how one is asked.
_ASKED = {
    "SequenceClassifier": ("text-classification", "model.predict({texts})"),
    "SentenceEncoder": ("sentence-similarity", 'model.encode(["A fine film."])'),
    "WordLabeller": ("token-classification", 'model.predict([["Ann", "sees", "Bob"]]{mark})'),
    "SpanClassifier": ("text-classification", 'model.predict(["{spans}"])'),
    "Responder": ("text-generation", 'model.respond([["Hi."]])'),
    "ResponseSelector": ("text-ranking", 'model.rank(["Hi."], ["Hello.", "It rains."])'),
}
_PAIR = '[("A dog barks.", "A dog is loud.")]'
_SPANS = ("The <e1>fire</e1> was a surprise.", "The <e1>fire</e1> met a <e2>war</e2>.")


def _asked(task: str) -> tuple[str, str]:
    known = family_of(task).task_class.predictor(task) or ""
    return _ASKED.get(known.rpartition(".")[2], ("", ""))


def _predicts(config: TrainConfig) -> str:
    """The line that asks a model, with an example of its kind."""
    spec: Any = family_of(config.task).tasks[config.task]
    line = _asked(config.task)[1].format(
        texts=_PAIR if getattr(config, "num_texts", 1) == 2 else '["A fine film."]',
        mark=", [1]" if getattr(spec, "marked", False) else "",
        spans=_SPANS[getattr(spec, "num_spans", 2) - 1],
    )
    return line and f"print({line})\n"


def _known(config: TrainConfig, state: RunState) -> dict[str, str]:
    """What the hub reads of a card: the encoder it is made from, language, licence and kind of task."""
    licence = licence_of(config.task_family.tasks[config.task].root) or ""
    identifier = licence.lower().replace(" ", "-") if re.match("MIT|CC BY", licence) else None
    base = hub_name(state.config.encoder) if getattr(state.config, "pretrained", False) else None
    known = {
        "base_model": base,
        "language": _language(config.parser),
        "license": identifier,
        "pipeline_tag": _asked(config.task)[0],
    }
    return {key: value for key, value in known.items() if value}


def _language(parser: str) -> str | None:
    """The code of a parser's language, if its name has one; ``bundled:`` names a folder, which has none."""
    kind, _, own = parser.partition(":")
    language = own.partition("_")[0] or "en"
    known = kind in ("stanza", "spacy", "corenlp") or parser == "bundled"
    return language if known and re.fullmatch("[a-z]{2}", language) else None


def hub_name(encoder: str) -> str | None:
    """The name on the hub of an encoder, by a name or a folder: of the hub's cache, or one whose
    ``config.json`` says where it is from; :obj:`None` where nothing says so.

    Example:
        >>> from graphdep.training.hub import hub_name
        >>> hub_name("/cache/hub/models--acme--tiny/snapshots/0a1b"), hub_name("my/own/model")
        ('acme/tiny', None)
    """
    cached = re.search(r"models--([\w.-]+?)(?:--([\w.-]+?))?[/\\]snapshots[/\\]", encoder)
    if cached is not None:
        return "/".join(filter(None, cached.groups()))
    if os.path.exists(encoder):
        try:
            settings = json.loads(Path(encoder, "config.json").read_text(encoding="utf-8"))
            encoder = str(settings.get("_name_or_path", ""))
        except (OSError, ValueError, AttributeError):
            return None
    # What an export has written of a folder is a word, such as "model".
    return encoder if not os.path.exists(encoder) and _HUB_NAME.fullmatch(encoder) else None


def _gives(family: TaskFamily, task: str) -> str:
    known = family.task_class.predictor(task)
    if known is None:
        return f"It gives {family.gives}."
    return f"`graphdep.load` makes a `graphdep.{known.rpartition('.')[2]}` of it."


def _licence(task: Task) -> str:
    known = licence_of(task.root)
    corpus = f"The corpus, {task.title}: {known}." if known else "The corpus: its licence is not known here."
    return (
        f"## Licence\n\n{corpus} The model has none of its own: those of the corpus, and of the word vectors "
        "or encoder it started from, bind whoever passes it on.\n"
    )


def _data(config: TrainConfig, state: RunState) -> str:
    rows: dict[str, object] = {"parser": config.parser, "edges": config.edges}
    if getattr(config, "pretrained", False):
        rows["encoder"] = config.encoder
    else:
        rows["words"] = f"{len(state.vocab):,}"
    for name, value in state.data.items():
        if isinstance(value, (str, int, float)):
            rows[f"data: {name}"] = value
        elif isinstance(value, dict):
            shown = ", ".join(
                f"{key} {own}" for key, own in value.items() if not isinstance(own, (dict, list))
            )
            if shown:
                rows[f"data: {name}"] = shown
    if state.labels is not None:
        names = [str(label) for label in state.labels]
        rows["classes"] = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return "## Trained on\n\n" + _table(
        ("what", "which"), [(name, str(value)) for name, value in rows.items()]
    )


def _scores(config: TrainConfig, result: Mapping[str, Any] | None) -> str:
    if result is None or not result.get("metrics"):
        return "## Scores\n\nNone are known here.\n"
    floors = {"no skill": {}, **config.task_family.split_floors(result.get("floor") or {})}
    if frozen := result.get("floor_frozen"):
        floors["not trained"] = frozen
    lines = [
        (name, _number(value), *(_number(floor.get(name)) for floor in floors.values()))
        for name, value in result["metrics"].items()
    ]
    header = ("score", "value", *floors)
    about = "One run, one seed: no difference to another model is shown by it (`graphdep compare`).\n\n"
    return "## Scores\n\n" + about + _table(header, lines)


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, (int, float)) else ""


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    cells = (" | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in line) for line in lines)
    return "".join(f"| {line} |\n" for line in cells)


_NAMES = (MODEL_WEIGHTS, *PARTS.values(), RUN_FILE, CARD, MODEL_CONFIG)


def write_model_folder(
    folder: str | os.PathLike[str],
    task: LearningTask,
    state: RunState,
    result: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
) -> list[str]:
    """Writes ``config.json``, which has the SHA-256 of all other files, a model card ``README.md``,
    ``run.yaml``, ``vocab.json``, ``relations.json``, of a pretrained encoder ``encoder.json``, and last
    ``model.safetensors``: a folder that was written in part is refused.

    Paths in the settings lose their folders, which nobody else has. Files of an earlier export are replaced
    where nobody has changed them since.

    Args:
        folder: The folder.
        task: The trained task.
        state: What it was trained with.
        result: What ``graphdep train`` reports of the run, for the card. (default: :obj:`None`)
        overwrite: Replace other files of these names, too. (default: :obj:`False`)

    Returns:
        The names of the files.

    Raises:
        ValueError: If a file of one of these names was not written by an earlier export, or was changed since
            then, and :obj:`overwrite` is not set; or if the folder is that of a run.
    """
    from safetensors.torch import save

    target = Path(folder)
    _check_replaceable(target, overwrite)
    config = without_folders(state.config)
    own = {**state.state_dict(), "config": config.to_dict()}
    beside = {CARD: model_card(config, state, result).encode(), RUN_FILE: run_text(config).encode()}
    parts = {name: own.pop(part) for part, name in PARTS.items() if own[part] is not None}
    files = {name: _json(part) for name, part in parts.items()}
    # Tensors that share memory would be refused; each is written on its own. Not by safetensors, which writes
    # to a temporary file of its own name: a kill would leave it for good.
    files[MODEL_WEIGHTS] = save({name: x.detach().cpu().clone() for name, x in task.state_dict().items()})
    said: dict[str, Any] = {
        "library_name": "graphdep",
        "graphdep_version": __version__,
        "format": MODEL_FORMAT,
    }
    for key, written in (("files", files), ("beside", beside)):
        said[key] = {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    target.mkdir(parents=True, exist_ok=True)
    # At no moment is there a file that config.json does not have as it is: a kill leaves a folder that is no
    # model, and can be exported to again.
    for name in _NAMES:
        (target / name).unlink(missing_ok=True)
    contents = {MODEL_CONFIG: _json({**said, "run": own}), **beside, **files}
    for name, content in contents.items():
        with atomic_path(target / name) as temporary:
            temporary.write_bytes(content)
    return [*contents]


def _check_replaceable(target: Path, overwrite: bool) -> None:
    if (target / BEST).exists():
        raise ValueError(f"{target} is the folder of a run, whose {BEST} is its model: choose another folder")
    check_replaced(target, _NAMES, exported_files(target), overwrite=overwrite)


def without_folders(config: TrainConfig) -> TrainConfig:
    """The settings with the names of files and folders alone: whoever gets them has others."""
    usual = TrainConfig.of_task(config.task)
    names = [*config.with_mark("place"), *(["encoder"] if hasattr(config, "encoder") else [])]
    given = {
        name: getattr(config, name) for name in names if getattr(config, name) != getattr(usual, name, None)
    }
    own = {name: _last_part(name, value) for name, value in given.items() if isinstance(value, str)}
    return config.replace(**own, parser=_PARSER_FILE.sub(r"\1\2", config.parser))


# NAME:FOLDER/FILE, and no address.
_PARSER_FILE = re.compile(r"^([\w-]+:)(?!.*//).*[/\\]([^/\\]*)$")
_HUB_NAME = re.compile(r"(\w[\w.-]*/)?\w[\w.]*-[\w.-]*|\w[\w.-]*/\w[\w.-]*")


def _last_part(name: str, value: str) -> str:
    return (name == "encoder" and hub_name(value)) or Path(value).name


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


_KEPT = ("edges", "parser", "device", "batch_size")


class HubModel(ModelHubMixin):
    """What predictors of trained models have of the hub: :meth:`save_pretrained`, :meth:`from_pretrained` and
    :meth:`push_to_hub` of `huggingface_hub.ModelHubMixin
    <https://huggingface.co/docs/huggingface_hub/package_reference/mixins>`_.

    The folder is that of :func:`~graphdep.training.hub.write_model_folder`: no pickle,
    no code. Its files alone are uploaded. Nothing is fetched where a name is a folder that is there.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return object.__new__(cls)  # the mixin's own would keep the arguments, as what to write to a config

    checkpoint: Any
    """The checkpoint that it was made from."""
    _own: tuple[LearningTask, RunState]

    def _trained(self) -> tuple[LearningTask, RunState]:
        """The trained task and what it was trained with."""
        return self._own

    @classmethod
    def _of_folder(cls, folder: str, **options: Any) -> Self:
        """A predictor from a folder, with options as in the class."""
        return cls(folder, **options)

    def _result(self) -> Mapping[str, Any] | None:
        """What is known of its scores."""
        return run_result(self.checkpoint)

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        overwrite: bool = False,
        push_to_hub: bool = False,
        repo_id: str | None = None,
        config: Any = None,
        model_card_kwargs: Any = None,
        **options: Any,
    ) -> str | None:
        """Writes the model to a folder, for others.

        Args:
            save_directory: The folder.
            overwrite: Replace files of the same names that no earlier export has written, or that were
                changed since. (default: :obj:`False`)
            push_to_hub: Upload it, too. (default: :obj:`False`)
            repo_id: Its name on the hub. (default: that of the folder)
            config, model_card_kwargs: Of the mixin; the folder has a configuration and a card of its own.
            **options: Of :meth:`push_to_hub`.

        Returns:
            The address on the hub, with :obj:`push_to_hub`.

        Raises:
            ValueError: If a file would be replaced that is not as an earlier export wrote it, or the folder
                is that of a run.
        """
        if options and not push_to_hub:
            raise TypeError(f"{next(iter(options))!r} is for push_to_hub=True")
        write_model_folder(save_directory, *self._trained(), self._result(), overwrite=overwrite)
        return self.push_to_hub(repo_id or Path(save_directory).name, **options) if push_to_hub else None

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None,
        cache_dir: str | Path | None,
        force_download: bool,
        local_files_only: bool,
        token: str | bool | None,
        **model_kwargs: Any,
    ) -> Self:
        options = {name: model_kwargs[name] for name in _KEPT if name in model_kwargs}
        where = {"revision": revision, "cache_dir": cache_dir, "token": token}
        where |= {"force_download": force_download, "local_files_only": local_files_only}
        folder = fetch_model(model_id, **where)
        # The mixin adds what stands in config.json, which is not for the class.
        unknown = sorted({*model_kwargs} - {*_KEPT, "config"} - _names_in(Path(folder) / "config.json"))
        if unknown:
            raise TypeError(f"{cls.__name__}.from_pretrained takes no {unknown[0]!r}: {', '.join(_KEPT)}")
        return cls._of_folder(folder, **options)


def _names_in(path: Path) -> set[str]:
    try:
        return {*json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError):  # whoever reads the model says what is wrong with it
        return set()


def run_result(checkpoint: str | os.PathLike[str]) -> Mapping[str, Any] | None:
    """What ``graphdep train`` reported of the run that a checkpoint is in; :obj:`None` where nothing is."""
    place = Path(checkpoint)
    path = (place if place.is_dir() else place.parent) / "result.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def fetch_model(name: str | os.PathLike[str], **where: Any) -> str:
    """The file or folder of that name, or a copy of the hub's model of that name.

    Raises:
        FileNotFoundError: If there is no such file, and the name cannot be one of the hub.
    """
    from huggingface_hub import snapshot_download

    from graphdep.io.files import MODEL_CONFIG, MODEL_WEIGHTS
    from graphdep.training.checkpoint import CARD, PARTS
    from graphdep.training.config import RUN_FILE

    text = os.fspath(name)
    if os.path.exists(text):
        return text
    if text.count("/") != 1 or text.startswith((".", "/", "~")) or Path(text).suffix == ".ckpt":
        raise FileNotFoundError(f"no checkpoint or folder at {text}, nor is it OWNER/NAME of the hub")
    files = [MODEL_CONFIG, MODEL_WEIGHTS, CARD, RUN_FILE, *PARTS.values()]
    return snapshot_download(text, allow_patterns=files, **where)


def load(name: str | os.PathLike[str], **options: Any) -> HubModel:
    """A trained model that answers: a :class:`~graphdep.SequenceClassifier`,
    :class:`~graphdep.WordLabeller`, :class:`~graphdep.SpanClassifier`, :class:`~graphdep.Responder` or
    :class:`~graphdep.ResponseSelector`, as its task is; of a regression the
    :class:`~graphdep.SentenceEncoder`. No code in it is run.

    Args:
        name: A folder of ``save_pretrained``, a run's folder or checkpoint, or ``OWNER/NAME`` of the Hugging
            Face hub, from which nothing is fetched where there is a folder of that name.
        **options: Of the class: :obj:`edges`, :obj:`parser`, :obj:`device`, :obj:`batch_size`.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is damaged, not graphdep's or of another version, its task has no such class, or an
            option has to be given.

    Example:
        >>> import graphdep
        >>> model = graphdep.load("best.ckpt")
        >>> _ = model.save_pretrained("opinions")
        >>> graphdep.load("opinions").predict(["A fine film."]).shape
        (1,)
    """
    place = fetch_model(name)
    task = read_task(place)
    known = family_of(task).task_class.predictor(task)
    if known is None:
        used = family_of(task).used_by
        raise ValueError(f"{place}: trained on the task {task!r}, which no class answers for: see {used}")
    module, _, called = known.rpartition(".")
    predictor: type[HubModel] = getattr(importlib.import_module(module), called)
    return predictor._of_folder(place, **options)
