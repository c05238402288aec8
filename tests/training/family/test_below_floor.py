from __future__ import annotations

from graphdep.training.floors import below_floor, untrained


def test_the_best_floor_counts_whichever_way_is_better():
    floor = {"test_mse": 1.0, "val_mse": 0.5}
    assert below_floor("sick-r", {"test_mse": 0.75, "val_mse": 9.0}, floor) == ""
    assert (
        below_floor("sick-r", {"test_mse": 1.25}, floor)
        == "test_mse 1.2500 is no better than no skill 1.0000"
    )
    assert (
        below_floor("sick-r", {"val_mse": 0.5}, floor) == "val_mse 0.5000 is no better than no skill 0.5000"
    )
    assert below_floor("sick-r", {"val_mse": 0.5}, {}) == ""


def test_the_look_up_is_a_floor():
    floor = {"test_f1": 0.0, "test_f1_lookup": 0.5}
    assert below_floor("labels", {"test_f1": 0.75}, floor) == ""
    said = "test_f1 0.2500 is no better than look-up 0.5000"
    assert below_floor("labels", {"test_f1": 0.25}, floor) == said


def test_the_encoder_before_its_training_is_a_floor_of_its_own():
    frozen = {"test_mse": 1.0, "val_mse": 0.5}
    said = "test_mse 1.0000 is no better than 1.0000 of the encoder before its training"
    assert untrained("sick-r", {"test_mse": 1.0, "val_mse": 0.1}, frozen) == said
    assert untrained("sick-r", {"test_mse": 0.75}, frozen) == ""
    assert untrained("sick-r", {"test_mse": 9.0}, {}) == ""  # an encoder that brings nothing along
    assert untrained("sick-r", {}, frozen) == ""
