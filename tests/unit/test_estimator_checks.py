"""scikit-learn's own checks of estimators, on rows that are folded to images."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import Tensor, nn
from torch.nn import functional as F

from remanence.estimator import ImageClassifier


class Sixteenths(nn.Module):
    """The mean colours of four by four parts: a network that needs no training."""

    pretrained = True

    def forward(self, images: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(images, 4).flatten(1)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [ImageClassifier(backbone=f"{__name__}:Sixteenths", side=8)],
    expected_failed_checks=lambda _: {},  # no check has to be excused
)
def test_check(estimator: ImageClassifier, check: Any) -> None:
    check(estimator)
