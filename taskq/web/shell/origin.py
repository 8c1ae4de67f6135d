"""Whether a command comes from the console's own page, or from one that a browser should not have
let in (cross-site request forgery). Pure."""

from __future__ import annotations

from taskq.web.shell.asgi import Headers
from taskq.web.shell.hosts import AllowedHosts, Host, is_same, origin_of


def is_own(headers: Headers, scheme: str, host: Host, allowed: AllowedHosts) -> bool:
    """Whether an unsafe request may go on.

    What the browser says in Sec-Fetch-Site counts, else whether Origin is this host or one that is
    allowed with its scheme. Without either it must be a program: one that sends a token, which no
    page can make a browser send, and no cookie.
    """
    site, origin = headers.get("sec-fetch-site", []), headers.get("origin", [])
    if site:
        return site == ["same-origin"]
    if origin:
        found = origin_of(origin[0]) if len(origin) == 1 else None
        return found is not None and (is_same(found, scheme, host) or allowed.knows(found))
    tokens = headers.get("authorization", [])
    is_token = len(tokens) == 1 and tokens[0].lower().startswith("bearer ")
    return is_token and "cookie" not in headers
