"""Help, version, and the lists of what there is."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from commands import Here, finished

from remanence.cli.list import KINDS
from remanence.cli.main import COMMANDS, EXIT_CODES
from remanence.core import choices
from remanence.orders import named_orders
from remanence.recipe import recipe_names

HEAVY = ("torch", "pydantic", "numpy", "rich", "matplotlib", "sklearn")
HELP = """
import sys
from remanence.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code
print(*sorted(set(sys.modules) & {heavy}))
"""


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_imports_nothing_heavy(command: str) -> None:
    words = [command, "--help"] if command else ["--help"]
    program = HELP.format(heavy=set(HEAVY))
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert time.monotonic() - begun < 3, "0.3 s where nobody else computes"
    assert done.returncode == 0, done.stderr
    *page, heavy = done.stdout.splitlines()
    assert heavy == ""
    assert page[0].startswith(f"usage: remanence {command}".rstrip())


def test_the_first_page_names_every_command_and_exit_code(here: Here) -> None:
    page = here("--help").out
    assert all(f"\n    {command}" in page for command in COMMANDS)
    assert EXIT_CODES in page


def test_no_command_is_answered_with_the_first_page(here: Here) -> None:
    outcome = here()
    assert outcome.code == 2
    assert outcome.out == here("--help").out


def test_the_version_is_a_number(here: Here) -> None:
    outcome = here("--version")
    assert outcome.code == 0
    assert outcome.out.strip().replace(".", "").isdigit()


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_has_a_line_for_everything_there_is(kind: str, here: Here) -> None:
    known = {"recipes": recipe_names, "orders": named_orders}
    names = list(known[kind]()) if kind in known else choices.names(kind)
    lines = here("list", kind).out.splitlines()
    assert [line.split()[0] for line in lines] == names
    found = json.loads(here("list", kind, "--json").out)
    assert list(found) == names
    assert all(len(about.split()) > 1 for about in found.values())
    assert [line.split(maxsplit=1)[1] for line in lines] == list(found.values())


def test_a_list_is_a_command_of_the_system() -> None:
    outcome = finished("list", "methods")
    assert (outcome.code, outcome.err) == (0, "")
    assert "lucir" in outcome.out
