"""Files of a run that are cut, flipped, emptied or gone, each kind of file in each way."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from faults.subject import Ended, Subject, contents
from faults.tally import Tally

Way = Callable[[bytes, random.Random], bytes | None]
MOST_ADVICE = 5


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def _flipped(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


WAYS: dict[str, Way] = {
    "a file that is cut": _cut,
    "a bit that is flipped": _flipped,
    "a file that is empty": lambda content, chance: b"",
    "a file that is gone": lambda content, chance: None,
    "noise in place of a file": lambda content, chance: chance.randbytes(len(content)),
}


def damage(subject: Subject, count: int, where: Path, tally: Tally, chance: random.Random) -> None:
    """So many times in each way, going round the files of a finished run and of a cut one."""
    kept = [subject.undisturbed, _cut_run(subject, where / "cut")]
    for number in range(count):
        whole = kept[number % len(kept)]
        files = sorted(one.relative_to(whole) for one in whole.rglob("*") if one.stat().st_size)
        files = [one for one in files if (whole / one).is_file()]
        for kind, way in WAYS.items():
            file = files[(number // len(kept)) % len(files)]
            run = Path(shutil.copytree(whole, where / "damaged"))
            with tally.watched(kind, about=str(file)):
                content = way((run / file).read_bytes(), chance)
                _put(run / file, content)
                outcome = _healed(subject, run, file, content is None)
                tally.count(kind, outcome)
            shutil.rmtree(run)


def _cut_run(subject: Subject, folder: Path) -> Path:
    """A run that was killed in the middle of its second increment."""
    process = subject.start(folder, "--save-every", "0")
    while process.process.is_alive():
        session = (folder / "checkpoints" / "session.safetensors").exists()
        if session and (folder / "kept" / "000.jsonl").exists():
            break
    assert process.killed()
    return folder


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


def _healed(subject: Subject, run: Path, file: Path, is_gone: bool) -> str:
    """Run it again, doing what it asks for as long as it asks; how it ended."""
    gone = {str(file)} if is_gone else set()
    for advised in range(MOST_ADVICE):
        end = subject.done(run)
        if end.code == 0:
            _check_same(subject, run, gone)
            return "refused" if advised else "survived"
        gone |= _followed(end, run)
    raise AssertionError(f"{file}: no end of advice: {end.last}")


def _check_same(subject: Subject, run: Path, gone: set[str]) -> None:
    """Everything is as it would be but for what was deleted of increments that are over."""
    away = {name for name in gone if not (run / name).exists()}
    needed = [name for name in away & contents(subject.undisturbed).keys() if not _is_over(name)]
    assert not needed, f"{needed} did not come again"
    assert subject.same(run, without=sorted(away)), f"the end differs without {sorted(gone)}"


def _is_over(name: str) -> bool:
    return name.startswith(("predictions/", "kept/")) or name.endswith("before.safetensors")


def _followed(end: Ended, run: Path) -> set[str]:
    """Delete the file that a refusal names."""
    assert end.refused and "delete" in end.last, end.last
    named = [one for one in run.rglob("*") if one.is_file() and str(one) in end.last]
    if named:
        (file,) = named
        file.unlink()
        return {str(file.relative_to(run))}
    assert f"delete {run} to run it again" in end.last, end.last
    shutil.rmtree(run)
    return set()
