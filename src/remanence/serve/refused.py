"""What is refused, and how that is said: a status, and one line as JSON."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from remanence.core.errors import DataError, RemanenceError


class Refused(RemanenceError):
    """A request that is not granted."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status

    def __reduce__(self) -> tuple[type[Refused], tuple[int, str]]:
        return Refused, (self.status, str(self))


def answer(status: int, line: str) -> JSONResponse:
    """The response. The connection ends with it, since a part of the request may be unread."""
    headers = {"Connection": "close"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 503:
        headers["Retry-After"] = "1"
    return JSONResponse({"error": line}, status, headers)


def add_refusals(app: FastAPI) -> None:
    """Whatever is raised comes to a status and one line."""

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> JSONResponse:
        return answer(error.status, str(error))

    @app.exception_handler(DataError)
    async def no_image(request: Request, error: DataError) -> JSONResponse:
        return answer(422, str(error))

    @app.exception_handler(RemanenceError)
    async def failed(request: Request, error: RemanenceError) -> JSONResponse:
        return answer(500, str(error))

    @app.exception_handler(MemoryError)
    async def too_large(request: Request, error: MemoryError) -> JSONResponse:
        return answer(413, "there is not enough memory for this photograph: send a smaller one")

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        line = f"{str(error.detail).lower()}; /openapi.json tells what there is"
        return answer(error.status_code, line)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        lines = [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()]
        return answer(422, "; ".join(lines))
