"""What happens again and again: by an interval, by the clock of a city, and made at run time.

Every worker fires schedules; of any number that share a database, one makes each occurrence.
"""

from datetime import timedelta

import anyio

from taskq import TaskQ, current

taskq = TaskQ()
beats: list[str] = []
enough = anyio.Event()


@taskq.periodic(every=timedelta(seconds=1), catch_up="all")
@taskq.activity
async def heartbeat() -> None:
    metadata = current().metadata
    beats.append(f"{current().source} {metadata['cron_job']}")
    if len(beats) == 3:
        enough.set()


@taskq.periodic("0 3 * * *", tz="Europe/Lisbon", overlap="skip", jitter=timedelta(minutes=5))
@taskq.periodic("@monthly", name="report of the world", arguments={"region": "world"})
@taskq.activity
async def report(region: str = "eu") -> str:
    return f"report of {region}"


async def main() -> None:
    async with taskq, taskq.worker():
        await enough.wait()
        print(*beats[:3], sep="\n")

        # Schedules are rows: made, changed, paused, triggered and deleted while workers run.
        schedules = taskq.schedules
        await schedules.acreate("asia", report.build("asia"), cron="30 9 * * 1-5", tz="Asia/Tokyo")
        print(await (await schedules.atrigger("asia")))
        await schedules.apause("asia", reason="holidays")
        for each in await schedules.alist():
            state = "paused" if each.paused_at else "active"
            print(f"{each.name}: {each.schedule.template.type}, {state}")
        await schedules.adelete("asia")


if __name__ == "__main__":
    anyio.run(main)
