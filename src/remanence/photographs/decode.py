"""One photograph: its file to a square of pixels, whatever is odd about the file.

A JPEG is decoded at a half, a quarter or an eighth of its size where that is enough. What is
random about a view is decided by one number, so that it can be seen again.
"""

from __future__ import annotations

import hashlib
import io
import math
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from PIL.Image import Transpose

from remanence.core.errors import DataError

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")  # Pillow takes MPO for JPEG
LARGEST = 80_000_000  # pixels; a file that claims more is not decoded
ORIENTATION = 0x0112  # in EXIF; 1 is upright, from 5 on an image lies on its side
UPRIGHT = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
SCALE, RATIO, TRIES = (0.08, 1.0), (3 / 4, 4 / 3), 10
CENTRE = 224 / 256  # of the shorter side

Box = tuple[float, float, float, float]
T = TypeVar("T")

warnings.filterwarnings("ignore", module=r"PIL\.")  # what is odd about a file is told of by us


class Unreadable(Exception):
    """What a file holds is no image that can be read; the message says why."""


def cannot_read(path: Path, error: OSError) -> DataError:
    """The one line that it comes to when the disk does not give what is asked for."""
    return DataError(
        f"cannot read {path}: {error.strerror or error}; see that it is there and may be read"
    )


def content_hash(path: Path) -> str:
    """A hash of the bytes of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise cannot_read(path, error) from None


def check_header(path: Path) -> None:
    """Raise Unreadable where a file does not even begin as an image of a size that is sane."""
    _opened(path, _checked)


def square(path: Path, side: int, chance: int | None = None) -> NDArray[np.uint8]:
    """A photograph as height x width x 3: its centre, or the crop that `chance` decides on."""
    return _opened(path, lambda image: _cut(_checked(image), side, chance))


def pixels_of(
    source: Path | bytes | Image.Image, side: int, centre: float = CENTRE
) -> NDArray[np.uint8]:
    """The centre of an image, wherever it is: in a file, in the bytes of one, or decoded."""

    def made(image: Image.Image) -> NDArray[np.uint8]:
        return _cut(_checked(image), side, None, centre)

    if isinstance(source, Image.Image):
        return _guarded(source, lambda: made(source))
    return _opened(source, made)


def reduced(path: Path, shorter: int) -> bytes:
    """A photograph as JPEG: upright, its shorter side at most so long, and nothing told of it."""

    def made(image: Image.Image) -> bytes:
        content = io.BytesIO()
        _small(image, shorter).save(content, "JPEG", quality=92)
        return content.getvalue()

    return _opened(path, made)


def reduced_pixels(path: Path, shorter: int) -> NDArray[np.uint8]:
    """The same as height x width x 3."""
    return _opened(path, lambda image: np.asarray(_small(image, shorter)))


def _small(image: Image.Image, shorter: int) -> Image.Image:
    _checked(image)
    orientation, scale = _orientation(image), min(1.0, shorter / min(image.size))
    size = tuple(max(1, round(length * scale)) for length in image.size)
    image.draft(None, size)  # type: ignore[arg-type]
    small = _coloured(image).resize(size, Image.Resampling.BILINEAR)  # type: ignore[arg-type]
    return small.transpose(UPRIGHT[orientation]) if orientation in UPRIGHT else small


def shown(pixels: NDArray[np.uint8], side: int, chance: int | None) -> NDArray[np.uint8]:
    """What `square` shows of a photograph whose pixels are at hand."""
    return _cut(Image.fromarray(pixels), side, chance)


def cropped(pixels: NDArray[np.uint8], chance: int) -> NDArray[np.uint8]:
    """A crop, as large as the whole, of pixels that are in memory already."""
    return shown(pixels, len(pixels), chance)


def random_box(width: int, height: int, chance: int) -> Box:
    """A part of an image: 8 to 100 % of its area, between 3:4 and 4:3, anywhere.

    Where ten tries do not fit, it is as much of the centre as those shapes admit.
    """
    draw = random.Random(chance)
    for _ in range(TRIES):
        area = width * height * draw.uniform(*SCALE)
        ratio = math.exp(draw.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        across, down = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < across <= width and 0 < down <= height:
            left = int(draw.random() * (width - across + 1))
            top = int(draw.random() * (height - down + 1))
            return left, top, left + across, top + down
    return _centred(width, height, min(width, height * RATIO[1]), min(height, width / RATIO[0]))


def central_box(width: int, height: int, centre: float = CENTRE) -> Box:
    """The centre of an image: what is left of it after Resize 256 and CenterCrop 224."""
    part = min(width, height) * centre
    return _centred(width, height, part, part)


def _centred(width: float, height: float, across: float, down: float) -> Box:
    left, top = (width - across) / 2, (height - down) / 2
    return left, top, left + across, top + down


def _opened(source: Path | bytes, use: Callable[[Image.Image], T]) -> T:
    """What `use` makes of the image in a file, or in the bytes of one."""

    def used() -> T:
        file = io.BytesIO(source) if isinstance(source, bytes) else source
        with Image.open(file, formats=FORMATS) as image:
            return use(image)

    return _guarded(source, used)


def _guarded(source: object, use: Callable[[], T]) -> T:
    """What `use` gives; where it fails, it is because of the image."""
    try:
        return use()
    except (Unreadable, MemoryError):
        raise
    except Exception as error:  # decoders raise nearly anything on bytes that are damaged
        if isinstance(source, Path) and isinstance(error, OSError) and error.errno is not None:
            raise cannot_read(source, error) from None
        raise Unreadable(_one_line(source, error)) from None


def _one_line(source: object, error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "no image, or of a format that is not known here"
    message = (
        str(error).replace(str(source), "the file") if isinstance(source, Path) else str(error)
    )
    return " ".join(message.split()) or type(error).__name__


def _checked(image: Image.Image) -> Image.Image:
    width, height = image.size
    if width * height > LARGEST:
        raise Unreadable(f"{width} x {height} pixels, more than {LARGEST // 10**6} million")
    return image


def _cut(
    image: Image.Image, side: int, chance: int | None, centre: float = CENTRE
) -> NDArray[np.uint8]:
    orientation = _orientation(image)
    width, height = image.size[::-1] if orientation >= 5 else image.size
    if chance is None:
        box = central_box(width, height, centre)
    else:
        box = random_box(width, height, chance)
    smaller = max(1.0, min(box[2] - box[0], box[3] - box[1]) / side)
    image.draft(None, tuple(math.ceil(length / smaller) for length in image.size))  # type: ignore
    if orientation in UPRIGHT:
        image = image.transpose(UPRIGHT[orientation])
    across, down = image.size
    left, right = (min(x / width, 1) * across for x in box[::2])
    top, bottom = (min(y / height, 1) * down for y in box[1::2])
    coloured, part = _coloured(image), (left, top, right, bottom)
    return np.asarray(coloured.resize((side, side), Image.Resampling.BILINEAR, box=part))


def _orientation(image: Image.Image) -> int:
    try:
        found: Any = image.getexif().get(ORIENTATION, 1)
    except Exception:  # what is said about an image may be damaged where the image is not
        return 1
    return found if found in UPRIGHT else 1


def _coloured(image: Image.Image) -> Image.Image:
    """In RGB: 16 bits to 8, and what is transparent is white."""
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image) // 256).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        ground = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(ground, image.convert("RGBA"))
    return image if image.mode == "RGB" else image.convert("RGB")
