"""The command line: any words end in an exit code, with one line where it is not 0."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path

import made_model
from hypothesis import strategies as st
from of_files import prepare_run
from of_settings import ASSIGNMENTS
from properties import Property, check_line

from remanence.cli.main import COMMANDS, main
from remanence.core.errors import RemanenceError

WORDS = st.one_of(
    st.text(st.characters(blacklist_characters="\0"), max_size=10),
    st.sampled_from(
        [
            "--json",
            "--quiet",
            "--at",
            "--kept",
            "--format",
            "--out",
            "--help",
            "--",
            "-",
            "-1",
            "--own-code",
            "--reading",
            "--readings",
            "--picture",
            "--table",
            "--force",
            "--leave",
            "--method",
        ]
    ),
    st.sampled_from(["m", "run", "a wren.jpg", "m/current", "nowhere", "empty", ".", "7", "1"]),
    ASSIGNMENTS.filter(lambda word: "\0" not in word),
)
# What would work for long, or write, only ever gets words that end before that.
HARMLESS = ["explain", "list", "show", "info", "history", "predict", "evaluate", "report"]
BOUND_TO_FAIL = {
    "run": ["digits-lucir", "data=cifar100", "data.folder=nowhere", "--quiet"],
    "learn": ["new", "nowhere", "--quiet"],
    "export": ["nowhere", "x.onnx"],
    "demo": ["--surprise"],
    "download": ["nothing"],
}


@st.composite
def commands(draw: st.DrawFn) -> list[str]:
    """Words for a command."""
    command = draw(st.sampled_from([*HARMLESS, *BOUND_TO_FAIL, *COMMANDS, "expalin", ""]))
    words = draw(st.lists(WORDS, max_size=4))
    if command in HARMLESS:
        return [command, *words]
    return [command, *words, *BOUND_TO_FAIL.get(command, ["--surprise"])]


def ends(folder: Path, words: list[str]) -> None:
    """An exit code that is told of, and no traceback."""
    out, err = io.StringIO(), io.StringIO()
    with _in(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    if code:
        assert code in (1, 2, 3, 4), code
        check_line(err.getvalue().removesuffix("\n"))
        raise RemanenceError(err.getvalue())
    out.getvalue().encode()


@contextlib.contextmanager
def _in(folder: Path) -> object:
    path, here = [*sys.path], Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        sys.path[:] = path


def prepare(folder: Path) -> None:
    made_model.model(folder / "m")
    (folder / "run").mkdir()
    prepare_run(folder / "run")
    (folder / "empty").mkdir()


PROPERTIES = [Property("the command line", commands(), ends, prepare)]
