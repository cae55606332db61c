"""1,797 handwritten digits of 8 x 8 pixels, shipped with scikit-learn: nothing to download."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch

from remanence.core.settings import settings
from remanence.data.base import Data, Images, Scale, Splits

TEST_EVERY = 4


@settings
class Digits(Data):
    """The embedded data: of each class, every fourth image is for testing."""

    scale: ClassVar[Scale] = "digits"
    base: ClassVar[int] = 4
    increment: ClassVar[int] = 2
    augmentation: ClassVar[str] = "digits"
    backbone: ClassVar[str] = "convnet"

    def load(self) -> Splits:
        from sklearn.datasets import load_digits

        digits = load_digits()
        pixels = torch.from_numpy(np.round(digits.images * (255 / 16)).astype(np.uint8))[:, None]
        labels = torch.from_numpy(digits.target.astype(np.int64))
        rank = torch.zeros_like(labels)
        for label in labels.unique():
            of_class = labels == label
            rank[of_class] = torch.arange(int(of_class.sum()))
        images = Images(pixels, labels)
        test = rank % TEST_EVERY == TEST_EVERY - 1
        names = tuple(str(name) for name in digits.target_names)
        return Splits(images[~test], images[test], names)
