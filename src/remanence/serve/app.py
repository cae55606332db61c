"""The application: all that is answered, behind its guard."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Response

from remanence.serve.assets import Asset, assets
from remanence.serve.desk import Desk
from remanence.serve.guard import Guard, Rules
from remanence.serve.in_use import InUse
from remanence.serve.refused import add_refusals
from remanence.serve.routes import looking, teaching, telling
from remanence.serve.serving import Serving
from remanence.serve.watch import Watch

OPEN = ("/health", "/openapi.json")  # to whoever has no token


def application(serving: Serving, in_use: InUse) -> FastAPI:
    """What uvicorn runs."""
    desk = Desk(serving, in_use)
    app = FastAPI(
        title="Remanence",
        summary="Names for photographs, from a model that can be taught new classes.",
        docs_url=None,
        redoc_url=None,
        lifespan=desk.open,
    )
    for router in (looking, telling, *([teaching] if serving.teaches else [])):
        app.include_router(router(desk))
    files = assets()
    for path, asset in files.items():
        app.add_api_route(path, _always(asset), include_in_schema=False)
    add_refusals(app)
    rules = Rules(serving.hosts, serving.token, {*files, *OPEN}.__contains__)
    app.add_middleware(Guard, rules=rules)
    app.add_middleware(Watch, counts=desk.counts)
    return app


def _always(asset: Asset) -> Any:
    async def file() -> Response:
        return asset.response()

    return file
