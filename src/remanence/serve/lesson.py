"""A lesson as it comes in: the name of a class and photographs, put where learning looks."""

from __future__ import annotations

import shutil
import tempfile
import unicodedata
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from remanence.model.description import ClassName
from remanence.photographs.decode import Unreadable, check_header
from remanence.photographs.scan import ENDINGS
from remanence.serve.refused import Refused

CLASS, PHOTOGRAPHS = "class", "photographs"
FEWEST, MOST = 2, 1000
LONGEST, LONGEST_IN_BYTES = 100, 200  # of a name; it becomes that of a folder


@dataclass(frozen=True)
class Lesson:
    """What is to be taught. root has the photographs below train/NAME/. notes: lines to read."""

    name: str
    root: Path
    photographs: int
    notes: tuple[str, ...] = ()

    def forget(self) -> None:
        """The photographs as they came are of no more use."""
        shutil.rmtree(self.root, ignore_errors=True)

    def plain(self, line: str) -> str:
        """A line of learning without the folders, which nobody has chosen."""
        return line.replace(f" in {self.root}", "").replace(f"train/{self.name}/", "")


async def received(headers: Headers, body: AsyncGenerator[bytes, None], largest: int) -> Lesson:
    """The lesson in a form; what cannot be one is refused, and leaves nothing behind."""
    if not headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Refused(415, f"send a form (multipart/form-data) with {CLASS} and {PHOTOGRAPHS}")
    try:
        form = await MultiPartParser(
            headers, body, max_files=MOST, max_fields=2, max_part_size=8 * LONGEST_IN_BYTES
        ).parse()
        try:
            return await run_in_threadpool(_written, form, largest)
        finally:
            await form.close()
    except MultiPartException as error:
        raise Refused(400, f"the form cannot be read: {error.message}") from None
    except OSError as error:
        raise Refused(507, f"no room for the lesson here: {error.strerror or error}") from None


def class_name(text: str) -> str:
    """A name as it is to be kept: in any script, but nothing that a folder could not be called."""
    name = unicodedata.normalize("NFC", text).strip()
    try:
        TypeAdapter(ClassName).validate_python(name)
    except ValidationError as error:
        raise Refused(422, f"{CLASS}: {error.errors()[0]['msg']}") from None
    if name.startswith("."):
        raise Refused(422, f"{CLASS}: the name of a class does not begin with a dot")
    if len(name) > LONGEST or len(name.encode()) > LONGEST_IN_BYTES:
        raise Refused(422, f"{CLASS}: a name has at most {LONGEST} letters")
    return name


def _written(form: FormData, largest: int) -> Lesson:
    name, photographs = _fields(form)
    for file in photographs:
        if (file.size or 0) > largest:
            raise Refused(
                413, f"{_shown(file)} has more than the {largest:,} bytes of a photograph"
            )
    root = Path(tempfile.mkdtemp(prefix="remanence-lesson-"))
    try:
        return _sorted_out(name, root, photographs)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise


def _fields(form: FormData) -> tuple[str, list[UploadFile]]:
    """The name and the files; anything else is somebody's mistake."""
    unknown = sorted(set(form) - {CLASS, PHOTOGRAPHS})
    names, files = form.getlist(CLASS), form.getlist(PHOTOGRAPHS)
    if unknown or len(names) != 1:
        raise Refused(422, f"send one {CLASS} and several {PHOTOGRAPHS}, and nothing else")
    photographs = [one for one in files if isinstance(one, UploadFile)]
    if not isinstance(names[0], str) or len(photographs) < len(files):
        raise Refused(422, f"{CLASS} is text, and {PHOTOGRAPHS} are files")
    return class_name(names[0]), photographs


def _sorted_out(name: str, root: Path, photographs: Sequence[UploadFile]) -> Lesson:
    """The lesson of those that begin as images do."""
    folder = root / "train" / name
    folder.mkdir(parents=True)
    faults = []
    for number, file in enumerate(photographs, 1):
        path = folder / f"{number:04} {_shown(file)}"
        with path.open("wb") as out:
            shutil.copyfileobj(file.file, out)
        try:
            check_header(path)
        except Unreadable as error:
            faults.append(f"{_shown(file)} is left out: {error}")
            path.unlink()
    readable = len(photographs) - len(faults)
    if readable < FEWEST:
        why = f"; {faults[0]}" if faults else ""
        raise Refused(
            422, f"a lesson takes {FEWEST} photographs that can be read, not {readable}{why}"
        )
    return Lesson(name, root, readable, tuple(faults))


def _shown(file: UploadFile) -> str:
    """The last part of a file's name, as far as it is harmless, ending as a photograph does."""
    given = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    stem, dot, ending = given.rpartition(".")
    letters = "".join(letter for letter in (stem if dot else given) if letter.isprintable())
    ending = f".{ending.lower()}"
    return f"{letters[:40] or 'photograph'}{ending if ending in ENDINGS else '.jpg'}"
