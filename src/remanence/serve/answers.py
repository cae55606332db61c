"""What the API answers, as it is told in its OpenAPI description too."""

from __future__ import annotations

from pydantic import BaseModel, Field

from remanence.model.description import Description, KeptPhotograph
from remanence.predictor import Predictor
from remanence.serve.in_use import InUse


class Error(BaseModel):
    """What was refused, or went wrong, in one line."""

    error: str


class Named(BaseModel):
    """A class, and how probable it is."""

    name: str = Field(serialization_alias="class")
    probability: float


class Kept(BaseModel):
    """An old photograph that is kept: GET /api/kept/HASH gives it."""

    hash: str
    name: str = Field(serialization_alias="class")
    file: str

    @classmethod
    def of(cls, one: KeptPhotograph, names: tuple[str, ...]) -> Kept:
        """One of a model whose classes have these names."""
        return cls(hash=one.hash, name=names[one.label], file=one.name)


class Answer(BaseModel):
    """What a photograph shows: the most probable classes first; the kept photographs like it."""

    version: int
    predictions: list[Named]
    nearest: list[Kept]


class KnownClass(BaseModel):
    """A class: since when it is known, and how well.

    remembered: by version, the percentage of its held-out photographs that are recognised.
    kept: the hashes of its photographs that are kept.
    """

    name: str = Field(serialization_alias="class")
    version: int
    made: str
    photographs: int
    held_out: int
    remembered: dict[int, float]
    kept: list[str]


class Version(BaseModel):
    """A version: accuracy on held-out photographs in percent, points forgotten of old classes."""

    version: int
    made: str
    parent: int | None
    classes: int
    all: float | None
    old: float | None
    new: float | None
    forgotten: float | None
    refused: str | None


class Limits(BaseModel):
    """What may be sent: bytes of a photograph, and bytes and photographs of a lesson."""

    photograph: int
    lesson: int
    photographs: int


class Model(BaseModel):
    """What the model in use knows, and how it came to that."""

    model: str
    version: int
    made: str
    teaches: bool
    limits: Limits
    classes: list[KnownClass]
    versions: list[Version]


class Health(BaseModel):
    """status is ok as long as photographs are named. trouble: with the model's folder."""

    status: str = "ok"
    version: int
    classes: int
    teaching: str
    trouble: str | None


def answer_of(predictor: Predictor, photograph: bytes, top: int, nearest: int) -> Answer:
    """Look at a photograph."""
    features = predictor.features([photograph])
    (prediction,), (near,) = predictor.say(features), predictor.nearest_kept(features, nearest)
    return Answer(
        version=predictor.description.version,
        predictions=[Named(name=name, probability=p) for name, p in prediction.ranked(top)],
        nearest=[Kept.of(one, predictor.classes) for one in near],
    )


def model_of(in_use: InUse, limits: Limits, teaches: bool) -> Model:
    """All that is told of the model in use."""
    current = in_use.predictor.description
    kept: dict[int, list[str]] = {}
    for one in current.kept:
        kept.setdefault(one.label, []).append(one.hash)
    classes = [
        KnownClass(
            name=one.name,
            version=one.version,
            made=one.made,
            photographs=one.photographs,
            held_out=one.held_out,
            remembered=dict(one.remembered),
            kept=kept.get(label, []),
        )
        for label, one in enumerate(current.classes)
    ]
    return Model(
        model=in_use.folder.path.resolve().name,
        version=current.version,
        made=current.made,
        teaches=teaches,
        limits=limits,
        classes=classes,
        versions=[_version(one) for one in in_use.history()],
    )


def _version(one: Description) -> Version:
    result = one.measured
    return Version(
        version=one.version,
        made=one.made,
        parent=one.parent,
        classes=len(one.classes),
        all=result.all,
        old=result.old,
        new=result.new,
        forgotten=result.forgotten,
        refused=one.refused,
    )
