#!/usr/bin/env python3
"""Fails on what CONTRIBUTING.md forbids and a program can see: sizes, tabs, guards, first lines.

Usage: tidy.py ROOT
"""

import ast
import re
import sys
from pathlib import Path

from source_tree import HEADER_SUFFIXES, files, is_cpp, without_comments

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
CODE_SUFFIXES = {".py", ".sh", ".build"}
# What may stand between the parameters of a function and its body.
BODY = re.compile(r"\)\s*(const|noexcept|override|final|requires|->|:|&|mutable|$)")
# Paths of somebody's machine have no place in a repository.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users|work)/\w")


def is_code(root: Path, name: str) -> bool:
    if is_cpp(name) or Path(name).suffix in CODE_SUFFIXES:
        return True
    if Path(name).suffix:
        return False
    with open(root / name, "rb") as file:
        return file.read(2) == b"#!"


def check_lines(name: str, text: str) -> list[str]:
    lines = text.split("\n")
    wrong = []
    if len(lines) - 1 > FILE_LINES_MAX:
        wrong.append(f"{name}:{FILE_LINES_MAX}: file has {len(lines) - 1} lines, "
                     f"at most {FILE_LINES_MAX}; what does it hold that could live apart?")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            wrong.append(f"{name}:{number}: {len(line)} columns, at most {COLUMNS_MAX}")
        if "\t" in line:
            wrong.append(f"{name}:{number}: tab; use spaces")
        if line != line.rstrip():
            wrong.append(f"{name}:{number}: blanks at the end of the line")
        if MACHINE_PATH.search(line):
            wrong.append(f"{name}:{number}: path of one particular machine")
    if text and not text.endswith("\n"):
        wrong.append(f"{name}:{len(lines)}: no newline at the end")
    return wrong


def check_opening(name: str, text: str, has_own_header: bool) -> list[str]:
    """A file begins by saying why it exists; a source whose header says it need not repeat it."""
    wrong = []
    if Path(name).suffix in HEADER_SUFFIXES:
        guarded = "#pragma once" in text or re.search(r"^#ifndef \w+_H\n#define", text, re.M)
        # Read once per instruction set: Highway's toggle stands where the guard would.
        guarded = guarded or name.endswith("-inl.hpp") and "defined(HWY_TARGET_TOGGLE)" in text
        # Compiled by itself, where g++ warns of a pragma once, and included by nobody.
        guarded = guarded or "/precompiled/" in name
        if not guarded:
            wrong.append(f"{name}:1: no #pragma once")
    if Path(name).suffix == ".build" or has_own_header or name.startswith("tests/"):
        return wrong
    first = "\n".join(text.split("\n")[:3])
    if not re.search(r'^(//|/\*|#(?!!|include|pragma|define|if)|"""|r""")', first, re.M):
        wrong.append(f"{name}:1: does not begin with a comment that says why the file exists")
    return wrong


def cpp_functions(text: str) -> list[tuple[int, int]]:
    """(first line, lines) of each function body outside other functions.

    Not a parser: a brace whose head has parentheses and does not begin a namespace or type is a
    function. That is exact enough for a limit on length.
    """
    code = without_comments(text, keep_strings=False)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", code, flags=re.M)
    found, stack, head_start = [], [], 0
    for match in re.finditer(r"[{};]", code):
        position, symbol = match.start(), match.group(0)
        if symbol == "{":
            head = code[head_start:position]
            scope = re.search(r"\b(namespace|class|struct|union|enum|extern)\b", head)
            begins = BODY.search(head)
            inside = any(kind == "function" for kind, _ in stack)
            is_function = begins and not inside and not (scope and scope.start() < head.find("("))
            start = head_start + len(head) - len(head.lstrip())
            stack.append(("function" if is_function else "other", start))
        elif symbol == "}" and stack:
            kind, start = stack.pop()
            if kind == "function":
                first = code.count("\n", 0, start) + 1
                found.append((first, code.count("\n", 0, position) + 2 - first))
        head_start = position + 1
    return found


def python_functions(text: str) -> list[tuple[int, int]]:
    return [(node.lineno, node.end_lineno - node.lineno + 1) for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def check_functions(name: str, text: str) -> list[str]:
    if is_cpp(name):
        functions = cpp_functions(text)
    elif Path(name).suffix == ".py":
        functions = python_functions(text)
    else:
        functions = []
    return [f"{name}:{line}: function of {lines} lines, at most {FUNCTION_LINES_MAX}"
            for line, lines in functions if lines > FUNCTION_LINES_MAX]


def check_own_header_first(root: Path, name: str, text: str) -> list[str]:
    """`x.cpp` beside `x.hpp` includes it before anything else, so that it needs nothing else."""
    own = Path(name).with_suffix(".hpp")
    if Path(name).suffix != ".cpp" or not (root / own).is_file():
        return []
    first = re.search(r'^\s*#\s*include\s*(\S+)', without_comments(text, True), re.M)
    if first and first.group(1) == f'"{own}"':
        return []
    return [f'{name}:1: the first include is not "{own}"']


def check_file(root: Path, name: str) -> list[str]:
    try:
        text = (root / name).read_text()
    except UnicodeDecodeError:
        return [f"{name}:1: not UTF-8"]
    has_own_header = is_cpp(name) and (root / name).with_suffix(".hpp").is_file()
    is_header = Path(name).suffix in HEADER_SUFFIXES
    return (check_lines(name, text) + check_functions(name, text)
            + check_opening(name, text, has_own_header and not is_header)
            + check_own_header_first(root, name, text))


def check(root: Path) -> list[str]:
    links = [name for name in files(root) if (root / name).is_symlink()]
    wrong = [f"{name}:1: a symbolic link; commit the file itself, or nothing" for name in links]
    for name in files(root):
        if name not in links and is_code(root, name):
            wrong += check_file(root, name)
    return wrong


def main() -> int:
    wrong = check(Path(sys.argv[1]))
    print("\n".join(wrong) or "tidy")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
