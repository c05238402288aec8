"""The English parser that ships with the package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from graphdep.parsing.digest import files_digest
from graphdep.parsing.errors import ParserUnavailableError
from graphdep.parsing.items import Words
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser
from graphdep.parsing.stanza_engine import StanzaEngine

BUNDLED = Path(__file__).parent / "bundled"
_MODELS = {
    "tokenize": "en_ewt_tokenizer.pt",
    "mwt": "en_ewt_mwt.pt",
    "pos": "en_ewt_tagger.pt",
    "lemma": "en_ewt_lemmatizer.pt",
    "depparse": "en_ewt_parser.pt",
}


class BundledParser(Parser):
    r"""A small English stanza pipeline inside the package, which needs no network.

    Trained on UD English EWT; ``bundled/MODEL_CARD.md`` has its data, licences, scores and limits. What a
    word is longer than 100 characters is hidden from the tagger and the parser, and a text of more than
    10,000 characters is split into sentences piece by piece, cut at blank lines or white space.

    Args:
        directory: A folder with the five model files, such as one made by
            ``examples/train_bundled_parser.py``; :obj:`None` for the package's own. (default: :obj:`None`)
        max_words: Sentences of more words get a chain tree. (default: :obj:`200`)
        use_gpu: Run on the GPU; :obj:`None` if there is one. (default: :obj:`None`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        ParserUnavailableError: If a model file is missing.
    """

    def __init__(
        self,
        directory: str | Path | None = None,
        *,
        max_words: int = 200,
        use_gpu: bool | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        self.directory = Path(directory) if directory is not None else BUNDLED
        self.use_gpu = use_gpu
        self._files = {name: self.directory / file for name, file in _MODELS.items()}
        missing = [str(path) for path in self._files.values() if not path.is_file()]
        if missing:
            raise ParserUnavailableError(f"'directory': model files are missing: {', '.join(missing)}")
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

        try:
            return stanza.Pipeline(
                "en",
                resources_filepath=str(BUNDLED / "resources.json"),
                download_method=None,
                allow_unknown_language=True,
                package=None,
                processors=",".join(_MODELS),
                use_gpu=self.use_gpu,
                verbose=False,
                tokenize_max_seqlen=4000,  # a longer token would become <UNK>, and the default is 300
                depparse_batch_size=500,  # the fastest on a CPU
                depparse_resolve_head_constraints=False,  # Python code that takes minutes on long sentences
                **{f"{name}_model_path": str(path) for name, path in self._files.items()},
            )
        except Exception as error:  # torch, pickle and stanza each raise their own for a broken file
            reason = f"{type(error).__name__}: {error}"
            raise ParserUnavailableError(f"the models in {self.directory} do not load ({reason})") from error
