"""PODNet's losses by definition, number by number."""

import math
from collections.abc import Sequence

from torch import Tensor


def nca_by_definition(row: list[float], label: int, form: str, scale: float = 1.0) -> float:
    """One image: -(u_y - m) + log(1 + sum_{i != y} e^(u_i - m)); paper: hinge, own class out."""
    top = max(row)
    others = [u for i, u in enumerate(row) if i != label]
    if form == "code":
        return -(row[label] - top) + math.log(1 + sum(math.exp(u - top) for u in others))
    if form == "ce":
        return math.log(sum(map(math.exp, row))) - row[label]
    ratio = math.exp(row[label] - 0.6 * scale) / sum(map(math.exp, others))
    return max(0.0, -math.log(ratio))


def spatial_by_definition(
    maps: Sequence[Tensor], old_maps: Sequence[Tensor], form: str = "code"
) -> float:
    """Squares summed over one side and over the other; unit; distance; mean over images, maps."""
    far = []
    for one, other in list(zip(maps, old_maps, strict=True))[: None if form == "code" else -1]:
        for image, old_image in zip(one.detach().double(), other.double(), strict=True):
            sides = []
            for seen in (image, old_image):
                channels, height, width = seen.shape
                over_height, over_width = [], []
                for c in range(channels):
                    for w in range(width):
                        over_height.append(sum(float(seen[c, h, w]) ** 2 for h in range(height)))
                    for h in range(height):
                        over_width.append(sum(float(seen[c, h, w]) ** 2 for w in range(width)))
                apart = [over_height, over_width]
                sides.append([over_height + over_width] if form == "code" else apart)
            gaps = [
                math.dist([v / math.hypot(*now) for v in now], [v / math.hypot(*old) for v in old])
                for now, old in zip(*sides, strict=True)
            ]
            far.append(gaps[0] if form == "code" else sum(gap**2 for gap in gaps))
    return sum(far) / len(far)
