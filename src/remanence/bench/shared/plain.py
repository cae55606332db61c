"""LUCIR and DDE as one would write them down in plain PyTorch, after the official procedure.

Images are read one by one by two workers and varied with PIL; all is float32 in torch's own layout;
for DCE an epoch's views are kept, all distances computed, and ten neighbours of every image run
through the network in training mode. It is here to be compared with, so it is no slower than such
code is: the views are not copied, and what cannot be told from a part of an epoch is left out.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from remanence.backbones.resnet32 import Resnet32
from remanence.data.base import Images

BATCH, WORKERS, PAD, NEIGHBOURS = 128, 2, 4, 10
MEAN, STD = (0.5071, 0.4866, 0.4409), (0.2009, 0.1984, 0.2023)
FORGET, MARGIN, RIVALS = 11.18, 0.5, 2

Item = tuple[Tensor, int]


class Views(Dataset[Item]):
    """Images one by one: padded, cropped and mirrored by PIL, then normalised."""

    def __init__(self, images: Images) -> None:
        self.pixels = images.pixels.permute(0, 2, 3, 1).numpy()
        self.labels = images.labels.tolist()
        self.mean, self.std = (torch.tensor(one).view(3, 1, 1) for one in (MEAN, STD))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: int) -> Item:
        image = ImageOps.expand(Image.fromarray(self.pixels[place]), PAD)
        left, top = torch.randint(0, 2 * PAD + 1, (2,)).tolist()
        side = self.pixels.shape[1]
        image = image.crop((left, top, left + side, top + side))
        if torch.rand(()) < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
        return (pixels / 255 - self.mean) / self.std, self.labels[place]


class CosineNet(nn.Module):
    """ResNet-32 and a cosine head; also the features, and cosines before their scale."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.trunk = Resnet32().build(3)
        self.rows = nn.Parameter(torch.randn(classes, self.trunk.width))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        features = self.trunk(images).features
        cosines = F.linear(F.normalize(features), F.normalize(self.rows))
        return features, cosines, self.scale * cosines


class Plain:
    """A session in which classes from `old` on are new, a few batches at a time."""

    def __init__(self, images: Images, old: int, device: torch.device) -> None:
        self.old, self.device, self.count = old, device, len(images)
        self.network = CosineNet(int(images.labels.max()) + 1).to(device)
        self.teacher = copy.deepcopy(self.network).eval().requires_grad_(False)
        self.optimiser = torch.optim.SGD(
            self.network.parameters(), 0.1, momentum=0.9, weight_decay=5e-4
        )
        self.labels = images.labels
        self.loader = DataLoader(
            Views(images), BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True
        )
        self._batches = self._endless()

    def _endless(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Batches of one epoch after another, the last and smaller ones left out."""
        while True:
            for images, labels in self.loader:
                if len(labels) == BATCH:
                    yield images.to(self.device), labels.to(self.device)

    def lucir(self, batches: int) -> None:
        """Train on so many batches."""
        self.network.train()
        for _ in range(batches):
            images, labels = next(self._batches)
            with torch.no_grad():
                wanted = self.teacher(images)[0]
            features, cosines, logits = self.network(images)
            loss = F.cross_entropy(logits, labels)
            self._descend(loss + self._kept(features, wanted, cosines, labels))

    def dde(self, batches: int) -> None:
        """The same with ten neighbours for each image, taken by chance: see `graph`."""
        views, labels, wanted = self._seen(batches)
        near = torch.randint(len(views), (len(views), NEIGHBOURS), device=self.device)
        trace = torch.zeros(wanted.shape[1], device=self.device)
        self.network.train()
        for part in torch.arange(len(views), device=self.device).split(BATCH):
            with torch.no_grad():
                others = self.network(views[near[part].flatten()])[2].softmax(1)
                others = others.view(len(part), NEIGHBOURS, -1).mean(1)
            features, cosines, logits = self.network(views[part])
            joint = ((logits.softmax(1) + others) / 2).log()
            loss = F.nll_loss(joint, labels[part])
            self._descend(loss + self._kept(features, wanted[part], cosines, labels[part]))
            trace = 0.9 * trace + features.detach().mean(0)

    def graph(self) -> Tensor:
        """The neighbours of all images of an epoch, from all their distances at once."""
        unit = F.normalize(torch.randn(self.count, self.teacher.trunk.width, device=self.device))
        squares = unit.square().sum(1)
        distances = squares[:, None] + squares[None] - 2 * unit @ unit.T
        distances = distances.clamp(min=1e-12).sqrt()
        distances.fill_diagonal_(torch.inf)
        distances[:, self.labels.to(self.device) < self.old] = torch.inf
        return distances.topk(NEIGHBOURS, largest=False).indices

    def _seen(self, batches: int) -> tuple[Tensor, Tensor, Tensor]:
        """Views of a part of an epoch, their labels, and what the teacher makes of them."""
        parts = []
        for _ in range(batches):
            images, labels = next(self._batches)
            with torch.no_grad():
                parts.append((images, labels, self.teacher(images)[0]))
        views, labels, wanted = (torch.cat(column) for column in zip(*parts, strict=True))
        return views, labels, wanted

    def _kept(self, features: Tensor, wanted: Tensor, cosines: Tensor, labels: Tensor) -> Tensor:
        """Less-forget and margin ranking."""
        loss = FORGET * (1 - F.cosine_similarity(features, wanted)).mean()
        is_old = labels < self.old
        if is_old.any():
            own = cosines[is_old].gather(1, labels[is_old, None])
            rivals = cosines[is_old, self.old :].topk(RIVALS).values
            loss = loss + F.relu(MARGIN - own + rivals).mean()
        return loss

    def _descend(self, loss: Tensor) -> None:
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
