"""For all tests: one thread, because the last bits of a sum depend on how many share it."""

from __future__ import annotations

import os

import pytest

# Read by torch when it is first imported, and inherited by the commands that tests start.
os.environ["OMP_NUM_THREADS"] = "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew", action="store_true", help="write the golden records anew")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is remembered of this machine stays out of the user's cache folder."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
