"""Every metric against a naive rendering of its definition, image by image."""

import math
import statistics
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence import metrics
from remanence.core.errors import SettingsError
from remanence.records import Record


@dataclass
class Trial:
    """Raw predictions: after each increment one for each test image of the known classes."""

    group_of: list[int]  # of each class
    labels: list[list[int]]  # of the test images, after each increment
    predictions: list[list[int]]

    def share(self, t, counts):
        """The percentage of images named rightly, among those whose label counts."""
        right = tested = 0
        for label, prediction in zip(self.labels[t], self.predictions[t], strict=True):
            if counts(label):
                tested += 1
                right += label == prediction
        return 100 * right / tested

    def group(self, t, j):
        return self.share(t, lambda label: self.group_of[label] == j)

    @property
    def last(self):
        return len(self.labels) - 1


@st.composite
def trials(draw, least=1):
    sizes = draw(st.lists(st.integers(1, 4), min_size=least, max_size=5))
    group_of = [group for group, size in enumerate(sizes) for _ in range(size)]
    tested = [draw(st.integers(1, 6)) for _ in group_of]
    draws = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels, predictions = [], []
    for t in range(len(sizes)):
        known = [label for label, group in enumerate(group_of) if group <= t]
        seen = [label for label in known for _ in range(tested[label])]
        guesses = draws.choice(known, len(seen))
        hits = draws.random(len(seen)) < draws.random()
        labels.append(seen)
        predictions.append([int(x) for x in np.where(hits, seen, guesses)])
    return Trial(group_of, labels, predictions)


def records_of(trial, reading="cnn"):
    records = []
    for t, (labels, predictions) in enumerate(zip(trial.labels, trial.predictions, strict=True)):
        classes = range(max(labels) + 1)
        pairs = list(zip(labels, predictions, strict=True))
        records.append(
            Record(
                increment=t,
                group_sizes=tuple(trial.group_of.count(group) for group in range(t + 1)),
                tested=tuple(labels.count(label) for label in classes),
                readings={reading: tuple(pairs.count((label, label)) for label in classes)},
            )
        )
    return records


@settings(max_examples=60, deadline=None)
@given(trials())
def test_accuracies_are_shares_of_images(trial):
    records = records_of(trial)
    summary = metrics.summarise(records, "cnn")
    times = range(trial.last + 1)
    curve = [trial.share(t, lambda label: True) for t in times]
    classes = [len(set(trial.labels[t])) for t in times]
    assert metrics.accuracy_matrix(records, "cnn") == [
        pytest.approx([trial.group(t, j) for j in range(t + 1)]) for t in times
    ]
    assert summary.curve == pytest.approx(curve)
    assert summary.classes == tuple(classes)
    assert summary.average_accuracy == pytest.approx(statistics.mean(curve))
    assert summary.last_accuracy == pytest.approx(curve[-1])
    repeated = [a for a, n in zip(curve, classes, strict=True) for _ in range(n)]
    assert summary.class_weighted_accuracy == pytest.approx(statistics.mean(repeated))


@settings(max_examples=60, deadline=None)
@given(trials(least=2))
def test_old_and_new_split_the_images_by_when_their_class_came(trial):
    records = records_of(trial)
    for t in range(1, trial.last + 1):
        old = trial.share(t, lambda label, t=t: trial.group_of[label] < t)
        assert metrics.old_accuracy(records[t], "cnn") == pytest.approx(old)
        assert metrics.new_accuracy(records[t], "cnn") == pytest.approx(trial.group(t, t))
    summary = metrics.summarise(records, "cnn")
    assert summary.old_accuracy == pytest.approx(old)
    assert summary.new_accuracy == pytest.approx(trial.group(trial.last, trial.last))


@settings(max_examples=60, deadline=None)
@given(trials(least=2))
def test_forgetting_in_both_forms_and_the_base_drop(trial):
    records = records_of(trial)
    matrix = metrics.accuracy_matrix(records, "cnn")
    with_present, without_present = [], []
    for t in range(1, trial.last + 1):
        total = total_strict = 0.0
        for j in range(t):
            now = trial.group(t, j)
            before = [trial.group(step, j) for step in range(t) if step >= j]
            total += max([*before, now]) - now
            total_strict += max(before) - now
        with_present.append(total / t)
        without_present.append(total_strict / t)
        assert metrics.forgetting(matrix, t) == pytest.approx(with_present[-1])
        assert metrics.forgetting_strict(matrix, t) == pytest.approx(without_present[-1])
    summary = metrics.summarise(records, "cnn")
    assert summary.forgetting == pytest.approx(statistics.mean(with_present))
    assert summary.forgetting_strict == pytest.approx(statistics.mean(without_present))
    assert summary.base_drop == pytest.approx(trial.group(0, 0) - trial.group(trial.last, 0))


def record(group_sizes, tested, right, reading="cnn"):
    return Record(len(group_sizes) - 1, group_sizes, tested, {reading: right})


def test_accuracy_is_over_images_and_not_a_mean_over_groups():
    # Four old classes with ten images each, all right; a new one with two images, both wrong.
    records = [
        record((4,), (10,) * 4, (10,) * 4),
        record((4, 1), (10, 10, 10, 10, 2), (10, 10, 10, 10, 0)),
    ]
    assert metrics.accuracy_matrix(records, "cnn")[1] == [100, 0]
    assert metrics.summarise(records, "cnn").last_accuracy == pytest.approx(100 * 40 / 42)


def test_what_gets_better_is_forgotten_negatively_only_in_the_strict_form():
    matrix = [[50.0], [80.0, 60.0], [70.0, 90.0, 10.0]]
    assert metrics.forgetting(matrix, 1) == 0
    assert metrics.forgetting_strict(matrix, 1) == -30
    assert metrics.forgetting(matrix, 2) == ((80 - 70) + 0) / 2
    assert metrics.forgetting_strict(matrix, 2) == ((80 - 70) + (60 - 90)) / 2
    assert metrics.average_forgetting(matrix) == (0 + 5) / 2
    assert metrics.average_forgetting_strict(matrix) == (-30 - 10) / 2
    assert metrics.base_drop(matrix) == -20


def test_a_run_with_only_a_base_has_forgotten_nothing_yet():
    summary = metrics.summarise([record((2,), (5, 5), (3, 4))], "cnn")
    assert summary.average_accuracy == summary.last_accuracy == summary.new_accuracy == 70
    assert summary.forgetting is None
    assert summary.forgetting_strict is None
    assert summary.old_accuracy is None
    assert summary.base_drop is None


def test_a_group_without_test_images_has_no_accuracy_but_the_rest_has():
    records = [record((1,), (0,), (0,)), record((1, 1), (0, 4), (0, 3))]
    summary = metrics.summarise(records, "cnn")
    assert math.isnan(summary.curve[0])
    assert summary.curve[1] == 75
    assert summary.forgetting is not None
    assert math.isnan(summary.forgetting)


def test_readings_are_those_that_every_record_has_in_the_order_of_the_first():
    at_base = dict.fromkeys(("cnn", "cnn+momentum", "nme"), (1,))
    base = Record(0, (1,), (2,), at_base)
    later = Record(1, (1, 1), (2, 2), dict.fromkeys(("cnn+momentum", "cnn", "late"), (1, 1)))
    assert metrics.readings([base, later]) == ["cnn", "cnn+momentum"]
    assert metrics.readings([base]) == ["cnn", "cnn+momentum", "nme"]
    assert metrics.readings([]) == []


def test_each_reading_is_summarised_by_its_own_counts():
    run = [Record(0, (1,), (4,), {"cnn": (1,), "nme": (3,)})]
    assert metrics.summarise(run, "cnn").last_accuracy == 25
    assert metrics.summarise(run, "nme").last_accuracy == 75
    with pytest.raises(SettingsError, match=r"'nnm'.*did you mean 'nme'"):
        metrics.summarise(run, "nnm")


def test_relative_improvement_counts_from_what_was_before():
    assert metrics.relative_improvement(50, 60) == 20
    assert metrics.relative_improvement(20, 15, lower_is_better=True) == 25
    assert metrics.relative_improvement(20, 25, lower_is_better=True) == -25
    assert metrics.relative_improvement(0, 5) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 100), min_size=2, max_size=6))
def test_spread_is_the_mean_and_the_sample_deviation(values):
    spread = metrics.Spread.of(values)
    assert spread.mean == pytest.approx(statistics.fmean(values), abs=1e-9)
    assert spread.std == pytest.approx(statistics.stdev(values), abs=1e-6)
    assert spread.n == len(values)


def test_spread_reads_well():
    assert str(metrics.Spread.of([59.4, 59.8, 60.2])) == "59.8 ± 0.4 (3)"
    assert str(metrics.Spread.of([59.81])) == "59.8 (1)"
    assert str(metrics.Spread.of([-0.01])) == "0.0 (1)"


def test_nothing_here_loads_torch():
    modules = "remanence.metrics, remanence.records, remanence.report.table, "
    modules += "remanence.report.curve, remanence.report.figure"
    heavy = "{'torch', 'matplotlib', 'plotext'}"
    code = f"import sys, {modules}; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
