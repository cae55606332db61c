"""JSON from files and words that anybody may have written."""

from __future__ import annotations

import json
from typing import Any


def parsed(text: str | bytes) -> Any:
    """What a text of JSON says; a ValueError wherever it says nothing, or nests without end."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
