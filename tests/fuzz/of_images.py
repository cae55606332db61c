"""Images, and folders of them."""

from __future__ import annotations

import io
import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from damaged import damaged
from hypothesis import strategies as st
from made_photographs import smooth
from PIL import Image
from properties import Property

from remanence.data.folder import Folder
from remanence.photographs.decode import check_header, reduced, square

SIDE = 12
Entry = tuple[tuple[str, ...], str, bytes]  # where, of which kind, and what is in it
# Of a file system: no slash, no zero byte.
NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=9
)


@cache
def examples() -> tuple[bytes, ...]:
    """Small images of each format and mode."""
    picture = Image.fromarray(smooth(20, 14))
    exif = Image.Exif()
    exif[0x0112] = 6
    found = [_saved(picture, kind) for kind in ("JPEG", "PNG", "WEBP", "BMP", "GIF")]
    found += [_saved(picture.convert(mode), "PNG") for mode in ("L", "P", "RGBA", "LA", "1")]
    deep = Image.fromarray(np.asarray(picture.convert("L")).astype(np.uint16) * 256)
    found += [_saved(deep, "PNG"), _saved(picture.convert("CMYK"), "JPEG")]
    found += [_saved(picture, "JPEG", exif=exif), _saved(picture, "JPEG", progressive=True)]
    found += [_saved(picture, "GIF", save_all=True, append_images=[picture.rotate(180)])]
    found += [_saved(picture, "WEBP", lossless=True), _saved(picture.resize((1, 1)), "PNG")]
    return tuple(found)


def _saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def decodes(folder: Path, content: bytes) -> None:
    """A square in colour comes out, or a line about the file."""
    file = folder / "x.jpg"
    file.write_bytes(content)
    check_header(file)
    for chance in (None, 5):
        assert square(file, SIDE, chance).shape == (SIDE, SIDE, 3)
    with Image.open(io.BytesIO(reduced(file, SIDE))) as small:
        assert min(small.size) <= SIDE


PLAIN = [((name, f"{n}.png"), "file", examples()[n]) for name in "ab" for n in range(3)]
WITH_TEST = [
    ((split, *where), kind, one) for split in ("train", "test") for where, kind, one in PLAIN
]


@st.composite
def trees(draw: st.DrawFn) -> list[Entry]:
    """Classes as they should be, or none, and up to four entries that are odd."""
    file = st.sampled_from(["1.jpg", "2.PNG", "notes.txt", ".x.jpg", "a", "b"]) | NAMES
    above = st.lists(st.sampled_from(["train", "test", "val", "a", "b", ".hidden"]), max_size=3)
    where = st.builds(lambda folders, name: (*folders, name), above, file)
    kind = st.sampled_from(["file", "file", "file", "loop", "nowhere", "folder", "pipe"])
    content = st.sampled_from(examples()) | damaged(examples())
    odd = draw(st.lists(st.tuples(where, kind, content), max_size=4))
    return [*draw(st.sampled_from([[], PLAIN, PLAIN, WITH_TEST, WITH_TEST])), *odd]


def scans(folder: Path, entries: list[Entry]) -> None:
    """What is taken has images of each class on both sides."""
    root = folder / "data"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for where, kind, content in entries:
        _put(root.joinpath(*where), kind, content)
    splits = Folder(folder=str(root), size=SIDE, workers=1).load()
    for images in (splits.train, splits.test):
        assert (images.labels.bincount(minlength=len(splits.class_names)) > 0).all()
        assert images.pixels.shape[1:] == (3, SIDE, SIDE)


def _put(path: Path, kind: str, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path):
            return
        if kind == "loop":
            path.symlink_to(path.parent, target_is_directory=True)
        elif kind == "nowhere":
            path.symlink_to("nowhere")
        elif kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.write_bytes(content)
    except OSError:
        pass  # names that two entries share, or that no file system takes


PROPERTIES = [
    Property("images", damaged(examples()), decodes),
    Property("folders of photographs", trees(), scans),
]
