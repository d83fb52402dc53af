"""Prints, as JSON, what a Python package exports: for each name its description and its declaration without bodies."""

import ast
import json
import sys
from functools import cache
from pathlib import Path


def main(init: Path) -> None:
    print(json.dumps([exported(node, file) for file, node in exports(init).values()]))


def exports(init: Path) -> dict[str, tuple[Path, ast.stmt]]:
    """The classes and functions that a package imports to export them, each with the file that declares it."""
    found: dict[str, tuple[Path, ast.stmt]] = {}
    for node in own_imports(init):
        file = init.parent / f"{node.module}.py"
        if node.module and file.exists():
            declared = {each.name: each for each in body_of(file) if isinstance(each, ast.ClassDef | ast.FunctionDef)}
            found |= {each.name: (file, declared[each.name]) for each in node.names if each.name in declared}
    return found


@cache
def body_of(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text()).body


def own_imports(file: Path) -> list[ast.ImportFrom]:
    return [node for node in body_of(file) if isinstance(node, ast.ImportFrom) and node.level]


def exported(node: ast.stmt, file: Path) -> dict[str, str]:
    lines = file.read_text().split("\n")
    members = [*head(node, lines)]
    for member in node.body[1 if ast.get_docstring(node) else 0 :] if isinstance(node, ast.ClassDef) else []:
        if is_public(member, internal_types(file)):
            members += head(member, lines) + docs(member, lines)
    declaration = with_values("\n".join(members), file)
    return {"name": node.name, "text": ast.get_docstring(node) or "", "declaration": declaration}


@cache
def internal_types(file: Path) -> set[str]:
    """What the file imports of its own package, without what the package exports."""
    imported = {alias.name for node in own_imports(file) for alias in node.names}
    return imported - set(exports(file.parent / "__init__.py"))


def is_public(member: ast.stmt, internal: set[str]) -> bool:
    """Whether users may use it. A constructor that takes internal types is for the client itself."""
    if isinstance(member, ast.FunctionDef) and member.name == "__init__":
        return not any(isinstance(each, ast.Name) and each.id in internal for each in ast.walk(member.args))
    if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
        return not member.name.startswith("_")
    return isinstance(member, ast.AnnAssign | ast.Expr)


def head(node: ast.stmt, lines: list[str]) -> list[str]:
    """The lines of a statement, with decorators and without what comes after its colon."""
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return lines[first - 1 : node.end_lineno]
    whole = lines[first - 1 : node.body[0].lineno - 1]
    end = max(index for index, line in enumerate(whole) if line.endswith(":"))
    return whole[: end + 1]


def docs(node: ast.stmt, lines: list[str]) -> list[str]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not ast.get_docstring(node):
        return []
    return lines[node.body[0].lineno - 1 : node.body[0].end_lineno]


def with_values(text: str, file: Path) -> str:
    """Defaults that are constants of the client, as their values."""
    for source in {file, *(file.parent / f"{node.module}.py" for node in own_imports(file) if node.module)}:
        for node in body_of(source) if source.exists() else []:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                text = text.replace(f" = {node.target.id}", f" = {ast.unparse(node.value)}")
    return text


main(Path(sys.argv[1]))
