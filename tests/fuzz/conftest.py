"""Makers of true examples, and a true reader's test, are shared with the unit tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
