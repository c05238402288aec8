"""The English parser that ships with the package, and others of its make."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from graphdep.parsing.digest import files_digest
from graphdep.parsing.errors import ParserUnavailableError
from graphdep.parsing.items import Words
from graphdep.parsing.model_files import check_model_file
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser
from graphdep.parsing.stanza_engine import StanzaEngine

BUNDLED = Path(__file__).parent / "bundled"
_KINDS = {"tokenize": "tokenizer", "mwt": "mwt", "pos": "tagger", "lemma": "lemmatizer", "depparse": "parser"}


class BundledParser(Parser):
    r"""A small stanza pipeline in a folder, which needs no network: the package's own of English, or another.

    The package's own is trained on UD English EWT; ``bundled/MODEL_CARD.md`` has its data, licences, scores
    and limits. ``examples/train_bundled_parser.py`` makes others, of other languages too. Their files start
    with stanza's shorthand, ``zh_joined_parser.pt`` say, which begins with the code of the language. What a
    word is longer than 100 characters is hidden from the tagger and the parser, and a text of more than
    10,000 characters is split into sentences piece by piece, cut at blank lines or white space.

    The files hold weights and plain values. One that names anything else to load, such as a transformer of
    the Hugging Face hub, is refused before anything is loaded.

    Args:
        directory: A folder with the model files of one parser (tokenizer, tagger, lemmatizer, parser, and
            mwt where the language has multi-word tokens); :obj:`None` for the package's own.
            (default: :obj:`None`)
        max_words: Sentences of more words get a chain tree. (default: :obj:`200`)
        use_gpu: Run on the GPU; :obj:`None` if there is one. (default: :obj:`None`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        ParserUnavailableError: If a model file is missing, or the folder has those of several parsers; with
            the first text, if one is damaged, or names something else to load.

    Example:
        >>> from graphdep.parsing import BundledParser
        >>> [[sentence]] = BundledParser().parse(["She sings."])
        >>> sentence.form, sentence.head, sentence.deprel
        (['She', 'sings', '.'], [2, 0, 2], ['nsubj', 'root', 'punct'])
    """

    gives_graphs = False

    def __init__(
        self,
        directory: str | Path | None = None,
        *,
        max_words: int = 200,
        use_gpu: bool | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        self.directory = Path(directory).expanduser() if directory is not None else BUNDLED
        self.use_gpu = use_gpu
        self._files = _model_files(self.directory)
        self.language = self._files["depparse"].name.split("_")[0]
        self._engine = StanzaEngine(self._load, max_words)

    @property
    def fingerprint(self) -> str:
        """Stanza's version, the digest of the model files, and the longest sentence."""
        digest = files_digest(self._files.values())
        return f"bundled/stanza-{version('stanza')}/{digest}/max_words={self._engine.max_words}"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self._engine.parse(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self._engine.parse_words(sentences)

    def tokenize(self, texts: Sequence[str]) -> list[list[list[str]]]:
        """Splits raw texts into sentences and words, as :meth:`parse` does, without parsing them.

        Returns:
            Per text its sentences, each a list of words.
        """
        return [[sentence.form for sentence in sentences] for sentences in self._engine.split(texts)]

    def _load(self) -> Any:
        import stanza

        for path in self._files.values():
            check_model_file(path)
        try:
            with _quiet_stanza():
                pipeline = stanza.Pipeline(
                    self.language,
                    resources_filepath=str(BUNDLED / "resources.json"),
                    download_method=None,
                    allow_unknown_language=True,
                    package=None,
                    processors=",".join(self._files),
                    use_gpu=self.use_gpu,
                    verbose=False,
                    tokenize_num_workers=0,  # else a file could ask for any number of processes
                    tokenize_max_seqlen=4000,  # a longer token would become <UNK>, and the default is 300
                    depparse_batch_size=500,  # the fastest on a CPU
                    depparse_resolve_head_constraints=False,  # takes minutes on long sentences
                    **{f"{name}_model_path": str(path) for name, path in self._files.items()},
                )
        except Exception as error:  # torch, pickle and stanza each raise their own for a broken file
            reason = f"{type(error).__name__}: {error}"
            raise ParserUnavailableError(f"the models in {self.directory} do not load ({reason})") from error
        if "mwt" not in self._files and pipeline.processors["tokenize"].trainer.args["use_mwt"]:
            name = self._files["tokenize"].name.replace("_tokenizer", "_mwt")
            raise ParserUnavailableError(f"'directory': model files are missing: {self.directory / name}")
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


def _model_files(directory: Path) -> dict[str, Path]:
    """The files by the name of stanza's processor; that for multi-word tokens only if it is there."""
    patterns = [f"*_{kind}.pt" for kind in _KINDS.values()]
    found = {path.name.rpartition("_")[0] for pattern in patterns for path in directory.glob(pattern)}
    if len(found) != 1:
        what = f"model files of several parsers: {', '.join(sorted(found))}" if found else "no model files"
        raise ParserUnavailableError(f"'directory': {directory} has {what} ({', '.join(patterns)})")
    (shorthand,) = found
    files = {name: directory / f"{shorthand}_{kind}.pt" for name, kind in _KINDS.items()}
    missing = [str(path) for name, path in files.items() if name != "mwt" and not path.is_file()]
    if missing:
        raise ParserUnavailableError(f"'directory': model files are missing: {', '.join(missing)}")
    return {name: path for name, path in files.items() if path.is_file()}
