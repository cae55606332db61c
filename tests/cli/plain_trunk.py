"""A network without batch norm, so that a share of a batch says what the whole batch would."""

from torch import nn


class PlainTrunk(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Conv2d(8, 16, 3),
            nn.Tanh(),
        )
