"""Calls by a task's name and JSON text, for those who hold no task: command line and console."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from taskq.errors import ConfigurationError, SerializationError
from taskq.model import Activity
from taskq.options import CallArguments
from taskq.task import Task


class NoSuchTask(LookupError):
    """No task has this name; the message guesses which one was meant."""


class BadCall(ValueError):
    """The arguments or options do not fit the task; the message names it."""


def task_named(tasks: Mapping[str, Task[..., Any]], name: str) -> Task[..., Any]:
    """A task of the app. Raises NoSuchTask."""
    task = tasks.get(name)
    if task is not None:
        return task
    if not tasks:
        raise NoSuchTask("this app has no activities")
    close = get_close_matches(name, tasks, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    raise NoSuchTask(
        f"no task of this app is named {name!r}; {guess}there are: {', '.join(sorted(tasks))}"
    )


def call_of(task: Task[..., Any], payload: str, options: Mapping[str, Any]) -> Activity[Any]:
    """A call that is not stored yet, from the JSON text of an object of named arguments, with
    options of ``CallArguments``. Raises BadCall."""
    try:
        return task.options(**cast("CallArguments", options)).build_json(payload)
    except (TypeError, ConfigurationError) as error:
        raise BadCall(str(error)) from error
    except (SerializationError, ValueError) as error:
        named = task.name in str(error)
        raise BadCall(str(error) if named else f"{task.name}: {error}") from error
