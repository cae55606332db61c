"""Photographs out of files: against plain two-step rendering, and whatever is odd about a file."""

import struct
import zlib

import made_photographs
import numpy as np
import pytest
from made_photographs import smooth
from PIL import Image

from remanence.core.errors import DataError
from remanence.photographs.decode import (
    LARGEST,
    Unreadable,
    central_box,
    check_header,
    cropped,
    random_box,
    square,
)

SIDE = 28  # of which 256 / 224 is whole
PIXELS = smooth()


def centre_of(pixels, side=SIDE):
    """Resize the shorter side to 256/224 of what is wanted, then cut the centre out."""
    image = Image.fromarray(pixels)
    short = round(side * 256 / 224)
    scale = short / min(image.size)
    width, height = (round(length * scale) for length in image.size)
    resized = np.asarray(image.resize((width, height), Image.Resampling.BILINEAR))
    top, left = (height - side) // 2, (width - side) // 2
    return resized[top : top + side, left : left + side]


def assert_alike(found, expected, within=6):
    assert found.shape == expected.shape and found.dtype == np.uint8
    assert np.abs(found.astype(int) - expected).max() <= within


@pytest.mark.parametrize("size", [(90, 60), (60, 90), (40, 40), (1000, 700), (20, 16)])
def test_without_chance_it_is_resize_and_centre_crop(tmp_path, size):
    path = made_photographs.save(tmp_path / "a.jpg", 3, size)
    assert_alike(square(path, SIDE), centre_of(smooth(*size, seed=3)), 8)


@pytest.mark.parametrize("size", [(90, 60), (1000, 700), (33, 47)])
@pytest.mark.parametrize("chance", [0, 1, 2**62])
def test_with_chance_it_is_the_resized_crop_of_the_box(tmp_path, size, chance):
    path = made_photographs.save(tmp_path / "a.png", 5, size)
    left, top, right, bottom = (int(x) for x in random_box(*size, chance))
    part = Image.fromarray(smooth(*size, seed=5)[top:bottom, left:right])
    expected = np.asarray(part.resize((SIDE, SIDE), Image.Resampling.BILINEAR))
    assert_alike(square(path, SIDE, chance), expected)
    assert np.array_equal(square(path, SIDE, chance), square(path, SIDE, chance))


def test_a_large_jpeg_is_reduced_while_it_is_decoded_and_looks_the_same(tmp_path):
    path = made_photographs.save(tmp_path / "a.jpg", 1, (1600, 1200))
    png = made_photographs.save(tmp_path / "a.png", 1, (1600, 1200))
    for chance in range(8):
        assert_alike(square(path, SIDE, chance), square(png, SIDE, chance), 4)


def test_boxes_lie_within_and_have_the_published_areas_and_shapes():
    boxes = np.array([random_box(500, 375, chance) for chance in range(4000)])
    across, down = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    assert boxes[:, :2].min() >= 0 and boxes[:, 2].max() <= 500 and boxes[:, 3].max() <= 375
    area, ratio = across * down / (500 * 375), across / down
    assert 0.078 < area.min() < 0.1 and 0.95 < area.max() <= 1
    assert ratio.min() > 0.74 and ratio.max() < 1.35
    assert abs(np.log(ratio[area < 0.5]).mean()) < 0.02  # of larger ones, not every shape fits
    assert (boxes[:, 0] / (500 - across + 1)).mean() == pytest.approx(0.5, abs=0.03)
    assert ((boxes[:, 0] == 0) & (across < 400)).any()  # the border is reached
    assert ((boxes[:, 2] == 500) & (across < 400)).any()


def test_a_box_that_never_fits_is_the_centre():
    assert random_box(1000, 10, 0) == pytest.approx((493.333, 0, 506.667, 10), abs=1e-3)
    assert random_box(10, 1000, 0) == pytest.approx((0, 493.333, 10, 506.667), abs=1e-3)
    assert central_box(100, 60) == pytest.approx((23.75, 3.75, 76.25, 56.25))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_a_photograph_stands_upright_whichever_way_the_camera_was_held(
    tmp_path, orientation, ending
):
    """How the pixels must be stored so that turning them by EXIF's definition gives PIXELS."""
    stored = {
        1: PIXELS,
        2: PIXELS[:, ::-1],
        3: PIXELS[::-1, ::-1],
        4: PIXELS[::-1],
        5: PIXELS.transpose(1, 0, 2),
        6: np.rot90(PIXELS),  # to be turned clockwise
        7: np.rot90(PIXELS, 2).transpose(1, 0, 2),
        8: np.rot90(PIXELS, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"a.{ending}"
    Image.fromarray(np.ascontiguousarray(stored)).save(path, exif=exif, quality=95)
    assert_alike(square(path, SIDE), centre_of(PIXELS), 8)
    upright = made_photographs.save(tmp_path / f"b.{ending}")
    assert_alike(square(path, SIDE, 7), square(upright, SIDE, 7), 8)


def test_damaged_exif_does_not_make_an_image_unreadable(tmp_path):
    path = tmp_path / "a.jpg"
    Image.fromarray(PIXELS).save(path, quality=95, exif=b"Exif\0\0MM\0*\xff\xff\xff\xff\0\1\2")
    assert_alike(square(path, SIDE), centre_of(PIXELS), 8)


def test_gray_is_gray_and_cmyk_has_the_colours_of_the_same_in_rgb(tmp_path):
    gray = PIXELS[:, :, 0]
    Image.fromarray(gray).save(tmp_path / "gray.jpg", quality=95)
    assert_alike(square(tmp_path / "gray.jpg", SIDE), centre_of(np.stack([gray] * 3, 2)))
    Image.fromarray(PIXELS).convert("CMYK").save(tmp_path / "cmyk.jpg", quality=98)
    assert_alike(square(tmp_path / "cmyk.jpg", SIDE), centre_of(PIXELS), 12)


def test_sixteen_bits_become_eight(tmp_path):
    gray = PIXELS[:, :, 0]
    Image.fromarray(gray.astype(np.uint16) * 256 + 77).save(tmp_path / "deep.png")
    assert Image.open(tmp_path / "deep.png").mode.startswith("I")
    assert_alike(square(tmp_path / "deep.png", SIDE), centre_of(np.stack([gray] * 3, 2)))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "P with a transparent colour"])
def test_what_is_transparent_is_white_and_the_rest_keeps_its_colour(tmp_path, mode):
    image = Image.new("RGBA", (40, 40), (200, 200, 200, 255))
    image.paste((0, 0, 0, 0), (0, 0, 20, 40))
    path, options = tmp_path / "a.png", {}
    if mode.startswith("P"):
        image = Image.new("P", (40, 40), 1)
        image.putpalette([0, 0, 0, 200, 200, 200])
        image.paste(0, (0, 0, 20, 40))
        options = {"transparency": 0} if "transparent" in mode else {}
    else:
        image = image.convert(mode)
    image.save(path, **options)
    found = square(path, SIDE)
    assert (found[:, -10:] == 200).all()
    assert (found[:, :10] == (0 if mode == "P" else 255)).all()


def test_the_ending_may_lie_and_of_what_moves_the_first_frame_is_seen(tmp_path):
    Image.fromarray(PIXELS).save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(tmp_path / "a.jpg")
    assert_alike(square(tmp_path / "a.jpg", SIDE), centre_of(PIXELS))
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "b.jpg", "GIF", save_all=True, append_images=frames[1:])
    assert (square(tmp_path / "b.jpg", SIDE) == [255, 0, 0]).all()
    Image.fromarray(PIXELS).save(tmp_path / "c.webp", quality=95)
    Image.fromarray(PIXELS).save(tmp_path / "c.bmp")
    assert_alike(square(tmp_path / "c.webp", SIDE), centre_of(PIXELS), 16)
    assert_alike(square(tmp_path / "c.bmp", SIDE), centre_of(PIXELS))


def huge_png(width, height):
    """A header that claims what no memory holds, and hardly anything behind it."""

    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes(100)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [10_000, 60_000])
def test_what_is_absurdly_large_is_refused_by_its_header(tmp_path, side):
    path = tmp_path / "a.png"
    path.write_bytes(huge_png(side, side))
    assert side * side > LARGEST
    for look in (check_header, lambda one: square(one, SIDE)):
        with pytest.raises(Unreadable, match="pixels"):
            look(path)


@pytest.mark.parametrize(
    "content", [b"", b"no image at all", b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"BM"]
)
def test_what_does_not_begin_as_an_image_is_unreadable_in_one_line(tmp_path, content):
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    for look in (check_header, lambda one: square(one, SIDE)):
        with pytest.raises(Unreadable) as caught:
            look(path)
        assert str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "bmp"])
def test_what_ends_too_early_is_unreadable(tmp_path, ending):
    path = made_photographs.save(tmp_path / f"a.{ending}", size=(300, 200))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(Unreadable):
        square(path, SIDE)


def test_a_disk_that_does_not_answer_is_no_damaged_image(tmp_path):
    for look in (check_header, lambda one: square(one, SIDE)):
        with pytest.raises(DataError, match=r"cannot read .*gone\.jpg: No such file"):
            look(tmp_path / "gone.jpg")


def test_pixels_in_memory_are_cropped_like_a_file_of_them(tmp_path):
    pixels = smooth(SIDE, SIDE)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert np.array_equal(cropped(pixels, 5), square(tmp_path / "a.png", SIDE, 5))
