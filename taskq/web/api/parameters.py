"""The parameters that several routes take, each bounded."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from uuid import UUID

from litestar.params import QueryParameter

Query: TypeAlias = Annotated[
    str,
    QueryParameter(
        max_length=2000,
        description='The filter language: `status:failed type:send_* age>1h -user:42 "timed out"`.',
    ),
]
StatusNames: TypeAlias = Annotated[
    str, QueryParameter(max_length=200, description="Only these statuses, with commas between.")
]
QueueNames: TypeAlias = Annotated[
    str, QueryParameter(max_length=2000, description="Only these queues, with commas between.")
]
TypeNames: TypeAlias = Annotated[
    str,
    QueryParameter(
        max_length=2000, description="Only these types, with commas between; `send_*` is a prefix."
    ),
]
RootsOnly: TypeAlias = Annotated[
    bool, QueryParameter(description="Only activities that have no parent.")
]
Limit: TypeAlias = Annotated[int, QueryParameter(ge=1, le=200, description="How many at the most.")]
PageCursor: TypeAlias = Annotated[
    str,
    QueryParameter(
        max_length=200, description="Go on after this place: `next` of the page before."
    ),
]
SeedLimit: TypeAlias = Annotated[
    int, QueryParameter(ge=1, le=1000, description="How many at the most.")
]
Offset: TypeAlias = Annotated[
    int,
    QueryParameter(
        ge=0,
        le=10**18,
        description="How many to leave out; up to 1000, beyond that use /api/activities.",
    ),
]
Before: TypeAlias = Annotated[
    int | None,
    QueryParameter(ge=1, le=2**63 - 1, description="Only entries with a lower number than this."),
]
ParentId: TypeAlias = Annotated[
    UUID | None, QueryParameter(description="Only children of this activity.")
]
