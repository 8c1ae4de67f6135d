"""How fast taskq is, each figure beside the least that the same work can cost.

``python -m benchmarks`` runs them, see ``docs/benchmarks.md``. Nothing here is part of the
installed package.
"""
