"""The resident bridge across a fork. Each test is a program of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

PRELUDE = """
    import asyncio, gc, multiprocessing, os, threading
    import anyio
    from taskq.bridge import Doorbell, ResidentBridge, loop_poster

    bridge = ResidentBridge()

    async def pid():
        return os.getpid()

    def in_child(function):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                function()
                gc.collect()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


STRICT = (
    *("-W", "error"),
    # Python 3.12 warns at every fork of a process that has threads: that is the point here.
    *("-W", "ignore:This process:DeprecationWarning"),
)


def start(program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(PRELUDE) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run(program: str) -> str:
    """Run the program, all warnings being errors; return what it printed."""
    ended = start(program, *STRICT)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_parent_and_child_both_go_on_calling() -> None:
    """fault:A11: a pre-forking program that has used the bridge before it forks."""
    run(
        """
        def child():
            for _ in range(100):
                assert bridge.call_sync(pid, deadline=10) == os.getpid()
            bridge.close()

        assert bridge.call_sync(pid) == os.getpid()
        for _ in range(3):
            in_child(child)
            for _ in range(100):
                assert bridge.call_sync(pid, deadline=10) == os.getpid()
        bridge.close()
        """
    )


def test_a_grandchild_calls_too() -> None:
    run(
        """
        def grandchild():
            assert bridge.call_sync(pid, deadline=10) == os.getpid()

        def child():
            grandchild()
            in_child(grandchild)
            grandchild()

        bridge.call_sync(pid)
        in_child(child)
        """
    )


def test_a_child_of_multiprocessing_calls_and_exits_by_itself() -> None:
    printed = run(
        """
        def child(queue):
            queue.put(bridge.call_sync(pid, deadline=10) == os.getpid())

        if __name__ == "__main__":
            assert bridge.call_sync(pid) == os.getpid()
            context = multiprocessing.get_context("fork")
            queue = context.SimpleQueue()
            process = context.Process(target=child, args=(queue,))
            process.start()
            process.join(30)
            print(process.exitcode, queue.get())
            process.close()
            queue.close()
            assert bridge.call_sync(pid) == os.getpid()
            bridge.close()
        """
    )
    assert printed.split() == ["0", "True"]


def test_a_fork_in_the_middle_of_calls_leaves_both_sides_whole() -> None:
    run(
        """
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                assert bridge.call_sync(pid, deadline=10) == os.getpid()

        def child():
            assert bridge.call_sync(pid, deadline=10) == os.getpid()
            bridge.close()

        threads = [threading.Thread(target=busy) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            in_child(child)
        stop.set()
        for thread in threads:
            thread.join()
        bridge.close()
        """
    )


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_child_forked_beside_a_running_loop_starts_loops_of_its_own(backend: str) -> None:
    run(
        f"""
        def child():
            assert bridge.call_sync(pid, deadline=10) == os.getpid()
            anyio_backend = {backend!r}
            thread_result = []
            def other():
                thread_result.append(anyio.run(bridge.call, pid, backend=anyio_backend))
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(10)
            assert thread_result == [os.getpid()]
            bell.ring()      # its waiter belongs to the parent's loop
            post(lambda: print("posted to the parent"))
            bridge.close()

        async def main():
            global bell, post
            bell, post = Doorbell(), loop_poster()
            assert await bridge.call(pid) == os.getpid()
            async with anyio.create_task_group() as group:
                group.start_soon(bell.wait)
                await anyio.wait_all_tasks_blocked()
                in_child(child)
                assert await bridge.call(pid) == os.getpid()
                assert not bell.rung
                bell.ring()
            await bridge.aclose()

        anyio.run(main, backend={backend!r})
        """
    )


def test_fork_callbacks_run_in_the_child_after_the_reset_and_hold_methods_weakly() -> None:
    printed = run(
        """
        class Store:
            def __init__(self, name):
                self.name = name
                bridge.on_fork(self.forked)

            def forked(self):
                print(self.name, bridge.call_sync(pid, deadline=10) == os.getpid(), flush=True)

        bridge.call_sync(pid)
        kept, dropped = Store("kept"), Store("dropped")
        del dropped
        bridge.on_fork(lambda: print("function", flush=True))
        in_child(lambda: None)
        bridge.close()
        """
    )
    assert printed.splitlines() == ["kept True", "function"]


def test_a_fork_callback_that_fails_is_told_and_does_not_stop_the_others() -> None:
    ended = start(
        """
        bridge.on_fork(lambda: 1 / 0)
        bridge.on_fork(lambda: print("second", flush=True))
        in_child(lambda: None)
        """
    )
    assert ended.stdout == "second\n"
    assert "ZeroDivisionError" in ended.stderr
    assert ended.returncode == 0


def test_a_program_that_never_closes_the_bridge_exits_at_once() -> None:
    run(
        """
        async def never():
            await asyncio.Event().wait()

        bridge.spawn(never)
        assert bridge.call_sync(pid) == os.getpid()
        """
    )
