"""Whole-batch augmentation against rendering each image by hand."""

import dataclasses

import made
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence.augment import NAMED, Augmentation, augmentation
from remanence.core.errors import SettingsError

PLAIN = Augmentation(mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
KINDS = {
    "plain": PLAIN,
    "bright": dataclasses.replace(PLAIN, brightness=63 / 255),
    "never mirrored": dataclasses.replace(PLAIN, mirrors=False, pad=1),
    "neither moved": dataclasses.replace(PLAIN, pad=0),
}


def pixels_of(count, height, width, seed=0):
    shape = (count, 3, height, width)
    return torch.randint(0, 256, shape, generator=made.random(seed), dtype=torch.uint8)


def rendered(kind, pixels, shift, mirror, brightness):
    """One image: zeros around it, a crop, left for right, brighter or darker, normalised."""
    height, width = pixels.shape[1:]
    padded = np.pad(pixels, ((0, 0), (kind.pad, kind.pad), (kind.pad, kind.pad)))
    top, left = shift
    crop = padded[:, top : top + height, left : left + width] / 255
    crop = crop[:, :, ::-1] if mirror else crop
    crop = np.clip(crop * brightness, 0, 1)
    mean, std = (np.array(values)[:, None, None] for values in (kind.mean, kind.std))
    return (crop - mean) / std


@made.examples
@given(
    name=st.sampled_from(list(KINDS)),
    count=st.integers(1, 5),
    height=st.integers(1, 7),
    width=st.integers(1, 7),
    seed=st.integers(0, 99),
)
def test_train_view_image_by_image(name, count, height, width, seed):
    kind, pixels = KINDS[name], pixels_of(count, height, width, seed)
    draws = kind.draw(count, made.random(seed))
    found = kind.train_view(pixels, draws, torch.zeros(3, height, width))
    chances = zip(pixels.numpy(), draws.shift, draws.mirror, draws.brightness.tolist(), strict=True)
    expected = np.stack([rendered(kind, *chance) for chance in chances])
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_test_view_is_only_normalised():
    pixels = pixels_of(2, 4, 5)
    found = PLAIN.test_view(pixels, torch.ones(3, 4, 5))
    expected = [rendered(PLAIN, one, (4, 4), False, 1.0) for one in pixels.numpy()]
    np.testing.assert_allclose(found.numpy(), np.stack(expected), rtol=1e-5, atol=1e-6)


def test_the_mean_image_is_subtracted_where_that_is_the_custom():
    pixels, mean_image = pixels_of(2, 4, 5), torch.rand(3, 4, 5, generator=made.random(1))
    found = NAMED["cifar_icarl"].test_view(pixels, mean_image)
    torch.testing.assert_close(found, pixels / 255 - mean_image)


def test_the_mean_image_is_subtracted_before_an_image_is_moved():
    """iCaRL's data are centred when loaded: the mean moves along, and the border is zero."""
    kind, pixels = NAMED["cifar_icarl"], pixels_of(6, 5, 5)
    mean_image = torch.rand(3, 5, 5, generator=made.random(1))
    draws = kind.draw(6, made.random(2))
    centred = (pixels / 255 - mean_image).numpy()
    chances = zip(centred * 255, draws.shift, draws.mirror, strict=True)
    no_clip = dataclasses.replace(kind, subtracts_mean_image=False)
    expected = []
    for image, (top, left), mirrored in chances:
        padded = np.pad(image / 255, ((0, 0), (no_clip.pad,) * 2, (no_clip.pad,) * 2))
        crop = padded[:, top : top + 5, left : left + 5]
        expected.append(crop[:, :, ::-1] if mirrored else crop)
    found = kind.train_view(pixels, draws, mean_image)
    np.testing.assert_allclose(found.numpy(), np.stack(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_same_draws_same_view_alone_or_in_company(name):
    """A view is a function of image and draw, so a neighbour can be seen again as it was."""
    kind, pixels = KINDS[name], pixels_of(9, 6, 6)
    draws, nothing = kind.draw(9, made.random(4)), torch.zeros(3, 6, 6)
    whole = kind.train_view(pixels, draws, nothing)
    some = torch.tensor([7, 0, 7, 3])
    assert torch.equal(kind.train_view(pixels[some], draws[some], nothing), whole[some])
    assert torch.equal(kind.train_view(pixels, kind.draw(9, made.random(4)), nothing), whole)


def test_pixels_are_left_as_they_are():
    pixels = pixels_of(3, 4, 4)
    before = pixels.clone()
    KINDS["bright"].train_view(pixels, PLAIN.draw(3, made.random(0)), torch.zeros(3, 4, 4))
    PLAIN.test_view(pixels, torch.zeros(3, 4, 4))
    assert torch.equal(pixels, before)


def test_what_chance_decides():
    """Every shift is as likely as every other, half the images are mirrored, brightness is even."""
    draws = KINDS["bright"].draw(9000, made.random(0))
    assert draws.shift.flatten().bincount().tolist() == pytest.approx([2000] * 9, rel=0.1)
    assert draws.mirror.float().mean().item() == pytest.approx(0.5, abs=0.02)
    swing = 63 / 255
    bright = draws.brightness
    assert 1 - swing <= bright.min() and bright.max() <= 1 + swing
    assert bright.mean().item() == pytest.approx(1, abs=0.01)
    assert bright.std().item() == pytest.approx(swing / 3**0.5, rel=0.02)  # of a uniform one
    assert abs(torch.corrcoef(torch.stack([draws.mirror.float(), bright]))[0, 1]) < 0.05
    still = KINDS["never mirrored"].draw(9000, made.random(0))
    assert not still.mirror.any() and (still.brightness == 1).all()


def test_published_constants():
    lucir, pod, icarl = (augmentation(f"cifar_{name}") for name in ("lucir", "pod", "icarl"))
    assert (lucir.mean, lucir.std) == ((0.5071, 0.4866, 0.4409), (0.2009, 0.1984, 0.2023))
    assert (pod.mean, pod.std) == ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761))
    assert [kind.brightness for kind in (lucir, pod, icarl)] == [0, 63 / 255, 0]
    assert all(kind.pad == 4 and kind.mirrors for kind in (lucir, pod, icarl))
    assert not augmentation("digits").mirrors


def test_published_constants_of_photographs():
    lucir, pod = (augmentation(f"imnet_{name}") for name in ("lucir", "pod"))
    assert (lucir.mean, lucir.std) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    assert pod == dataclasses.replace(lucir, brightness=63 / 255)
    assert lucir.crops and lucir.mirrors and lucir.pad == lucir.brightness == 0
    assert not any(kind.crops for name, kind in NAMED.items() if not name.startswith("imnet"))


def test_an_unknown_augmentation_is_refused_with_the_nearest_name():
    with pytest.raises(SettingsError, match=r"training\.augmentation: .* did you mean 'cifar_pod'"):
        augmentation("cifar_podd")
