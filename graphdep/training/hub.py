"""Model folders for the Hugging Face hub: cards, licences, loading."""

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

from graphdep.io.files import (
    BEST,
    MODEL_CONFIG,
    MODEL_WEIGHTS,
    atomic_path,
    check_folder,
    check_replaced,
    find_checkpoint,
    home_path,
)
from graphdep.training.checkpoint import (
    CARD,
    MODEL_FORMAT,
    PARTS,
    RunState,
    exported_files,
    read_task,
    values_digest,
)
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
"""Licences of the corpora, by folder."""


def licence_of(root: str) -> str | None:
    """The licence of the corpus in a folder; :obj:`None` if it is unknown, such as that of the user's files.

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

`graphdep predict`, `evaluate` and other commands take the folder as `--checkpoint FOLDER`. It has no code.
"""


def model_card(config: TrainConfig, state: RunState, result: Mapping[str, Any] | None = None) -> str:
    """The model card in Markdown.

    Args:
        config: The settings, without folders of this machine.
        state: The state of the checkpoint.
        result: The result of the run (``result.json``); without it the card has no scores. (default:
            :obj:`None`)
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
        "## Reproduce\n\n```sh\ngraphdep train --config run.yaml\n```\n\n`run.yaml` has all settings; paths "
        "are reduced to names.\n",
        _licence(family.tasks[config.task]),
    ]
    return "\n".join(parts)


# The hub's name of the task of each class, and an example call.
_USES = {
    "SequenceClassifier": ("text-classification", "model.predict({texts})"),
    "SentenceEncoder": ("sentence-similarity", 'model.encode(["A fine film."])'),
    "WordLabeller": ("token-classification", 'model.predict([["Ann", "sees", "Bob"]]{mark})'),
    "SpanClassifier": ("text-classification", 'model.predict(["{spans}"])'),
    "Responder": ("text-generation", 'model.respond([["Hi."]])'),
    "ResponseSelector": ("text-ranking", 'model.rank(["Hi."], ["Hello.", "It rains."])'),
}
_PAIR = '[("A dog barks.", "A dog is loud.")]'
_SPANS = ("The <e1>fire</e1> was a surprise.", "The <e1>fire</e1> met a <e2>war</e2>.")


def _use(task: str) -> tuple[str, str]:
    known = family_of(task).task_class.predictor(task) or ""
    return _USES.get(known.rpartition(".")[2], ("", ""))


def _predicts(config: TrainConfig) -> str:
    """A line of code that calls the model on an example."""
    spec: Any = family_of(config.task).tasks[config.task]
    line = _use(config.task)[1].format(
        texts=_PAIR if getattr(config, "num_texts", 1) == 2 else '["A fine film."]',
        mark=", [1]" if getattr(spec, "marked", False) else "",
        spans=_SPANS[getattr(spec, "num_spans", 2) - 1],
    )
    return line and f"print({line})\n"


def _known(config: TrainConfig, state: RunState) -> dict[str, str]:
    """The card's metadata for the hub: pretrained encoder, language, licence and kind of task."""
    licence = licence_of(config.task_family.tasks[config.task].root) or ""
    identifier = licence.lower().replace(" ", "-") if re.match("MIT|CC BY", licence) else None
    base = hub_name(state.config.encoder) if getattr(state.config, "pretrained", False) else None
    known = {
        "base_model": base,
        "language": _language(config.parser),
        "license": identifier,
        "pipeline_tag": _use(config.task)[0],
    }
    return {key: value for key, value in known.items() if value}


def _language(parser: str) -> str | None:
    """The language code in a parser's name, if any; ``bundled:`` names a folder, which has none."""
    kind, _, own = parser.partition(":")
    language = own.partition("_")[0] or "en"
    known = kind in ("stanza", "spacy", "corenlp") or parser == "bundled"
    return language if known and re.fullmatch("[a-z]{2}", language) else None


def hub_name(encoder: str) -> str | None:
    """The name on the hub of an encoder, given its name or folder: from the path in the hub's cache, or from
    ``config.json``; :obj:`None` if unknown.

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
    # Exports reduce a folder to its last part, such as "model".
    return encoder if not os.path.exists(encoder) and _HUB_NAME.fullmatch(encoder) else None


def _gives(family: TaskFamily, task: str) -> str:
    known = family.task_class.predictor(task)
    if known is None:
        return f"It gives {family.gives}."
    return f"`graphdep.load` makes a `graphdep.{known.rpartition('.')[2]}` of it."


def _licence(task: Task) -> str:
    known = licence_of(task.root)
    corpus = f"The corpus, {task.title}: {known}." if known else "The licence of the corpus is unknown."
    return (
        f"## Licence\n\n{corpus} The model has no licence of its own: those of the corpus and of the initial "
        "word vectors or encoder apply.\n"
    )


def _data(config: TrainConfig, state: RunState) -> str:
    rows: dict[str, object] = {"parser": config.parser, "edges": config.edges}
    if getattr(config, "pretrained", False):
        rows["encoder"] = config.encoder
    for name, value in state.data.items():
        if isinstance(value, dict):
            value = ", ".join(
                f"{key} {own:.3g}" if isinstance(own, float) else f"{key} {own}"
                for key, own in value.items()
                if not isinstance(own, (dict, list))
            )
        if name != "digest" and value != "" and isinstance(value, (str, int, float)):
            rows[f"data: {name}"] = value
    if state.labels is not None:
        names = [str(label) for label in state.labels]
        rows["classes"] = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    if (outside := getattr(config, "outside_label", None)) is not None:
        rows["negative label"] = f"{outside}, which F1 leaves out"
    return "## Trained on\n\n" + _table(
        ("property", "value"), [(name, str(value)) for name, value in rows.items()]
    )


def _scores(config: TrainConfig, result: Mapping[str, Any] | None) -> str:
    if result is None or not result.get("metrics"):
        return "## Scores\n\nUnknown.\n"
    floors = {"no skill": {}, **config.task_family.split_floors(result.get("floor") or {})}
    if frozen := result.get("floor_frozen"):
        floors["frozen encoder"] = frozen
    lines = [
        (name, _number(value), *(_number(floor.get(name)) for floor in floors.values()))
        for name, value in result["metrics"].items()
    ]
    header = ("score", "value", *floors)
    about = "One run with one seed, which cannot show a difference to another model (`graphdep compare`).\n\n"
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
    """Writes ``config.json`` with the SHA-256 of all other files, the model card ``README.md``, ``run.yaml``,
    ``vocab.json``, ``relations.json``, ``encoder.json`` of a pretrained encoder, and last
    ``model.safetensors``. Incomplete folders are refused by :func:`~graphdep.load`.

    Paths in the settings are reduced to names. Unchanged files of an earlier export of this
    model, with the same settings and data, are replaced.

    Args:
        folder: The folder.
        task: The trained task.
        state: Its state.
        result: The result of the run, for the card. (default: :obj:`None`)
        overwrite: Also replace other files of these names. (default: :obj:`False`)

    Returns:
        The names of the files.

    Raises:
        ValueError: If a file of one of these names is not from an earlier export of this model, or was
            changed since then, and :obj:`overwrite` is not set; or if the folder is that of a run.
    """
    from safetensors.torch import save

    target = Path(folder)
    check_folder("folder", target)
    config = without_folders(state.config)
    if (target / BEST).exists():
        raise ValueError(f"{target} is the folder of a run with {BEST}: choose another folder")
    settings, data = json.loads(_json(config.to_dict())), state.data.get("digest")
    unchanged, about = exported_files(target, settings, data), ", not from an export of this model,"
    check_replaced(target, _NAMES, unchanged, overwrite=overwrite, about=about)
    own = {**state.state_dict(), "config": config.to_dict()}
    beside = {CARD: model_card(config, state, result).encode(), RUN_FILE: run_text(config).encode()}
    parts = {name: own.pop(part) for part, name in PARTS.items() if own[part] is not None}
    files = {name: _json(part) for name, part in parts.items()}
    # Cloned, since safetensors refuses tensors that share memory. Written here, since a kill of safetensors'
    # own writer would leave a temporary file for good.
    files[MODEL_WEIGHTS] = save({name: x.detach().cpu().clone() for name, x in task.state_dict().items()})
    description: dict[str, Any] = {
        "library_name": "graphdep",
        "graphdep_version": __version__,
        "format": MODEL_FORMAT,
    }
    for key, written in (("files", files), ("beside", beside)):
        description[key] = {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    description["run"] = own
    description["digest"] = values_digest(description)
    target.mkdir(parents=True, exist_ok=True)
    # No file ever differs from its digest in config.json: after a kill the folder is no model, and the export
    # can be repeated.
    for name in _NAMES:
        (target / name).unlink(missing_ok=True)
    contents = {MODEL_CONFIG: _json(description), **beside, **files}
    for name, content in contents.items():
        with atomic_path(target / name) as temporary:
            temporary.write_bytes(content)
    return [*contents]


def without_folders(config: TrainConfig) -> TrainConfig:
    """The settings with paths reduced to names, since other machines have other folders."""
    usual = TrainConfig.of_task(config.task)
    names = [name for name in (*config.with_mark("place"), "encoder", "vectors") if hasattr(config, name)]
    given = {
        name: getattr(config, name) for name in names if getattr(config, name) != getattr(usual, name, None)
    }
    own = {name: _last_part(name, value) for name, value in given.items() if isinstance(value, str)}
    return config.replace(**own, parser=_PARSER_FILE.sub(r"\1\2", config.parser))


# NAME:FOLDER/FILE, but not NAME:ADDRESS.
_PARSER_FILE = re.compile(r"^([\w-]+:)(?!.*//).*[/\\]([^/\\]*)$")
_HUB_NAME = re.compile(r"(\w[\w.-]*/)?\w[\w.]*-[\w.-]*|\w[\w.-]*/\w[\w.-]*")


def _last_part(name: str, value: str) -> str:
    return (name == "encoder" and hub_name(value)) or Path(value).name


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


_KEPT = ("edges", "parser", "device", "batch_size")


class HubModel(ModelHubMixin):
    """Gives trained models :meth:`save_pretrained`, :meth:`from_pretrained` and :meth:`push_to_hub` of
    `huggingface_hub.ModelHubMixin
    <https://huggingface.co/docs/huggingface_hub/package_reference/mixins>`_.

    A folder has the files of :func:`~graphdep.training.hub.write_model_folder`, without pickle and code. Only
    these are uploaded. Nothing is downloaded if a name is an existing folder.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return object.__new__(cls)  # the mixin's would keep the arguments for a config file

    checkpoint: Any
    """The checkpoint that it was loaded from."""
    _own: tuple[LearningTask, RunState]

    def _trained(self) -> tuple[LearningTask, RunState]:
        """The trained task and its state."""
        return self._own

    @classmethod
    def _of_folder(cls, folder: str, **options: Any) -> Self:
        """A predictor from a folder; for options see the class."""
        return cls(folder, **options)

    def _result(self) -> Mapping[str, Any] | None:
        """The result of the run, if known."""
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
        """Writes the model to a folder, to share it.

        Args:
            save_directory: The folder.
            overwrite: Also replace files of the same names that are not from an earlier export of
                this model, or were changed since. (default: :obj:`False`)
            push_to_hub: Upload the folder. (default: :obj:`False`)
            repo_id: Name on the hub. (default: that of the folder)
            config, model_card_kwargs: Not used; arguments of the mixin.
            **options: See :meth:`push_to_hub`.

        Returns:
            The address on the hub, with :obj:`push_to_hub`.

        Raises:
            ValueError: If a file that is not from an earlier export of this model would be replaced, or the
                folder is that of a run.
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
        # The mixin adds the keys of config.json, which are not arguments of the class.
        unknown = sorted({*model_kwargs} - {*_KEPT, "config"} - _names_in(Path(folder) / "config.json"))
        if unknown:
            raise TypeError(f"{cls.__name__}.from_pretrained takes no {unknown[0]!r}: {', '.join(_KEPT)}")
        return cls._of_folder(folder, **options)


def _names_in(path: Path) -> set[str]:
    try:
        return {*json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError):  # reported when the model is read
        return set()


def run_result(checkpoint: str | os.PathLike[str]) -> Mapping[str, Any] | None:
    """The result of the run that a checkpoint belongs to; :obj:`None` if there is none."""
    place = Path(checkpoint)
    path = (place if place.is_dir() else place.parent) / "result.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def fetch_model(name: str | os.PathLike[str], **where: Any) -> str:
    """The path of a local file or folder, or of a downloaded copy of a model on the hub.

    Raises:
        FileNotFoundError: If there is no such file, nor such a model on the hub. A name with one ``/`` is a
            model on the hub unless its first part is a local folder.
    """
    from huggingface_hub import snapshot_download

    text = os.fspath(name)
    if os.path.exists(home_path(text)):
        return str(home_path(text))
    owner, slash, own = text.partition("/")
    on_hub = slash and "/" not in own and not text.startswith((".", "/", "~")) and not own.endswith(".ckpt")
    if not on_hub or os.path.isdir(owner):
        return str(find_checkpoint(text))  # says that there is none, and near names
    files = [MODEL_CONFIG, MODEL_WEIGHTS, CARD, RUN_FILE, *PARTS.values()]
    try:
        return snapshot_download(text, allow_patterns=files, **where)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise FileNotFoundError(f"no folder {text}, and no model of this name from the hub: {why}") from error


def load(name: str | os.PathLike[str], **options: Any) -> HubModel:
    """Loads a trained model: a :class:`~graphdep.SequenceClassifier`, :class:`~graphdep.WordLabeller`,
    :class:`~graphdep.SpanClassifier`, :class:`~graphdep.Responder` or :class:`~graphdep.ResponseSelector`,
    depending on its task; for regression a :class:`~graphdep.SentenceEncoder`. No code in the model is run.

    Args:
        name: A folder by ``save_pretrained``, the folder or a checkpoint of a run, or ``OWNER/NAME`` on the
            Hugging Face hub, if there is no such folder.
        **options: Of the class: :obj:`edges`, :obj:`parser`, :obj:`device`, :obj:`batch_size`.

    Raises:
        FileNotFoundError: If there is no such model.
        ValueError: If it is damaged, not graphdep's or of another version, its task has no such class, or an
            option must be given.

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
        raise ValueError(f"{place}: trained on the task {task!r}, for which there is no class: see {used}")
    module, _, called = known.rpartition(".")
    predictor: type[HubModel] = getattr(importlib.import_module(module), called)
    return predictor._of_folder(place, **options)
