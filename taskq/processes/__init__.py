"""Handlers in processes of their own: for work that keeps a CPU busy (docs/processes.md).

The worker's side: ``pool`` has the processes, ``child`` is one of them, ``conversation`` what is
said while an attempt runs there. The process's side: ``inside`` runs attempts, ``line`` is its end
of the pipe, ``proxy`` what its tasks enqueue and wait through. Both: ``wire``, ``refusal``,
``reference``.
"""
