"""The console beside Django: what lies at /taskq goes to the console, the rest to Django.

``CONSOLE_TOKEN=... uvicorn console_django:app`` serves both; log in at /taskq with the token. The
worker is a process of its own: ``taskq worker console_django:taskq``.
"""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import django
import uvicorn
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_POST

from taskq import TaskQ
from taskq.web import asgi

TOKEN = os.environ.get("CONSOLE_TOKEN", "example-0123456789-0123456789")

taskq = TaskQ(web_tokens={"ada": f"admin:{TOKEN}"})
console = asgi(taskq)


@taskq.activity
def greet(name: str) -> str:
    return f"hello {name}"


def welcome(_: HttpRequest, name: str) -> HttpResponse:
    """Answers when the greeting is stored, and does not wait for it."""
    return HttpResponse(str(greet.delay(name).id))


urlpatterns = [path("greetings/<name>", require_POST(welcome))]

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1"], SECRET_KEY=TOKEN)
django.setup()
site = get_asgi_application()

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application that sends each request where it belongs."""
    if scope["type"] == "lifespan" or f"{scope['path']}/".startswith("/taskq/"):
        root: str = scope.get("root_path", "")
        await console({**scope, "root_path": f"{root}/taskq"}, receive, send)
    else:
        await site(scope, receive, send)


if __name__ == "__main__":
    uvicorn.run(app)
