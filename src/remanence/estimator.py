"""The scikit-learn face: an estimator that is fitted, and then learns more classes.

>>> from sklearn.datasets import load_digits
>>> X, y = load_digits(return_X_y=True)
>>> old, new = y < 5, y >= 5
>>> digits = ImageClassifier(backbone="convnet", side=16, epochs=3).fit(X[old], y[old])
>>> digits.add_classes(X[new], y[new]).classes_
array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
>>> digits.predict_proba(X[:2]).shape
(2, 10)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from remanence.core.progress import Progress
from remanence.learning import saving
from remanence.learning.lessons import Learned, Sample, first_lesson, next_lesson
from remanence.learning.samples import BYTES, Scale, are_photographs, as_photographs
from remanence.learning.wishes import Wishes
from remanence.model.trunk import words_of
from remanence.photographs.shown import Photograph

Images = Any  # arrays, tables, lists of paths: whatever scikit-learn and photographs.shown take
Labels = Any


class ImageClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of images that gains classes without the old images.

    Images are an array N x H x W or N x H x W x 3, or rows of flat ones, or a list of paths (of
    bytes, of Pillow images). Bytes are 0..255; of other numbers the lowest and the highest that
    `fit` sees are black and white. Labels are anything that is hashable and can be sorted.

    backbone: its name, `timm:NAME`, or `package.module:Name`; open, the pretrained one where its
        weights are installed, else one that learns from the images of `fit` alone.
    side: pixels on each side of what it sees. image_shape: of what stands in a row.
    held_out: of each class, to measure and to calibrate on before it is learned from as well.
    shrinkage: see `remanence.discriminant`. epochs: of a network that is not pretrained.
    random_state: the seed of its chances.
    """

    learned_: Learned

    def __init__(
        self,
        *,
        backbone: str | None = None,
        side: int | None = None,
        image_shape: tuple[int, ...] | None = None,
        held_out: float = 0.2,
        shrinkage: float = 0.5,
        epochs: int | None = None,
        random_state: int = 1993,
    ) -> None:
        self.backbone = backbone
        self.side = side
        self.image_shape = image_shape
        self.held_out = held_out
        self.shrinkage = shrinkage
        self.epochs = epochs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: Images, y: Labels) -> Self:
        """Learn classes from nothing; what was learned before is gone."""
        sample = self._sample(X, y, is_first=True)
        self._take(first_lesson(sample, self._wishes(), Progress()))
        return self

    def add_classes(self, X: Images, y: Labels) -> Self:
        """Learn more classes, or more images of known ones; the others stay as they are."""
        check_is_fitted(self)
        sample = self._sample(X, y, is_first=False)
        self._take(next_lesson(self.learned_, sample, self._wishes()))
        return self

    def predict(self, X: Images) -> NDArray[Any]:
        """The most probable class of each image."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(1)]  # type: ignore[no-any-return]

    def predict_proba(self, X: Images) -> NDArray[np.float64]:
        """Calibrated probabilities: a column for each of `classes_`."""
        check_is_fitted(self)
        images, _ = self._images(X, is_first=False)
        return self.learned_.probabilities(images)[:, self.columns_]

    def save(self, folder: str | Path) -> None:
        """Write it as a model, or as the next version of the model it was loaded from."""
        check_is_fitted(self)
        self.learned_ = saving.save(self.learned_, Path(folder), self._wishes())

    @classmethod
    def load(cls, folder: str | Path, *, own_code: bool = False) -> Self:
        """The model in a folder, of `save` or of `remanence learn`; the version in use."""
        learned = saving.load(Path(folder), own_code)
        pupil = learned.pupil
        estimator = cls(
            backbone=words_of(pupil.backbone),
            side=pupil.preprocessing.side,
            shrinkage=pupil.knowledge.shrinkage,
        )
        estimator._take(learned)
        return estimator

    def _take(self, learned: Learned) -> None:
        self.learned_ = learned
        labels: list[Any] = list(learned.names.values())
        self.columns_ = sorted(range(len(labels)), key=labels.__getitem__)
        self.classes_ = _array([labels[place] for place in self.columns_])

    def _wishes(self) -> Wishes:
        return Wishes(
            backbone=self.backbone,
            side=self.side,
            test_share=self.held_out,
            shrinkage=self.shrinkage,
            epochs=self.epochs,
            seed=self.random_state,
        )

    def _sample(self, X: Images, y: Labels, is_first: bool) -> Sample:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        images, scale = self._images(X, is_first)
        labels = column_or_1d(_array(y), warn=True)
        check_consistent_length(images, labels)
        if labels.dtype.kind != "O" or isinstance(labels[0], str):
            check_classification_targets(labels)
        return Sample(images, labels.tolist(), scale)

    def _images(self, X: Images, is_first: bool) -> tuple[Sequence[Photograph], Scale]:
        """One by one, and the scale of their numbers: that of the first ones."""
        if are_photographs(X):
            return list(X), BYTES if is_first else self.learned_.scale
        if getattr(X, "ndim", 2) > 2:
            array = check_array(X, allow_nd=True)
        else:
            array = validate_data(self, X, reset=is_first)
        scale = Scale.of(array) if is_first else self.learned_.scale
        return as_photographs(array, scale, self.image_shape), scale


def _array(labels: Sequence[Hashable]) -> NDArray[Any]:
    """Labels as numpy has them; those that are no scalars stay the objects they are."""
    found = np.asarray(labels)
    if isinstance(labels, list) and any(isinstance(one, tuple) for one in labels):
        found = np.empty(len(labels), dtype=object)
        found[:] = labels
    return found
