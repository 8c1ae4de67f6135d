"""``taskq queues``, and that real workers obey it."""

from __future__ import annotations

import json

from taskq import TaskQ


def test_a_pause_is_kept_shown_and_ended(cli, shelf) -> None:
    shelf.greet.delay(name="ada")

    paused = cli("queues", "pause", "default", "--reason", "provider is down")
    again = cli("queues", "pause", "default")
    listed = cli("queues")
    [load] = json.loads(cli("queues", "list", "--json").stdout)
    resumed = cli("queues", "resume", "default")

    assert (paused.exit_code, paused.stdout) == (0, "queue default paused\n")
    assert again.stdout == "queue default paused already\n"
    assert listed.stdout.split()[:2] == ["queue", "pending"]
    assert "by cli" in listed.stdout and "provider is down" in listed.stdout
    assert (load["kind"], load["name"], load["by_status"]["pending"]) == ("queue", "default", 1)
    assert load["paused"]["reason"] == "provider is down"
    assert resumed.stdout == "queue default goes on\n"
    assert cli("queues", "resume", "default").stdout == "queue default was not paused\n"
    assert json.loads(cli("queues", "--json").stdout)[0]["paused"] is None


def test_a_type_is_paused_wherever_it_is(cli, shelf) -> None:
    shelf.greet.options(queue="mail").delay(name="ada")

    answer = json.loads(cli("queues", "pause", "--type", "greet", "--json").stdout)
    [load] = json.loads(cli("queues", "list", "--types", "--json").stdout)

    assert answer == {"kind": "type", "name": "greet", "changed": True}
    assert load["name"] == "greet" and load["paused"]["by"].startswith("cli")
    assert shelf.app.queues.types()[0].paused is not None


def test_status_and_doctor_tell_of_paused_work(cli, shelf) -> None:
    shelf.greet.delay(name="ada")
    cli("queues", "pause", "default", "--reason", "maintenance")
    cli("queues", "pause", "--type", "unused")

    status = cli("status")
    doctor = cli("doctor")

    assert "queue 'default' is paused since" in status.stderr
    assert "maintenance; 1 waiting" in status.stderr
    assert "unused" not in status.stderr
    assert json.loads(cli("status", "--json").stdout)["paused"][0]["name"] == "default"
    assert "paused    queue 'default' is paused since" in doctor.stdout
    assert "(let it go on: taskq queues resume default)" in doctor.stdout
    cli("queues", "pause", "--type", "greet")
    assert "(let it go on: taskq queues resume --type greet)" in cli("doctor").stdout


def test_one_thing_is_named(cli, shelf) -> None:
    shelf.greet.delay(name="ada")
    for words in (["pause"], ["pause", "a", "--type", "b"], ["resume"]):
        refused = cli("queues", *words)
        assert refused.exit_code == 2
        assert "name one of them: a QUEUE, or --type NAME" in refused.stderr
    assert cli("queues", "pause", "no spaces").exit_code == 2


def test_a_name_that_nothing_has_is_paused_and_doubted(cli, shelf) -> None:
    shelf.greet.delay(name="ada")

    paused = cli("queues", "pause", "defualt")
    far = cli("queues", "pause", "zzz", "--json")
    typed = cli("queues", "pause", "--type", "greeet")

    nobody = "no activity and no worker knows this queue yet"
    assert (paused.exit_code, paused.stdout) == (0, "queue defualt paused\n")
    assert paused.stderr == f"{nobody}; did you mean default?\n"
    assert cli("queues", "pause", "defualt").stderr == paused.stderr
    assert far.stderr == f"{nobody}\n" and json.loads(far.stdout)["changed"]
    assert (typed.exit_code, typed.stdout) == (0, "type greeet paused\n")
    assert typed.stderr == "no activity has this type yet; did you mean greet?\n"
    assert cli("queues", "pause", "default").stderr == ""
    assert cli("queues", "pause", "--type", "greet").stderr == ""


def test_what_was_not_paused_may_be_another_name(cli, shelf) -> None:
    shelf.greet.delay(name="ada")
    cli("queues", "pause", "mail")

    resumed = cli("queues", "resume", "mial")

    assert (resumed.exit_code, resumed.stdout) == (0, "queue mial was not paused\n")
    assert resumed.stderr.endswith("; did you mean mail?\n")
    assert cli("queues", "resume", "mail").stderr == ""
    assert cli("queues", "resume", "default").stderr == ""


def test_a_type_is_known_by_what_has_ended_and_by_the_app(cli, shelf, app_folder) -> None:
    @shelf.app.activity
    async def once() -> None: ...

    once.delay().cancel()

    assert cli("queues", "pause", "--type", "once").stderr == ""
    assert cli("queues", "pause", "--type", "fail").stderr != ""
    assert cli("queues", "pause", "--type", "fail", "-A", "app:taskq").stderr == ""


def test_two_worker_processes_stop_within_a_second_and_go_on(app_folder, start) -> None:
    app = TaskQ(f"sqlite:///{app_folder / 'taskq.db'}")

    @app.activity
    async def greet(name: str) -> str:
        return name

    workers = [start("worker", "app:taskq", "-c", "1") for _ in range(2)]
    for worker in workers:
        worker.says("started")
    greet.delay(name="before").result(timeout=15)

    assert app.queues.pause(queue="default", reason="test")
    for worker in workers:
        worker.says("queue 'default' is paused by program (test)", within=1.0)
    waits = [greet.delay(name="waits") for _ in range(20)]
    app.queues.pause(type="unused")
    app.queues.resume(type="unused")  # two more rounds of hints, and nothing has begun
    assert {future.info().claim for future in waits} == {0}

    assert app.queues.resume(queue="default")
    for future in waits:
        assert future.result(timeout=15) == "hello waits"
    for worker in workers:
        worker.says("queue 'default' goes on", within=1.0)
    app.close()
