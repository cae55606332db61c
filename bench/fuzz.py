"""Ten thousand inputs of each kind: what is damaged, odd or hostile is taken or refused, no more.

    python bench/fuzz.py --inputs 10000
    python bench/fuzz.py --inputs 500 --only models

The properties are those of the tests in tests/fuzz. An input that breaks one ends it: it is made
small and shown, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["OMP_NUM_THREADS"] = "1"
TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "fuzz"), str(TESTS / "unit")]  # where the properties are

if TYPE_CHECKING:
    from properties import Property

RESULT = Path("results/reliability/fuzz.json")


def main() -> int:
    """Try all, and write down what they came to."""
    from faults.surroundings import surroundings

    args = _arguments()
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="fuzz-"))
    os.environ["XDG_CACHE_HOME"] = str(scratch / "cache")
    args.result.parent.mkdir(parents=True, exist_ok=True)
    command, found = f"python bench/fuzz.py --inputs {args.inputs}", {}
    for one in _properties(scratch):
        if args.only in one.name:
            found[one.name] = _tried(one, args.inputs, scratch / "here")
            print(f"{one.name}: {json.dumps(found[one.name])}", flush=True)
            tree = {"properties": found} | surroundings(command, time.monotonic() - started)
            args.result.write_text(json.dumps(tree, indent=2) + "\n")
    shutil.rmtree(scratch)
    return 1 if any("broken" in one for one in found.values()) else 0


def _tried(one: Property, count: int, folder: Path) -> dict[str, Any]:
    from properties import fuzz

    folder.mkdir()
    try:
        found = fuzz(one, count, folder, is_random=True)
    except Exception as error:
        traceback.print_exc()
        return {"broken": f"{type(error).__name__}: {error}"[:300]}
    finally:
        shutil.rmtree(folder)
    return {
        "taken": found.taken,
        "refused": found.refused,
        "slowest_cpu_s": round(found.slowest, 3),
    }


def _properties(scratch: Path) -> list[Property]:
    import of_files
    import of_images
    import of_settings
    import of_words

    (scratch / "examples").mkdir()
    return [
        *of_settings.PROPERTIES,
        *of_files.properties(scratch / "examples"),
        *of_images.PROPERTIES,
        *of_words.PROPERTIES,
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=10_000, help="of each kind (default: 10000)")
    parser.add_argument("--only", default="", metavar="TEXT", help="kinds whose name has this")
    parser.add_argument("--result", type=Path, default=RESULT, help=f"(default: {RESULT})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
