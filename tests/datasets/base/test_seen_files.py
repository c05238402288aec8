from __future__ import annotations

from graphdep.datasets import UDTreebank
from graphdep.datasets.base.raw import seen_files
from graphdep.io import atomic_path


def test_what_another_process_is_writing_is_no_file_of_the_corpus(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    text = "1\tSings\tsing\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    (raw / "en_one-ud-train.conllu").write_text(text, encoding="utf-8")
    with atomic_path(raw / "en_one-ud-train.conllu") as half:
        assert half.parent == raw
        assert [path.name for path in seen_files(raw, "*.conllu")] == ["en_one-ud-train.conllu"]
        assert [path.name for path in seen_files(tmp_path, "**/*.conllu")] == ["en_one-ud-train.conllu"]
        assert len(UDTreebank(tmp_path)) == 1
        half.write_text(text, encoding="utf-8")
