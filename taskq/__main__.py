"""``python -m taskq`` is the same as the ``taskq`` script."""

from __future__ import annotations

from taskq.cli import main

main()
