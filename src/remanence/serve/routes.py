"""The paths of the API."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response

from remanence.serve import lesson, uploads
from remanence.serve.answers import Answer, Error, Health, Limits, Model, model_of
from remanence.serve.desk import Desk
from remanence.serve.refused import Refused
from remanence.serve.teaching import Standing

FOREVER = "private, max-age=31536000, immutable"
IMAGE = {"schema": {"type": "string", "format": "binary"}}
FORM = {
    "schema": {
        "type": "object",
        "required": [lesson.CLASS, lesson.PHOTOGRAPHS],
        "properties": {
            lesson.CLASS: {"type": "string", "maxLength": lesson.LONGEST},
            lesson.PHOTOGRAPHS: {"type": "array", "items": IMAGE["schema"]},
        },
    }
}
REFUSALS: dict[int | str, dict[str, Any]] = {"4XX": {"model": Error}, "5XX": {"model": Error}}


def looking(desk: Desk) -> APIRouter:
    """Photographs, given and kept."""
    asking = APIRouter(responses=REFUSALS)
    serving, in_use = desk.serving, desk.in_use

    @asking.post("/api/predict", openapi_extra={"requestBody": _body("image/*", IMAGE)})
    async def predict(
        request: Request,
        top: Annotated[int, Query(ge=1, le=1000)] = 5,
        nearest: Annotated[int, Query(ge=0, le=100)] = 5,
    ) -> Answer:
        """Name what a photograph shows; the file is the body."""
        with desk.slots.one():
            photograph = await uploads.whole(request, serving.max_bytes, serving.patience)
            return await desk.look(photograph, top, nearest)

    @asking.get("/api/kept/{hashed}", response_class=FileResponse)
    def kept(hashed: str) -> FileResponse:
        """Show a photograph that is kept."""
        if hashed not in {one.hash for one in in_use.predictor.kept}:
            raise Refused(404, "no photograph of that name is kept")
        path = in_use.folder.kept_file(hashed)
        if not path.is_file():
            raise Refused(404, "the photograph is gone from the model's folder")
        return FileResponse(path, media_type="image/jpeg", headers={"Cache-Control": FOREVER})

    return asking


def telling(desk: Desk) -> APIRouter:
    """What the model knows, and how the server is."""
    asking = APIRouter(responses=REFUSALS)
    serving, in_use = desk.serving, desk.in_use
    limits = Limits(
        photograph=serving.max_bytes, lesson=serving.max_lesson, photographs=lesson.MOST
    )

    @asking.get("/api/classes")
    def classes() -> Model:
        """Tell when each class was learned, and how well it is remembered."""
        return model_of(in_use, limits, serving.teaches)

    @asking.get("/health")
    def health() -> Health:
        """Say whether photographs are named, and by which version."""
        description = in_use.predictor.description
        return Health(
            version=description.version,
            classes=len(description.classes),
            teaching=desk.teacher.now.state,
            trouble=in_use.trouble,
        )

    @asking.get("/metrics", response_class=Response)
    def metrics() -> Response:
        """Count, for Prometheus."""
        return Response(desk.counts.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return asking


def teaching(desk: Desk) -> APIRouter:
    """What changes the model."""
    taught = APIRouter(responses=REFUSALS)
    serving, teacher = desk.serving, desk.teacher

    @taught.post(
        "/api/teach",
        status_code=202,
        openapi_extra={"requestBody": _body("multipart/form-data", FORM)},
    )
    async def teach(request: Request) -> Standing:
        """Begin a lesson: one class, by its name, and photographs of it."""
        with desk.slots.one(), teacher.receiving():
            body = uploads.parts(request, serving.max_lesson, serving.patience)
            teacher.begin(await lesson.received(request.headers, body, serving.max_bytes))
        return teacher.now

    @taught.get("/api/teaching")
    def standing() -> Standing:
        """Say how far the lesson is, or what it came to."""
        return teacher.now

    @taught.delete("/api/teaching")
    def stop() -> Standing:
        """Stop the lesson; the model stays as it was."""
        teacher.stop()
        return teacher.now

    return taught


def _body(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {kind: content}}
