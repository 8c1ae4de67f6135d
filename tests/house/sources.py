"""The package's files as the rules of the house read them: each is parsed once for all rules."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "taskq"
FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of its tree."""
    return tuple(ast.walk(tree_of(path)))


@cache
def code_of(path: Path) -> str:
    """What it does, without what its docstrings say."""
    return ast.unparse(_without_docstrings(ast.parse(text_of(path))))


def forget() -> None:
    """The trees are a million objects, which whatever runs later need not carry along."""
    for kept in (text_of, tree_of, nodes_of, code_of):
        kept.cache_clear()


def imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What these statements import, by module and by name in it."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [
                statement
                for statement in node.body
                if not (
                    isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
                )
            ] or [ast.Pass()]
    return tree
