"""The console in a Litestar application, with a worker on the application's own event loop.

``CONSOLE_TOKEN=... uvicorn console_litestar:app`` serves the console at /taskq; log in there with
the token. ``litestar --app console_litestar:app taskq status`` and all other commands of ``taskq``
are for this app.
"""

import os

import uvicorn
from litestar import Litestar, post
from litestar.params import FromPath

from taskq import TaskQ
from taskq.web import TaskQPlugin

TOKEN = os.environ.get("CONSOLE_TOKEN", "example-0123456789-0123456789")

taskq = TaskQ(web_tokens={"ada": f"admin:{TOKEN}"})


@taskq.activity
async def greet(name: str) -> str:
    return f"hello {name}"


@post("/greetings/{name:str}")
async def welcome(name: FromPath[str]) -> str:
    """Answers when the greeting is stored, and does not wait for it."""
    return str((await greet.adelay(name)).id)


app = Litestar([welcome], plugins=[TaskQPlugin(taskq, "/taskq", worker=True)])

if __name__ == "__main__":
    uvicorn.run(app)
