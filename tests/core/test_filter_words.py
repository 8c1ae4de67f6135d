"""The filter language as text: what it means, and what it says where it means nothing."""

from __future__ import annotations

from uuid import UUID

import pytest

from taskq.backends.sql.rows import Inside
from taskq.errors import FilterError
from taskq.filtering.fields import FIELDS
from taskq.filtering.matching import matches_inside
from taskq.filtering.reading import narrowed, parsed
from taskq.filtering.terms import (
    AgeIs,
    AnywhereHas,
    ArgumentIs,
    Comparison,
    ErrorHas,
    IdIn,
    Not,
    Pattern,
    PriorityIn,
    Scalar,
    Span,
    StatusIn,
    TagIn,
    Term,
    TextIn,
)
from taskq.model import Priority, Status
from taskq.snapshot import Filter

ID = UUID("01985e3c-1111-7222-8333-444455556666")

MEANINGS: dict[str, tuple[Term, ...]] = {
    "": (),
    "  \t\n ": (),
    "status:failed": (StatusIn((Status.FAILED,)),),
    "status=failed": (StatusIn((Status.FAILED,)),),
    "status:failed,dead_letter": (StatusIn((Status.FAILED, Status.DEAD_LETTER)),),
    "-status:failed": (Not(StatusIn((Status.FAILED,))),),
    "type:send_*": (TextIn("type", (Pattern("send_", prefix=True),)),),
    'type:"send_*"': (TextIn("type", (Pattern("send_*"),)),),
    'queue:a,"b,c"': (TextIn("queue", (Pattern("a"), Pattern("b,c"))),),
    'user:""': (TextIn("user_id", (Pattern(""),)),),
    "corr:http://x:1": (TextIn("correlation_id", (Pattern("http://x:1"),)),),
    'key:"a \\" \\\\ \\n"': (TextIn("idempotency_key", (Pattern('a " \\ \\n'),)),),
    "priority>=high": (PriorityIn((Priority.HIGH, Priority.CRITICAL)),),
    "priority:>=HIGH": (PriorityIn((Priority.HIGH, Priority.CRITICAL)),),
    "priority<2": (PriorityIn((Priority.LOW,)),),
    "tag.a.b:c": (TagIn("a.b", (Pattern("c"),)),),
    'tag."a b":c': (TagIn("a b", (Pattern("c"),)),),
    "age>1h30m": (AgeIs(Comparison.MORE, 5400.0),),
    "age<=1.5s": (AgeIs(Comparison.AT_MOST, 1.5),),
    'error:"timed out"': (ErrorHas(("timed out",)),),
    "error:*": (ErrorHas(("",)),),
    "args.order.id:17": (ArgumentIs(("order", "id"), Comparison.IS, (Scalar("17"),)),),
    'args."a.b":"17"': (ArgumentIs(("a.b",), Comparison.IS, (Scalar("17", quoted=True),)),),
    "args.n<5": (ArgumentIs(("n",), Comparison.LESS, (Scalar("5"),)),),
    "args.n:*": (ArgumentIs(("n",), Comparison.IS, (Scalar("", prefix=True),)),),
    f"id:{ID}": (IdIn("id", (Span(ID, ID),)),),
    "parent:01985e3c": (
        IdIn("parent_id", (Span(UUID("01985e3c" + 24 * "0"), UUID("01985e3c" + 24 * "f")),)),
    ),
    f"worker:{ID}": (IdIn("worker", (Span(ID, ID),)),),
    "root:*": (IdIn("root_id", (Span(UUID(int=0), UUID(int=2**128 - 1)),)),),
    "refund": (AnywhereHas("refund"),),
    "-refund": (Not(AnywhereHas("refund")),),
    'a* "two words" ,x': (AnywhereHas("a*"), AnywhereHas("two words"), AnywhereHas(",x")),
    '-"status:failed"': (Not(AnywhereHas("status:failed")),),
    're"fu nd"s': (AnywhereHas("refu nds"),),
    "a - b": (AnywhereHas("a"), AnywhereHas("-"), AnywhereHas("b")),
    "status:failed type:x": (StatusIn((Status.FAILED,)), TextIn("type", (Pattern("x"),))),
}

ERRORS = {
    "stats:failed": (0, "no field 'stats'; did you mean status? there are: status, type"),
    "type:x -stats:failed": (8, "no field 'stats'; did you mean status?"),
    "http://example.com": (0, "text that holds an operator needs quotes"),
    "status:failed,lost": (14, "no status 'lost'; there are: pending, scheduled"),
    "status:dead_leter": (7, "did you mean dead_letter?"),
    "status>failed": (0, "status takes no >: status:…"),
    "status:": (7, "something is missing here"),
    "status:failed,": (14, "something is missing here"),
    "queue:,a": (6, "something is missing here"),
    "x :failed": (2, ": has no field before it"),
    "type:a status.x:failed": (14, "status has no parts"),
    "priority:urgent": (9, "no priority 'urgent'; there are: low, 1, normal"),
    "priority>low,high": (13, "> takes one value"),
    "type:se*d": (5, "* means the rest, so it stands last"),
    "tag:x": (0, "tag needs a name after a dot"),
    "tag.:x": (4, "something is missing here"),
    "tag.a>1": (0, "tag takes no >"),
    "args:17": (0, "args needs the argument's name after a dot"),
    "args.a..b:1": (7, "something is missing here"),
    "args.n>1*": (7, "> takes no *"),
    "age:1h": (0, "age takes >, >=, < or <="),
    "age>90": (4, "'90' is no duration"),
    "age>h": (4, "(ms, s, m, h, d, w): 90s, 1h30m"),
    "error:time*": (6, "found anywhere"),
    "worker:me": (7, "'me' is no worker's id, nor the first 8 or more digits of one"),
    "parent:me": (7, "'me' is no activity id, nor the first 8 or more digits of one"),
    "id:0198": (3, "'0198' is no activity id"),
    'a error:"timed out': (8, 'this " has no end'),
    "user:\ud800": (5, "no stored text holds NUL"),
    "a\0b": (0, "no stored text holds NUL"),
}
"""By text: the column, and what is said."""


@pytest.mark.parametrize("text", MEANINGS)
def test_a_text_means_its_terms(text: str) -> None:
    assert parsed(text) == MEANINGS[text]


@pytest.mark.parametrize("text", ERRORS)
def test_what_means_nothing_is_said_at_its_column(text: str) -> None:

    column, said = ERRORS[text]

    with pytest.raises(FilterError) as caught:
        parsed(text)

    assert (caught.value.column, caught.value.text) == (column, text)
    assert said in str(caught.value)


def test_an_unknown_field_is_told_all_that_there_are() -> None:
    with pytest.raises(FilterError) as caught:
        parsed("nothing:x")

    assert [name for name in FIELDS if name not in str(caught.value)] == []


def test_what_a_filter_has_a_field_for_goes_there() -> None:
    """So that indexes serve it."""
    text = f"status:failed type:a,b* queue:c priority:1 user:d corr:e source:f parent:{ID} tag.g:h"

    assert narrowed(Filter(), parsed(text)) == Filter(
        statuses=(Status.FAILED,),
        types=("a", "b*"),
        queues=("c",),
        priorities=(Priority.LOW,),
        user_id="d",
        correlation_id="e",
        source="f",
        parent_id=ID,
        tags={"g": "h"},
    )


@pytest.mark.parametrize(
    "text",
    [
        "-status:failed",
        'type:"a*"',
        "queue:a*",
        "priority>critical",
        "user:a,b",
        "tag.a:b*",
        "parent:01985e3c",
        "age>1h",
        "refund",
    ],
)
def test_what_it_has_none_for_stays_a_term(text: str) -> None:
    assert narrowed(Filter(), parsed(text)) == Filter(where=parsed(text))


def test_a_field_that_is_taken_is_narrowed_and_not_replaced() -> None:
    taken = Filter(statuses=(Status.FAILED, Status.PENDING), user_id="a", tags={"b": "c"})
    terms = parsed("status:failed user:d tag.b:e")

    assert narrowed(taken, terms) == Filter(
        statuses=taken.statuses, user_id="a", tags={"b": "c"}, where=terms
    )


def test_a_term_that_looks_into_nothing_is_not_asked_to() -> None:
    """A store that took it for one would list what does not match."""
    with pytest.raises(TypeError, match="StatusIn does not look into JSON"):
        matches_inside(
            Inside(type="t", payload="{}", error=None, tags={}), parsed("-status:failed")
        )
