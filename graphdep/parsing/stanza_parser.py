"""Stanza's own models, for many languages."""

from __future__ import annotations

import os
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


class StanzaParser(Parser):
    """Stanza's published pipeline for a language: tokenizer, tagger, lemmatizer and parser.

    The models are loaded from stanza's folder when they are first needed, and downloaded into it if they
    are not there.

    Args:
        language: Stanza's code of the language, such as ``"en"`` or ``"zh"``. (default: :obj:`"en"`)
        directory: The folder of the models; :obj:`None` for stanza's own, which
            ``$STANZA_RESOURCES_DIR`` sets. (default: :obj:`None`)
        package: One of the language's packages, such as ``"gum"``. (default: :obj:`"default"`)
        download: Download models that are missing. (default: :obj:`True`)
        max_words: Sentences of more words get a chain tree. (default: :obj:`200`)
        constituents: Fill :attr:`Sentence.constituents` with stanza's parser of constituents, which a few
            languages have; sentences of more than :obj:`max_words` words get a flat tree.
            (default: :obj:`False`)
        use_gpu: Run on the GPU; :obj:`None` if there is one. (default: :obj:`None`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

    Example:
        >>> from graphdep.parsing import StanzaParser
        >>> parser = StanzaParser("de", download=False)  # loads nothing yet
        >>> parser.language
        'de'
    """

    gives_graphs = False

    def __init__(
        self,
        language: str = "en",
        *,
        directory: str | Path | None = None,
        package: str = "default",
        download: bool = True,
        max_words: int = 200,
        constituents: bool = False,
        use_gpu: bool | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        self.language, self.package, self.download = language, package, download
        self.directory, self.use_gpu = directory, use_gpu
        self.gives_constituents = constituents
        self._engine = StanzaEngine(self._load, max_words, constituents=constituents)

    @property
    def fingerprint(self) -> str:
        """Language, package, stanza's version, the digest of the model files, and the longest sentence."""
        config = self._engine.pipeline.config
        files = {value for key, value in config.items() if key.endswith("_path") and isinstance(value, str)}
        digest = files_digest(sorted(file for file in files if os.path.isfile(file)))
        name = f"stanza:{self.language}/{self.package}/stanza-{version('stanza')}"
        also = "/constituents" if self.gives_constituents else ""
        return f"{name}/{digest}/max_words={self._engine.max_words}{also}"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self._engine.parse(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self._engine.parse_words(sentences)

    def __repr__(self) -> str:
        # The fingerprint would load the models.
        return f"{type(self).__name__}({self.language!r}, package={self.package!r})"

    def _load(self) -> Any:
        import stanza

        folder = {} if self.directory is None else {"dir": str(self.directory)}
        also = ",constituency" if self.gives_constituents else ""
        method = stanza.DownloadMethod.REUSE_RESOURCES if self.download else None
        try:
            return stanza.Pipeline(
                self.language,
                package=self.package,
                processors=f"tokenize,pos,lemma,depparse{also}",  # stanza adds mwt where the language has it
                download_method=method,
                use_gpu=self.use_gpu,
                verbose=False,
                depparse_batch_size=500,
                depparse_resolve_head_constraints=False,  # Python code that takes minutes on long sentences
                **folder,
            )
        except Exception as error:  # requests, stanza, zip and torch each raise their own
            raise ParserUnavailableError(self._advice(error)) from error

    def _advice(self, error: Exception) -> str:
        code = f"import stanza; stanza.download({self.language!r}, package={self.package!r})"
        return (
            f"stanza's models for {self.language!r} (package {self.package!r}) are not to be had "
            f"({type(error).__name__}: {str(error)[:200]}). Where there is a network, run: "
            f'python -c "{code}", and point $STANZA_RESOURCES_DIR or the option directory to the folder. '
            "The parsers 'bundled' (English) and 'bundled:<folder>' need no network."
        )
