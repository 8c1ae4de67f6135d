"""A value that is shown nowhere."""

from __future__ import annotations

from typing import Generic, NoReturn, Self, TypeVar, cast

T_co = TypeVar("T_co", covariant=True)


class Secret(Generic[T_co]):
    """A value that no text of it shows: ``repr``, ``str`` and formatting give ``[redacted]``.

    A parameter ``password: Secret[str]`` gets one in its handler; ``password.reveal()`` is the
    value. Call the task with ``Secret("x")``; a plain ``"x"`` is stored alike, as every other
    program has it. What is stored is the value itself: the database holds it, while the console,
    the command line, logs, events and recorded errors do not.

    Two are equal when their values are; one is never equal to a plain value. It is copied as it is,
    and refuses to be pickled (TypeError), which would write the value down.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T_co) -> None:
        self._value = value

    def reveal(self) -> T_co:
        """The value."""
        return self._value

    def __repr__(self) -> str:
        return "[redacted]"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        value = cast("Secret[object]", other)._value
        return type(self._value) is type(value) and self._value == value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError("a Secret is not pickled, as that would write it down: use reveal()")
