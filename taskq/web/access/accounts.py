"""The accounts of a console, from its settings: who has which role, and what proves it."""

from __future__ import annotations

import hmac

from msgspec import Struct

from taskq.passwords import NOBODYS, PasswordHash
from taskq.settings import Settings
from taskq.settings.accounts import digest_of
from taskq.web.role import Identity, Role


class Account(Struct, frozen=True):
    """Somebody whom the settings name. ``kept`` is what is kept of their token or password."""

    identity: Identity
    kept: str

    def __repr__(self) -> str:
        return f"Account({self.identity})"


class Accounts:
    """All that the settings name. ``names`` are unique among both kinds."""

    def __init__(self, settings: Settings) -> None:
        self._tokens = [_account(name, text) for name, text in settings.web_tokens.items()]
        users = [_account(name, text) for name, text in settings.web_users.items()]
        self._users = {user.identity.name: user for user in users}
        hashes = [PasswordHash.read(user.kept) for user in users]
        self._nobodys = next((each.of_nobody() for each in hashes if each), NOBODYS)
        self._named = {each.identity.name: each for each in (*self._tokens, *users)}

    def __bool__(self) -> bool:
        return bool(self._named)

    def named(self, name: str) -> Account | None:
        """The account of this name, to the letter."""
        return self._named.get(name)

    def of_token(self, token: str) -> Account | None:
        """The account that this token is of. Each is compared, in constant time."""
        digest, found = digest_of(token), None
        for account in self._tokens:
            if hmac.compare_digest(digest, account.kept):
                found = account
        return found

    def of_password(self, name: str, password: str) -> Account | None:
        """The account of this name and password; blocks for as long where there is no such name."""
        user = self._users.get(name)
        kept = None if user is None else PasswordHash.read(user.kept)
        return user if (kept or self._nobodys).fits(password) else None


def _account(name: str, text: str) -> Account:
    role, _, kept = text.partition(":")
    return Account(Identity(name, Role.of(role)), kept)
