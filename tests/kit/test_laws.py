from __future__ import annotations

from tests.kit.laws import LAWS, PAGE, Proof, rows, shown, table


def test_the_table_of_laws_is_that_of_the_tests():
    said = shown(PAGE.read_text(encoding="utf-8")).strip()
    assert said == table().strip(), "`python -m tests.kit.laws --write` writes it anew"


def test_rows_of_a_test_name_families_and_models():
    (resumed,) = LAWS["a resumed run is the uninterrupted one"]
    assert {("labels", "dt"), ("post-training", "bert-fp"), ("spans", "gate")} < rows(resumed)
    alone = Proof("tests/tasks/test_predict.py::test_labels_are_those_that_are_scored", "labels", "dt")
    assert rows(alone) == {("labels", "dt")}
