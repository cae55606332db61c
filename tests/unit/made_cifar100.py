"""A small set in each packing of CIFAR-100: of each class two training images, one for testing."""

import io
import pickle
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

NAMES = [f"class_{number}" for number in range(100)]
Files = dict[str, bytes]


def made(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and labels, in a mixed order."""
    random = np.random.default_rng(len(split))
    labels = random.permutation(np.repeat(np.arange(100), 2 if split == "train" else 1))
    return random.integers(0, 256, (len(labels), 3072), np.uint8), labels


def binary() -> Files:
    files = {"fine_label_names.txt": "".join(f"{name}\n" for name in NAMES).encode()}
    for split in ("train", "test"):
        pixels, labels = made(split)
        both = np.stack([labels // 5, labels], 1).astype(np.uint8)
        files[f"{split}.bin"] = np.concatenate([both, pixels], 1).tobytes()
    return files


def python(protocol: int = 2, key: Callable[[str], Any] = str.encode, **changes: Any) -> Files:
    files = {"meta": pickle.dumps({key("fine_label_names"): [key(n) for n in NAMES]}, protocol)}
    for split in ("train", "test"):
        pixels, labels = made(split)
        tree = {"data": pixels, "fine_labels": labels.tolist(), "coarse_labels": []} | changes
        files[split] = pickle.dumps({key(k): v for k, v in tree.items()}, protocol)
    return files


def python_2(by_column: bool) -> Files:
    """What Python 2 writes with protocol 2, where text is bytes."""

    def text(value: str) -> bytes:
        return b"U" + bytes([len(value)]) + value.encode()

    def table(pixels: np.ndarray) -> bytes:
        raw = pixels.tobytes("F" if by_column else "C")
        return (
            b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R(K\1"
            + b"".join(b"J" + struct.pack("<i", side) for side in pixels.shape)
            + b"\x86cnumpy\ndtype\nU\2u1K\0K\1\x87R(K\3U\1|NNN"
            + b"J\xff\xff\xff\xff" * 2
            + b"K\0tb"
            + (b"\x88" if by_column else b"\x89")
            + b"T"
            + struct.pack("<i", len(raw))
            + raw
            + b"tb"
        )

    def whole(**entries: bytes) -> bytes:
        return b"\x80\2}(" + b"".join(text(k) + v for k, v in entries.items()) + b"u."

    files = {"meta": whole(fine_label_names=b"](" + b"".join(map(text, NAMES)) + b"e")}
    for split in ("train", "test"):
        pixels, labels = made(split)
        numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
        files[split] = whole(data=table(pixels), fine_labels=numbers)
    return files


def written(folder: Path, files: Files) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def packed(path: Path, files: Files) -> Path:
    """An archive of the files, under the official name of their folder."""
    folder = "cifar-100-binary" if "train.bin" in files else "cifar-100-python"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path
