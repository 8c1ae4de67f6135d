"""What ``@taskq.periodic`` does: check a schedule where it is written, and remember it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from taskq.defining import schedule, template
from taskq.errors import ConfigurationError, SerializationError
from taskq.model import Activity
from taskq.schedules import CommonOptions, Declaration, ScheduleOptions, Schedules, known, times
from taskq.task import Client, Task


class PeriodicArguments(CommonOptions, total=False):
    """The keywords of ``TaskQ.periodic``, for type checkers."""

    name: str
    arguments: Mapping[str, object]


class Periodic:
    """One use of the decorator. Raises ConfigurationError for times that make no sense."""

    def __init__(self, cron: str | None, given: PeriodicArguments) -> None:
        name = given.get("name")
        self._where = "@taskq.periodic" if name is None else f"@taskq.periodic(name={name!r})"
        self._name = name
        self._arguments = dict(given.get("arguments", {}))
        left = {key: value for key, value in given.items() if key not in ("name", "arguments")}
        known(self._where, left)
        if cron is not None:
            left["cron"] = cron
        self._options = cast("ScheduleOptions", left)
        self._timing = times(self._where, self._options)

    def put_on(
        self,
        target: Callable[..., Any],
        *,
        client: Client,
        register: Callable[[Callable[..., Any]], Any],
        schedules: Schedules,
    ) -> Task[..., Any]:
        """Declare it for a task, or for a function, which becomes one. Answers the task.

        Raises ConfigurationError for a task of another app, arguments that do not fit, a name that
        is taken.
        """
        if isinstance(target, Task):
            task = cast("Task[..., Any]", target)
            if not task.belongs_to(client):
                raise ConfigurationError(f"{self._where}: {task!r} is a task of another app")
        else:
            task = cast("Task[..., Any]", register(target))
        name = task.name if self._name is None else self._name
        where = f"{self._where} on {task.name!r}"
        draft = schedule(
            where,
            name,
            timing=self._timing,
            template=template(where, self._call(task, where)),
            jitter=self._options.get("jitter", 0),
            catch_up=self._options.get("catch_up", "latest"),
            overlap=self._options.get("overlap", "allow"),
        )
        schedules.declare(Declaration(task, self._arguments, draft))
        return task

    def _call(self, task: Task[..., Any], where: str) -> Activity[Any]:
        try:
            return task.build(**self._arguments)
        except (TypeError, SerializationError) as error:
            raise ConfigurationError(
                f"{where}: the arguments do not fit: {error}; give them as arguments={{...}}"
            ) from error
