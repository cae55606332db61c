"""The table of bad input: what is wrong, and the one line that must say what to do about it.

Each row ends before anything is written: `--out` names a folder that must not come to be.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from commands import BRIEF, Here, check_one_line, finished

WRONG_SETTINGS = [
    # unknown keys
    ("memry.per_class=3", "memry: unknown setting; did you mean 'memory'"),
    ("training.epoch=3", "training.epoch: unknown setting; did you mean 'epochs'"),
    ("method.less_forgot=3", "method.less_forgot: unknown setting; did you mean 'less_forget'"),
    ("effects.colliding.neighbors=3", "effects.colliding.neighbors: .* 'neighbours'"),
    ("surprise=3", "surprise: unknown setting; known: backbone, data, effects"),
    # unknown names
    ("method=lucirr", "method: no .*'lucirr'; did you mean 'lucir'"),
    ("method.name=fintune", "method: no .*'fintune'; did you mean 'finetune'"),
    ("method=", "method: .*known: .*finetune, .*lucir"),
    ("method=5", "method: .*known: .*finetune, .*lucir"),
    ("method=none", "method: .*known: .*finetune, .*lucir"),
    ("data=cifar10", "data: no .*'cifar10'; did you mean 'cifar100'"),
    ("data=none", "data: .*known: cifar100, digits"),
    ("backbone=resnet3", "backbone: no .*'resnet3'; did you mean 'resnet32'"),
    ("effects=momentun", "effects: no .*'momentun'; did you mean 'momentum'"),
    ("effects.coliding.neighbours=3", "effects: no .*'coliding'; did you mean 'colliding'"),
    ("effects=[7]", "effects: .*known: colliding, "),
    ("effects=7", "effects: .*known: colliding, "),
    ("effects.colliding=7", "effects: .*effects.colliding.KEY=value"),
    ("effects.colliding=bank", "effects: .*effects.colliding.KEY=value"),
    ("effects=halved,colliding,halved", "effects: .*halved.* once"),
    ("stream.order=icarl93", "stream.order: .*'icarl93'; did you mean 'icarl1993'"),
    ("stream.order=random:x", "stream.order: .*'random:x'; did you mean 'random:SEED'"),
    ("stream.order=random:²", "stream.order: .*'random:²'; did you mean 'random:SEED'"),
    ("training.augmentation=digit", "training.augmentation: 'digit' .*did you mean 'digits'"),
    ("machine.device=gpu", "machine.device: should be 'auto', 'cpu' or 'cuda'"),
    # modules of the user's own
    ("method=mine.method", "method: no .*'mine.method'"),
    ("method=.method", "method: no .*'.method'"),
    ("method=os.path", "method: os.path .*Method"),
    ("method=remanence.methods.base", "method: remanence.methods.base .*Method"),
    # wrong types and ranges
    ("memory=5", "memory: should be a dictionary"),
    ("memory.per_class=many", "memory.per_class: should be a valid integer.*'many'"),
    ("memory.per_class=-1", "memory.per_class: should be greater than or equal to 0"),
    ("training.epochs=0", "training.epochs: should be greater than or equal to 1"),
    ("training.rate=0", "training.rate: should be greater than 0"),
    ("training.rate=nan", "training.rate: should be a finite number"),
    ("seed=-1", "seed: should be greater than or equal to 0"),
    ("seed=1.5", "seed: should be a valid integer"),
    ("machine.threads=0", "machine.threads: should be greater than or equal to 1"),
    ("effects.colliding.neighbours=0", "effects.colliding.neighbours: .* 1"),
    ("effects.momentum.decay=2", "effects.momentum.decay: .* 1"),
    # what does not fit the data
    ("memory.per_class=1000", "memory.per_class: 1000 .*class '.*has only 13. training images"),
    ("effects.colliding.neighbours=1000", "neighbours: 1000 .*increment 1 .*ask for fewer"),
    ("effects.colliding.candidate_limit=3", "effects.colliding.neighbours: .*ask for fewer"),
    ("training.augmentation=cifar_lucir", "training.augmentation: .*channel"),
    ("stream.order=[0,1,2,2]", "stream.order: class 2 is seen twice"),
    ("stream.order=0,1,2,2", "stream.order: class 2 is seen twice"),
    ("stream.order=[0,1,10]", "stream.order: there is no class 10; the data have 0 to 9"),
    ("stream.order=[-1,0,1]", "^remanence: stream.order.*greater than or equal to 0[^;]*$"),
    ("stream.order=icarl1993", "stream.order: there is no class 87; the data have 0 to 9"),
    ("stream.sizes=9,9", "stream.sizes: they add up to 18, but there are 10 classes"),
    ("stream.sizes=0,3", "stream.sizes.0: should be greater than or equal to 1"),
    # not a setting at all
    ("nonsense", "'nonsense' is not a setting: write key=value"),
    ("=5", "'=5' is not a setting: write key=value"),
    ("stream..base=5", "'stream..base=5' is not a setting: write key=value"),
]

WRONG_WORDS = [
    ("run digits-lucirr", "no recipe is called 'digits-lucirr'; did you mean 'digits-lucir'"),
    ("run missing.toml", "cannot read the recipe missing.toml: No such file"),
    ("run", "required: recipe; .*remanence run --help"),
    ("run digits-lucir --save-every soon", "save-every.*'soon'.*remanence run --help"),
    ("run digits-lucir --save-every -1", "save-every.*0"),
    ("run digits-lucir --oot x", "--oot.*--help"),
    ("demo --seeds 0", "seeds: at least one"),
    ("demo --seeds -1", "seeds: at least one"),
    ("demo --seeds few", "seeds.*'few'.*remanence demo --help"),
    ("list method", "'method'.*methods.*remanence list --help"),
    ("download cifar10", "'cifar10'.*cifar100.*remanence download --help"),
    ("explain digits-lucirr", "no recipe is called 'digits-lucirr'; did you mean 'digits-lucir'"),
    ("rum digits-lucir", "'rum'.*run.*remanence --help"),
]

WRONG_RECIPES = {
    "not toml": ("a = = 3", "not valid TOML.*line 1"),
    "no experiment": ("about = 'nothing'", "the table .experiment."),
    "another key": ("seed = 3\n[experiment]\n", "a recipe has the keys about"),
    "unknown setting": ("[experiment]\nmemry.per_class = 3", "memry: .*'memory'"),
    "effects as a number": ("[experiment]\neffects = 5", "effects: "),
    "an effect as a number": ("[experiment]\neffects.colliding = 5", "effects: .*colliding"),
    "a date": ("[experiment]\nseed = 1993-01-01", "seed: should be a valid integer"),
}


@pytest.fixture(autouse=True)
def _away_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is to be found in the folders of whoever runs the tests."""
    for variable in ("HOME", "XDG_CACHE_HOME", "REMANENCE_DATA"):
        folder = tmp_path / variable
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.mark.parametrize(("setting", "told"), WRONG_SETTINGS, ids=lambda one: one[:40])
def test_a_wrong_setting(setting: str, told: str, out: Path, here: Here) -> None:
    brief = [word for word in BRIEF if not setting.startswith(word.split("=")[0])]
    words = ("run", "digits-lucir-dde", *brief, setting, "--quiet", "--out", str(out))
    line = check_one_line(here(*words), 2)
    assert _says(told, line)
    assert not out.exists()


@pytest.mark.parametrize(("words", "told"), WRONG_WORDS)
def test_wrong_words(words: str, told: str, here: Here) -> None:
    line = check_one_line(here(*words.split()), 2)
    assert _says(told, line)
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("name", WRONG_RECIPES)
def test_a_wrong_recipe(name: str, tmp_path: Path, out: Path, here: Here) -> None:
    text, told = WRONG_RECIPES[name]
    file = tmp_path / "mine.toml"
    file.write_text(text)
    line = check_one_line(here("run", str(file), "--quiet", "--out", str(out)), 2)
    assert _says(told, line)
    assert not out.exists()


def test_a_recipe_that_is_no_text(tmp_path: Path, here: Here) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe\x00")
    assert str(file) in check_one_line(here("run", str(file)), 2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one here")
def test_a_device_that_is_absent(out: Path, here: Here) -> None:
    words = ("run", "digits-lucir", "machine.device=cuda", "--out", str(out))
    assert _says("machine.device: no CUDA.*choose cpu or auto", check_one_line(here(*words), 2))
    assert not out.exists()


def test_data_that_are_missing(tmp_path: Path, out: Path, here: Here) -> None:
    words = ("run", "digits-lucir", "data=cifar100", "--quiet", "--out", str(out))
    line = check_one_line(here(*words), 3)
    assert "remanence download cifar100" in line and "data.folder=" in line
    assert str(tmp_path / "REMANENCE_DATA") in line and str(tmp_path / "XDG_CACHE_HOME") in line
    assert not out.exists()


def test_a_data_file_that_is_cut_off(tmp_path: Path, out: Path, here: Here) -> None:
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    names = "".join(f"class {number}\n" for number in range(100))
    (folder / "fine_label_names.txt").write_text(names)
    for part in ("train.bin", "test.bin"):
        (folder / part).write_bytes(bytes(3074 * 2 - 5))
    words = ("run", "cifar100-t5-r5-lucir", f"data.folder={folder}", "--quiet")
    line = check_one_line(here(*words, "--out", str(out)), 3)
    assert str(folder / "train.bin") in line and "remanence download cifar100" in line
    assert not out.exists()


def test_the_command_of_the_system_does_the_same(out: Path) -> None:
    """One row in a process of its own: nothing that torch or Python says while it starts."""
    outcome = finished("run", "digits-lucir", "effects=halved", "seed=x", "--out", str(out))
    assert "seed" in check_one_line(outcome, 2)


def test_a_reader_who_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "remanence.cli.main", "list", "methods"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def _says(pattern: str, line: str) -> bool:
    assert re.search(pattern, line), line
    return True
