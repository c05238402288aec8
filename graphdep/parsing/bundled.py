"""The English parser of this package."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphdep.io.extras import check_extra
from graphdep.io.files import home_path
from graphdep.parsing.parser import Parsed, Parser, ParserUnavailableError, Words
from graphdep.parsing.stanza import StanzaEngine, check_checksums, files_digest

if TYPE_CHECKING:
    from graphdep.parsing.constituency import SpanParser


# What stanza loads by a name in a file's settings: from the Hugging Face hub, where it may bring code of its
# own, or from a path.
_NAMING = (
    *("bert_model", "use_peft", "charlm_forward_file", "charlm_backward_file"),
    *("wordvec_file", "wordvec_pretrain_file"),
)
_PICKLED = 2  # the version of a lemmatizer's dictionary that stanza below 1.15 unpickles


def check_model_file(path: Path) -> None:
    """Reads a model file as stanza does, without running what is in it."""
    why = _why_refused(path)
    if why is not None:
        raise ParserUnavailableError(f"the models in {path.parent} do not load: {path.name} {why}")


def _why_refused(path: Path) -> str | None:
    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:  # torch's own message advises to read the file all the same
        return (
            "is no model file, or holds more than weights and plain values, which could run code of its own"
        )
    except Exception as error:  # a damaged file makes torch raise anything, from EOFError to KeyError
        return f"is no model file ({type(error).__name__}: {error})"
    if not isinstance(state, dict):
        return "is no model file of stanza"
    if state.get("dicts_version") == _PICKLED:
        return (
            f"has 'dicts_version' {_PICKLED}, a pickled dictionary, which could run code of its own: train "
            "it anew with stanza 1.15 or later"
        )
    for key, value in _named(state):
        shown = value if isinstance(value, str) else type(value).__name__
        return f"names something to load that is not in it ({key!r}: {shown!r}), which is not done"
    return None


def _named(state: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Keys and values that name something outside of the file."""
    model = state.get("model")
    parts = model.get("args") if isinstance(model, dict) else None  # of an ensemble of parsers
    for config in [state.get("config"), *(parts if isinstance(parts, list) else ())]:
        if isinstance(config, dict):
            yield from ((key, config[key]) for key in _NAMING if config.get(key))
    # Lemmatizers that look at the sentence stand on word vectors or a transformer of their own.
    yield from ((key, state[key]) for key in ("contextual", "bert_lora") if state.get(key))


BUNDLED = Path(__file__).parent / "bundled"
_KINDS = {"tokenize": "tokenizer", "mwt": "mwt", "pos": "tagger", "lemma": "lemmatizer", "depparse": "parser"}


class BundledParser(Parser):
    r"""A small stanza pipeline in a folder, which needs no network: the package's own of English, or another.

    The package's own is trained on UD English EWT; ``bundled/MODEL_CARD.md`` has its data, licences, scores
    and limits. ``graphdep train-parser`` makes others, of other languages too. Their
    files start with stanza's shorthand, ``zh_joined_parser.pt`` say, which begins with the code of the
    language. What a word is longer than 100 characters is hidden from the tagger and the parser, and a text
    of more than 10,000 characters is split into sentences piece by piece, cut at blank lines or white space.

    The files hold weights and plain values. One that names anything else to load, such as a transformer of
    the Hugging Face hub, is refused before anything is loaded. So is one that is not what ``SHA256SUMS``
    beside it says, where there is such a list, as in the package.

    Args:
        directory: A folder with the model files of one parser (tokenizer, tagger, lemmatizer, parser, and
            mwt where the language has multi-word tokens); :obj:`None` for the package's own.
            (default: :obj:`None`)
        max_words: Sentences of more words get a chain tree. (default: :obj:`200`)
        constituents: Fill :attr:`Sentence.constituents`, by the tags that the tagger gives anyhow
            (:class:`~graphdep.parsing.constituency.SpanParser`, on the CPU); sentences of more than
            :obj:`max_words` words get a flat tree. The folder needs a file ``*_constituency.pt``.
            (default: :obj:`False`)
        use_gpu: Run on the GPU; :obj:`None` if there is one. (default: :obj:`None`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        ParserUnavailableError: If a model file is missing, or the folder has those of several parsers; with
            the first text, if one is damaged, was changed, or names something else to load.

    Example:
        >>> from graphdep.parsing import BundledParser
        >>> [[sentence]] = BundledParser().parse(["She sings."])
        >>> sentence.form, sentence.head, sentence.deprel
        (['She', 'sings', '.'], [2, 0, 2], ['nsubj', 'root', 'punct'])
        >>> [sentence] = BundledParser(constituents=True).parse_words([["She", "sings", "."]])
        >>> sentence.constituents
        [('S', 0, 3), ('NP', 0, 1), ('VP', 1, 2)]
    """

    gives_graphs = False

    def __init__(
        self,
        directory: str | Path | None = None,
        *,
        max_words: int = 200,
        constituents: bool = False,
        use_gpu: bool | None = None,
        progress: bool | None = None,
    ) -> None:
        check_extra("the bundled parser", "parse", error=ParserUnavailableError)
        super().__init__(progress=progress)
        self.directory = home_path(directory) if directory is not None else BUNDLED
        self.use_gpu = use_gpu
        self._files = _model_files(self.directory)
        self.language = self._files["depparse"].name.split("_")[0]
        self.gives_constituents = constituents
        self._spans_file = _spans_file(self._files["depparse"]) if constituents else None
        self._engine = StanzaEngine(self._load, max_words, join_cut_words=self.language == "en")

    @property
    def fingerprint(self) -> str:
        """Stanza's version, the digests of the model files, the longest sentence, and what is joined."""
        digest = files_digest(self._files.values())
        also = f"/constituents-{files_digest([self._spans_file])}" if self._spans_file is not None else ""
        joined = "/whole-words" if self._engine.join_cut_words else ""
        return f"bundled/stanza-{version('stanza')}/{digest}/max_words={self._engine.max_words}{joined}{also}"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self._whole(self._engine.parse(texts))

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self._whole(self._engine.parse_words(sentences))

    def tokenize(self, texts: Sequence[str]) -> list[list[list[str]]]:
        """Splits raw texts into sentences and words, as :meth:`parse` does, without parsing them.

        Returns:
            Per text its sentences, each a list of words.
        """
        return [[sentence.form for sentence in sentences] for sentences in self._engine.split(texts)]

    def __getstate__(self) -> dict[str, Any]:
        # As the engine's: it is loaded where it is needed.
        return {key: value for key, value in self.__dict__.items() if key != "_spans"}

    def _whole(self, parsed: list[Parsed]) -> list[Parsed]:
        if self._spans_file is None:
            return parsed
        from graphdep.parsing.constituency import add_constituents

        return add_constituents(parsed, self._spans, self._engine.max_words)

    @cached_property
    def _spans(self) -> SpanParser:
        from graphdep.parsing.constituency import SpanParser

        assert self._spans_file is not None
        check_checksums([self._spans_file])
        return SpanParser.load(self._spans_file)

    def _load(self) -> Any:
        check_checksums(self._files.values())
        files = tuple(self._files.items())
        return _pipeline(self.language, files, files_digest(self._files.values()), self.use_gpu)


# Every split of a corpus makes a parser of its own. They share the models while the files are the same; no
# two run at once (one_thread).
@lru_cache(maxsize=1)
def _pipeline(language: str, files: tuple[tuple[str, Path], ...], digest: str, use_gpu: bool | None) -> Any:
    import stanza

    paths = dict(files)
    directory = paths["depparse"].parent
    for path in paths.values():
        check_model_file(path)
    try:
        with _quiet_stanza():
            pipeline = stanza.Pipeline(
                language,
                resources_filepath=str(BUNDLED / "resources.json"),
                download_method=None,
                allow_unknown_language=True,
                package=None,
                processors=",".join(paths),
                use_gpu=use_gpu,
                verbose=False,
                tokenize_num_workers=0,  # else a file could ask for any number of processes
                tokenize_max_seqlen=4000,  # a longer token would become <UNK>, and the default is 300
                depparse_batch_size=500,  # the fastest on a CPU
                depparse_resolve_head_constraints=False,  # takes minutes on long sentences
                **{f"{name}_model_path": str(path) for name, path in paths.items()},
            )
    except Exception as error:  # torch, pickle and stanza each raise their own for a broken file
        reason = f"{type(error).__name__}: {error}"
        raise ParserUnavailableError(f"the models in {directory} do not load ({reason})") from error
    if "mwt" not in paths and pipeline.processors["tokenize"].trainer.args["use_mwt"]:
        _check_there([directory / paths["tokenize"].name.replace("_tokenizer", "_mwt")])
    return pipeline


@contextmanager
def _quiet_stanza() -> Iterator[None]:
    """Without stanza's lines on models that do not load: the error that follows says more."""
    logger = logging.getLogger("stanza")
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _spans_file(parser: Path) -> Path:
    """The model of constituents beside that of dependencies."""
    path = parser.with_name(parser.name.replace("_parser.pt", "_constituency.pt"))
    _check_there([path])
    return path


def _model_files(directory: Path) -> dict[str, Path]:
    """The files by the name of stanza's processor; that for multi-word tokens only if it is there."""
    patterns = [f"*_{kind}.pt" for kind in _KINDS.values()]
    found = {path.name.rpartition("_")[0] for pattern in patterns for path in directory.glob(pattern)}
    if len(found) != 1:
        what = f"model files of several parsers: {', '.join(sorted(found))}" if found else "no model files"
        raise ParserUnavailableError(f"'directory': {directory} has {what} ({', '.join(patterns)})")
    (shorthand,) = found
    files = {name: directory / f"{shorthand}_{kind}.pt" for name, kind in _KINDS.items()}
    _check_there(path for name, path in files.items() if name != "mwt")
    return {name: path for name, path in files.items() if path.is_file()}


def _check_there(files: Iterable[Path]) -> None:
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        raise ParserUnavailableError(f"model files are missing: {', '.join(missing)}")
