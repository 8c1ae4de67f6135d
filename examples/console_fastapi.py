"""The console in a FastAPI application: an ASGI application to mount. So it is with Starlette.

``CONSOLE_TOKEN=... uvicorn console_fastapi:app`` serves the console at /taskq; log in there with
the token.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from taskq import TaskQ
from taskq.web import asgi

TOKEN = os.environ.get("CONSOLE_TOKEN", "example-0123456789-0123456789")

taskq = TaskQ(web_tokens={"ada": f"admin:{TOKEN}"})
console = asgi(taskq)


@taskq.activity
async def greet(name: str) -> str:
    return f"hello {name}"


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
    """A worker for as long as the application runs. Leave it out where others run them."""
    async with taskq, taskq.worker():
        yield
        await console.aclose()


app = FastAPI(lifespan=lifespan)
app.mount("/taskq", console)


@app.post("/greetings/{name}")
async def welcome(name: str) -> str:
    """Answers when the greeting is stored, and does not wait for it."""
    return str((await greet.adelay(name)).id)


if __name__ == "__main__":
    uvicorn.run(app)
