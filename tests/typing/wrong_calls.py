"""Wrong uses: each line that ends in ``# wrong`` must be an error for both type checkers, and no
other line may be one. Checked by tests/typing/test_typing.py; never run."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from taskq import ActivityFuture, AsyncTask, Priority, Secret, TaskQ, as_completed, current, gather
from taskq.canvas import Canvas, Flow

taskq = TaskQ("memory://")


@taskq.activity
async def send_email(to: str, subject: str = "Welcome") -> str:
    return to + subject


@taskq.activity
async def measure(text: str) -> int:
    return len(text)


@taskq.activity
async def log_in(user: str, password: Secret[str]) -> None: ...


log_in.delay("ada", "x")  # wrong
log_in.delay("ada", Secret(1))  # wrong


@taskq.activity(max_retries=2)
def resize(width: int, height: int) -> list[int]:
    return [width, height]


send_email.delay()  # wrong
send_email.delay(to=3)  # wrong
send_email.delay("a", "b", "c")  # wrong
send_email.delay(to="a", color="red")  # wrong
send_email.schedule("tomorrow", to="a")  # wrong
send_email.schedule(to="a")  # wrong
send_email.options(priority="urgent")  # wrong
send_email.options(prioritty=Priority.LOW)  # wrong
send_email.options(tags={"a": 1})  # wrong
send_email.options(on_mismatch="maybe")  # wrong
send_email.options(step=3)  # wrong
send_email.options(orphans="drop")  # wrong
send_email.options(expires="soon")  # wrong
resize.delay(1, "2")  # wrong
resize.build(width=1)  # wrong
future: ActivityFuture[int] = send_email.delay("a")  # wrong
number: int = resize.delay(1, 2).result()  # wrong
task: AsyncTask[[int], str] = send_email  # wrong
TaskQ("memory://", leese=3)  # wrong
current().progress("half")  # wrong
send_email.delay("a").cancel(True)  # wrong
taskq.worker(concurency=3)  # wrong


async def in_a_transaction(session: AsyncSession, sync: Session, connection: Connection) -> None:
    send_email.options(session="sqlite://")  # wrong
    send_email.options(session=connection)  # wrong
    send_email.options(connection=session)  # wrong
    send_email.options(notify="no")  # wrong
    taskq.enqueue([send_email.build("a")], session=session)  # wrong
    await taskq.aenqueue([send_email.build("a")], session=sync)  # wrong
    await taskq.aenqueue([send_email.build("a")], connection=connection)  # wrong


@taskq.activity(timeot=3)  # wrong
async def typo() -> None: ...


@taskq.activity(run_in="fork")  # wrong
def forked() -> None: ...


@taskq.activity(on_dead_letter=3)  # wrong
async def bad_hook() -> None: ...


canvas = Canvas(taskq)
canvas.chain(send_email.build("a"), resize)  # wrong
canvas.chain(send_email.build("a"), measure, measure)  # wrong
canvas.link(resize, "tall")  # wrong
canvas.chord([send_email.build("a")], measure)  # wrong
count: Flow[str] = canvas.chain(send_email.build("a"), measure)  # wrong


async def wait_for_many(future: ActivityFuture[str]) -> None:
    await gather([future])  # wrong
    await gather(send_email.adelay("a"))  # wrong
    numbers: list[int] = await gather(*[future])  # wrong
    numbers.append(1)
    as_completed(future)  # wrong


taskq.periodic(5)  # wrong
taskq.periodic("@daily", catch_up="some")  # wrong
taskq.periodic("@daily", evry=5)  # wrong
taskq.schedules.create("weekly", send_email, cron="@weekly")  # wrong
taskq.schedules.create("weekly", send_email.build("a"), cron=5)  # wrong
taskq.schedules.update("weekly", overlap="never")  # wrong
