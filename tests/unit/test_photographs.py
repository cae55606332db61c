"""Photographs as a pool: seen in order, the same by however many threads, kept by reference."""

import threading

import made
import made_photographs
import numpy as np
import pytest
import torch

from remanence.augment import NAMED
from remanence.core import archive
from remanence.core.errors import DataError
from remanence.loader import Epoch, Pool
from remanence.memory import summary
from remanence.photographs import album as album_module
from remanence.photographs import collection
from remanence.photographs.album import GRAY
from remanence.photographs.decode import square

LUCIR = NAMED["imnet_lucir"]


def pool_of(images, augmentation=LUCIR):
    return Pool(images, len(images), augmentation, images.mean_image(), made.CPU)


def epoch_of(pool, number=0, batch_size=4):
    return Epoch(pool, pool.everything, batch_size, 7, (1, "main", number))


def channels_first(pixels):
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


@pytest.fixture
def images(tmp_path):
    return made_photographs.photographs(tmp_path)


def test_training_sees_crops_and_prediction_sees_centres(images):
    pool = pool_of(images)
    epoch = epoch_of(pool)
    paths = [images.album.folder / name for name in images.album.names]
    crops = [square(path, 8, c) for path, c in zip(paths, epoch.chances.tolist(), strict=True)]
    expected = LUCIR.train_view(
        torch.stack([channels_first(crop) for crop in crops]), epoch.draws, pool.mean_image
    )
    assert torch.equal(epoch.view(pool.everything), expected)
    centres = torch.stack([channels_first(square(path, 8)) for path in paths])
    assert torch.equal(images.pixels, centres)
    assert torch.equal(pool.test_view(pool.everything), LUCIR.test_view(centres, pool.mean_image))
    unvaried = Epoch(pool, pool.everything, 4, 7, (1, "main", 0), varies_images=False)
    assert torch.equal(unvaried.view(torch.tensor([3])), pool.test_view(torch.tensor([3])))


def test_an_augmentation_that_does_not_crop_moves_the_centres(images):
    pool = pool_of(images, NAMED["cifar_lucir"])
    epoch = epoch_of(pool)
    expected = NAMED["cifar_lucir"].train_view(images.pixels, epoch.draws, pool.mean_image)
    assert epoch.chances is None
    assert torch.equal(epoch.view(pool.everything), expected)


@pytest.mark.parametrize("workers", [1, 5])
def test_how_many_threads_decode_makes_no_difference(tmp_path, workers):
    one, other = (
        epoch_of(pool_of(made_photographs.photographs(tmp_path, 30, workers=threads)))
        for threads in (2, workers)
    )
    for batch, same in zip(one.batches(), other.batches(), strict=True):
        assert torch.equal(batch.images, same.images) and torch.equal(batch.labels, same.labels)


def test_a_view_can_be_seen_again_and_an_epoch_gone_on_with(images):
    pool = pool_of(images)
    whole = epoch_of(pool).view(pool.everything)
    some = torch.tensor([9, 0, 0, 5])
    assert torch.equal(epoch_of(pool).view(some), whole[some])
    assert not torch.equal(epoch_of(pool, 1).view(some), whole[some])
    batches = list(epoch_of(pool).batches())
    for start in range(4):
        rest = list(epoch_of(pool).batches(start))
        assert len(rest) == 3 - start
        for batch, same in zip(batches[start:], rest, strict=True):
            assert torch.equal(batch.images, same.images)
            assert torch.equal(batch.images, whole[batch.indices])


def test_only_a_few_batches_are_decoded_ahead(tmp_path, monkeypatch):
    images = made_photographs.photographs(tmp_path, 60)
    decoded = []
    monkeypatch.setattr(
        album_module, "square", lambda path, side, chance: decoded.append(path) or smooth(side)
    )

    def smooth(side):
        return made_photographs.smooth(side, side)

    for number, _ in enumerate(images.seen(torch.arange(60).split(4)), 1):
        assert len(decoded) <= 4 * (number + collection.BATCHES_AHEAD)
    assert len(decoded) == 60


def test_threads_end_with_the_epoch_even_if_it_is_left(images):
    before = threading.active_count()
    batches = epoch_of(pool_of(images)).batches()
    next(batches)
    batches.close()
    assert threading.active_count() == before


def test_what_cannot_be_decoded_is_gray_and_told_of(images):
    broken = images.album.folder / "all/00003.jpg"
    broken.write_bytes(broken.read_bytes()[:300])
    pool = pool_of(images)
    view = epoch_of(pool).view(pool.everything)
    gray = torch.full((1, 3, 8, 8), GRAY, dtype=torch.uint8)
    torch.testing.assert_close(view[3:4], LUCIR.test_view(gray, pool.mean_image))
    assert list(images[torch.tensor([1])].unreadable) == ["all/00003.jpg"]
    assert torch.equal(images.pixels[3:4], gray)


def test_a_file_that_is_gone_ends_the_work_in_one_line(images):
    (images.album.folder / "all/00003.jpg").unlink()
    with pytest.raises(DataError, match=r"cannot read .*00003\.jpg: No such file"):
        list(epoch_of(pool_of(images)).batches())


def test_photographs_and_images_in_memory_are_one_pool(images):
    held = made.images([7, 8])
    for joined, order in (
        (images.joined(held), [*range(11), -1, -2]),
        (held.joined(images), [-1, -2, *range(11)]),
        (images.joined(held)[torch.tensor([12, 3])].joined(held), [-2, 3, -3, -4]),
    ):
        assert joined.places.tolist() == order
        expected = [
            images.pixels[place] if place >= 0 else held.pixels[(-1 - place) % 2] for place in order
        ]
        assert torch.equal(joined.pixels, torch.stack(expected))
    joined = images.joined(held)
    assert joined.labels.tolist() == [*images.labels.tolist(), 7, 8]
    epoch = epoch_of(pool_of(joined))
    view = epoch.view(torch.tensor([11, 2]))
    assert torch.equal(view[1:], epoch.view(torch.tensor([2])))
    assert not torch.equal(view[:1], LUCIR.test_view(held.pixels[:1], torch.zeros(3, 1, 1)))


@pytest.mark.parametrize("with_held", [False, True])
def test_files_are_kept_as_names_and_hashes(images, tmp_path, with_held):
    some = images[torch.tensor([4, 1, 10])]
    some = some.joined(made.images([5]))[torch.tensor([0, 3, 1])] if with_held else some
    archive.save(tmp_path / "kept", some.state())
    assert (tmp_path / "kept").stat().st_size < 2000
    again = images[torch.empty(0, dtype=torch.int64)].load(archive.load(tmp_path / "kept"))
    assert again.places.tolist() == some.places.tolist()
    assert torch.equal(again.labels, some.labels) and torch.equal(again.pixels, some.pixels)


def test_a_kept_file_must_be_there_unchanged(images, tmp_path):
    state = images[torch.tensor([4, 1])].state()
    path = images.album.folder / "all/00001.jpg"
    other = made_photographs.photographs(tmp_path)  # knows no hash yet
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DataError, match=r"00001\.jpg was kept, but has changed"):
        other.load(state)
    with pytest.raises(DataError, match=r"gone\.jpg was kept, but is gone"):
        other.load(state | {"files": ["all/00004.jpg", "all/gone.jpg"]})


def test_images_that_were_kept_in_memory_are_loaded_as_such(images):
    held = made.images([5, 6])
    again = images.load(held.state())
    assert torch.equal(again.pixels, held.pixels) and torch.equal(again.labels, held.labels)


def test_the_ledger_counts_the_bytes_of_files(images):
    some = images[torch.tensor([4, 1])]
    sizes = [(images.album.folder / name).stat().st_size for name in images.album.names[[4, 1]]]
    assert summary(some)["bytes"] == sum(sizes) and summary(some)["images"] == 2
    mixed = some.joined(made.images([5]))
    assert summary(mixed)["bytes"] == sum(sizes) + 3 * 8 * 8
    others = [images[torch.tensor([1, 4])], some.labelled(some.labels + 1), mixed]
    assert len({summary(one)["hash"] for one in (some, *others)}) == 4
    assert summary(images[torch.tensor([4, 1])]) == summary(some)
