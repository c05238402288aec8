"""The bundled parser of English, and parsers from ``graphdep train-parser``."""

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


# Settings of a model file by which stanza loads other files: from a path, or from the Hugging Face hub, where
# a model may contain code.
_NAMING = (
    *("bert_model", "use_peft", "charlm_forward_file", "charlm_backward_file"),
    *("wordvec_file", "wordvec_pretrain_file"),
)
_PICKLED = 2  # version of a lemmatizer's dictionary that stanza below 1.15 unpickles


def check_model_file(path: Path) -> None:
    """Raises unless stanza can load a model file without running code from it or loading other files."""
    why = _why_refused(path)
    if why is not None:
        raise ParserUnavailableError(f"the models in {path.parent} do not load: {path.name} {why}")


def _why_refused(path: Path) -> str | None:
    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:  # torch's message advises to load the file nevertheless
        return "is not a model file, or holds more than weights and plain values, which could run code"
    except Exception as error:  # a damaged file makes torch raise anything, from EOFError to KeyError
        return f"is not a model file ({type(error).__name__}: {error})"
    if not isinstance(state, dict):
        return "is not a model file of stanza"
    if state.get("dicts_version") == _PICKLED:
        return (
            f"has 'dicts_version' {_PICKLED}, a pickled dictionary, which could run code: train it again "
            "with stanza 1.15 or later"
        )
    for key, value in _outside_files(state):
        shown = value if isinstance(value, str) else type(value).__name__
        return f"needs another file or model ({key!r}: {shown!r}), which is not supported"
    return None


def _outside_files(state: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Keys and values of settings that name another file or model."""
    model = state.get("model")
    parts = model.get("args") if isinstance(model, dict) else None  # of an ensemble of parsers
    for config in [state.get("config"), *(parts if isinstance(parts, list) else ())]:
        if isinstance(config, dict):
            yield from ((key, config[key]) for key in _NAMING if config.get(key))
    # Contextual lemmatizers use word vectors or a transformer.
    yield from ((key, state[key]) for key in ("contextual", "bert_lora") if state.get(key))


BUNDLED = Path(__file__).parent / "bundled"
_KINDS = {"tokenize": "tokenizer", "mwt": "mwt", "pos": "tagger", "lemma": "lemmatizer", "depparse": "parser"}


class BundledParser(Parser):
    r"""A small stanza pipeline in a folder, which needs no network.

    The English pipeline of this package is trained on UD English EWT; ``bundled/MODEL_CARD.md`` has its data,
    licences, scores and limits. ``graphdep train-parser`` trains pipelines of this and other languages. Their
    file names begin with stanza's shorthand, which begins with the code of the language, as in
    ``zh_joined_parser.pt``. Tagger and parser read the first 100 characters of a word. A text of more than
    10,000 characters is cut at blank lines or white space before it is split into sentences.

    The files may hold weights and plain values only. A file that needs another file or model, such as a
    transformer of the Hugging Face hub, is refused, and so is one that differs from its line in
    ``SHA256SUMS``, if the folder has such a file.

    Args:
        directory: A folder with the model files of one parser (tokenizer, tagger, lemmatizer, parser, and
            mwt if the language has multi-word tokens); :obj:`None` for that of the package.
            (default: :obj:`None`)
        max_words: Sentences of more words get a chain tree. (default: :obj:`200`)
        constituents: Fill :attr:`Sentence.constituents`, based on the predicted tags
            (:class:`~graphdep.parsing.constituency.SpanParser`, on the CPU); sentences of more than
            :obj:`max_words` words get a flat tree. The folder needs a file ``*_constituency.pt``.
            (default: :obj:`False`)
        use_gpu: Run on the GPU; :obj:`None` if there is one. (default: :obj:`None`)
        progress: Show progress; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        ParserUnavailableError: If a model file is missing, or the folder has several parsers; with the first
            text, if a file is damaged, differs from its checksum, or needs another file or model.

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
        """Stanza's version, the digests of the model files, and the options."""
        digest = files_digest(self._files.values())
        also = f"/constituents-{files_digest([self._spans_file])}" if self._spans_file is not None else ""
        joined = "/whole-words" if self._engine.join_cut_words else ""
        return f"bundled/stanza-{version('stanza')}/{digest}/max_words={self._engine.max_words}{joined}{also}"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self._with_constituents(self._engine.parse(texts))

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self._with_constituents(self._engine.parse_words(sentences))

    def tokenize(self, texts: Sequence[str]) -> list[list[list[str]]]:
        """Splits raw texts into sentences and words, as :meth:`parse` does, without parsing them.

        Returns:
            The sentences of each text, each a list of words.
        """
        return [[sentence.form for sentence in sentences] for sentences in self._engine.split(texts)]

    def __getstate__(self) -> dict[str, Any]:
        # A copy loads its models when it needs them, as that of the engine does.
        return {key: value for key, value in self.__dict__.items() if key != "_spans"}

    def _with_constituents(self, parsed: list[Parsed]) -> list[Parsed]:
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


# Each split of a corpus makes a parser. Parsers of the same files share the models, and only one runs at a
# time (one_thread).
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
                tokenize_num_workers=0,  # else a model file could start any number of processes
                tokenize_max_seqlen=4000,  # longer tokens become <UNK>; the default is 300
                depparse_batch_size=500,  # the fastest on a CPU
                depparse_resolve_head_constraints=False,  # takes minutes on long sentences
                **{f"{name}_model_path": str(path) for name, path in paths.items()},
            )
    except Exception as error:  # torch, pickle and stanza raise different errors for a broken file
        reason = f"{type(error).__name__}: {error}"
        raise ParserUnavailableError(f"the models in {directory} do not load ({reason})") from error
    if "mwt" not in paths and pipeline.processors["tokenize"].trainer.args["use_mwt"]:
        _check_there([directory / paths["tokenize"].name.replace("_tokenizer", "_mwt")])
    return pipeline


@contextmanager
def _quiet_stanza() -> Iterator[None]:
    """Hides stanza's messages about models that do not load, since the error says more."""
    logger = logging.getLogger("stanza")
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _spans_file(parser: Path) -> Path:
    """The constituency model beside the dependency parser."""
    path = parser.with_name(parser.name.replace("_parser.pt", "_constituency.pt"))
    _check_there([path])
    return path


def _model_files(directory: Path) -> dict[str, Path]:
    """The files by the name of stanza's processor; that for multi-word tokens is optional."""
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
