"""A caller's session or connection: whether it is one, and the connection in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from taskq.backends import CallerTransaction
from taskq.backends.sql.tables import activities

T = TypeVar("T")

_SYNC: Final[Mapping[str, tuple[type, ...]]] = {
    "session": (Session, scoped_session),
    "connection": (Connection,),
}
_ASYNC: Final[Mapping[str, tuple[type, ...]]] = {
    "session": (AsyncSession, async_scoped_session),
    "connection": (AsyncConnection,),
}


def connection_of(transaction: CallerTransaction) -> Connection:
    """The connection of a Session, or the one that was given.

    Raises TypeError for anything else, which names the call or the type to use instead.
    """
    handle = transaction.handle
    if isinstance(handle, _ASYNC[transaction.given_as]):
        raise TypeError(
            f"{_name(transaction)} is awaited: use adelay, aschedule or aenqueue with it, or give a"
            f" {_named(_SYNC, transaction)} here"
        )
    if transaction.given_as == "session" and isinstance(handle, scoped_session):
        handle = cast("scoped_session[Session]", handle)()
    if transaction.given_as == "session" and isinstance(handle, Session):
        return _bound(handle)
    if transaction.given_as == "connection" and isinstance(handle, Connection):
        return handle
    raise _neither(transaction)


async def on_connection(transaction: CallerTransaction, function: Callable[[Connection], T]) -> T:
    """Run ``function`` on the connection of an AsyncSession, or on the one that was given.

    Raises TypeError for anything else, which names the call or the type to use instead.
    """
    handle = transaction.handle
    if isinstance(handle, _SYNC[transaction.given_as]):
        raise TypeError(
            f"{_name(transaction)} blocks: use delay, schedule or enqueue with it, or give an"
            f" {_named(_ASYNC, transaction)} here"
        )
    if isinstance(handle, _ASYNC[transaction.given_as]) and not _on_asyncio():
        raise TypeError(
            f"{_name(transaction)} needs asyncio, as all of SQLAlchemy's that is awaited: give a"
            f" {_named(_SYNC, transaction)}, and call delay in a thread (anyio.to_thread.run_sync)"
        )
    if transaction.given_as == "session" and isinstance(handle, async_scoped_session):
        handle = cast("async_scoped_session[AsyncSession]", handle)()
    if transaction.given_as == "session" and isinstance(handle, AsyncSession):
        return await handle.run_sync(lambda session: function(_bound(session)))
    if transaction.given_as == "connection" and isinstance(handle, AsyncConnection):
        return await handle.run_sync(function)
    raise _neither(transaction)


def _on_asyncio() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _bound(session: Session) -> Connection:
    """The connection on which the session would write to taskq's tables."""
    try:
        return session.connection(bind_arguments={"clause": activities})
    except UnboundExecutionError as error:
        raise TypeError(
            "the session has several binds, and none for taskq's tables: give the right one, as"
            " connection=session.connection(bind_arguments=...)"
        ) from error


def _neither(transaction: CallerTransaction) -> TypeError:
    name, handle = transaction.given_as, transaction.handle
    other = "connection" if name == "session" else "session"
    if isinstance(handle, (*_SYNC[other], *_ASYNC[other])):
        return TypeError(f"{_name(transaction)} is a {other}: give it as {other}=, not as {name}=")
    kinds = f"{_named(_SYNC, transaction)} or {_named(_ASYNC, transaction)}"
    return TypeError(f"{name}= takes SQLAlchemy's {kinds}, not {_name(transaction)}")


def _named(kinds: Mapping[str, tuple[type, ...]], transaction: CallerTransaction) -> str:
    return kinds[transaction.given_as][0].__name__


def _name(transaction: CallerTransaction) -> str:
    return type(transaction.handle).__name__
