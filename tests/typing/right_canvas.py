"""Right uses of chains, groups and chords, as right.py."""

from __future__ import annotations

from typing import assert_type

from taskq import Activity, ActivityFuture, TaskQ
from taskq.canvas import Canvas, Flow, Link

taskq = TaskQ("memory://")
canvas = Canvas(taskq)


@taskq.activity
async def fetch(address: str) -> bytes:
    return b""


@taskq.activity
def parse(page: bytes) -> list[str]:
    return []


@taskq.activity
async def store(words: list[str], table: str, *, dry: bool = False) -> int:
    return 0


@taskq.activity
async def total(numbers: list[int]) -> int:
    return sum(numbers)


@taskq.activity
async def even(number: int) -> bool:
    return number % 2 == 0


@taskq.activity
async def say(what: bool) -> str:
    return str(what)


page = fetch.build("a")
words = canvas.link(store, "words")
assert_type(words, Link[list[str], int])
assert_type(canvas.link(store, table="words", dry=True), Link[list[str], int])
assert_type(canvas.chain(page), Flow[bytes])
assert_type(canvas.chain(page, parse), Flow[list[str]])
assert_type(canvas.chain(page, parse, words), Flow[int])
assert_type(canvas.chain(page, parse, words, even), Flow[bool])
assert_type(canvas.chain(page, parse, words, even, say), Flow[str])
assert_type(canvas.chain(page, parse, words, even, say).delay(), ActivityFuture[str])
assert_type(canvas.chain(page, parse).build(), Activity[list[str]])
counts = [canvas.chain(fetch.build(each), parse, words) for each in "abc"]
assert_type(canvas.group(counts), Flow[list[int]])
assert_type(canvas.group([total.build([1]), total.build([2])]), Flow[list[int]])
assert_type(canvas.chord(counts, total), Flow[int])
assert_type(canvas.chord(counts, canvas.link(total)).options(priority=3), Flow[int])
assert_type(canvas.chain(canvas.group(counts), total, even), Flow[bool])


async def main() -> None:
    assert_type(await canvas.chord(counts, total).adelay(), ActivityFuture[int])
