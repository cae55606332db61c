"""Who may import whom, where the layers of import-linter cannot say it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import remanence
from remanence.core import choices

SOURCE = Path(remanence.__file__).parent
KINDS = ("methods", "effects", "data", "backbones")


def _imports(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in choices.names(kind)]
)
def test_no_choice_knows_another_of_its_kind(kind: str, name: str) -> None:
    siblings = {f"remanence.{kind}.{other}" for other in choices.names(kind)}
    assert not _imports(SOURCE / kind / f"{name}.py") & siblings


@pytest.mark.parametrize(
    "module", ["metrics", "records", "run_folder", "report.table", "report.figure", "report.page"]
)
def test_reports_need_no_torch(module: str) -> None:
    program = f"import sys, remanence.{module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_no_module_is_long() -> None:
    lengths = {file: len(file.read_text().splitlines()) for file in SOURCE.rglob("*.py")}
    assert {str(file) for file, lines in lengths.items() if lines > 300} == set()
