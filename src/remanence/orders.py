"""The published class orders: what they are called, and the classes in the order of learning."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


@cache
def named_orders() -> dict[str, list[int]]:
    """The published class orders by name."""
    text = resources.files("remanence").joinpath("orders.json").read_text(encoding="utf-8")
    return {name: entry["order"] for name, entry in json.loads(text).items()}
