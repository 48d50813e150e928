#!/usr/bin/env python3
"""Fails when a file includes what its folder may not: the layer law.

The law is the table in docs/internals/architecture.md and nowhere else. Usage: layers.py ROOT
"""

import re
import sys
from pathlib import Path

from source_tree import files, is_cpp, without_comments

LAW = "docs/internals/architecture.md"
PUBLIC = "include"  # how the table's row include/gyre is called here
UNBOUND = ("tests", "docs")  # may include everything: they mirror or show the other folders

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|include_next)\b[ \t]*(.*)$', re.MULTILINE)


def read_law(page: str) -> dict[str, set[str]]:
    """Folder -> folders it may include, from the Markdown table whose third column says so."""
    law: dict[str, set[str]] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        named = re.findall(r"`([^`]+)`", cells[0])
        if len(cells) != 3 or not named or not line.startswith("|"):
            continue
        allowed = cells[2].replace("`", "")
        if allowed == "all of the above":
            below = set(law)
        elif allowed in ("nothing of ours", ""):
            below = set()
        else:
            below = {name.strip().split("/")[0] for name in allowed.split(",")}
        unknown = below - set(law) - {PUBLIC}
        if unknown:
            raise ValueError(f"{LAW}: {', '.join(named)} may include {', '.join(sorted(unknown))}, "
                             "which no row above it names")
        for name in named:
            law[name.split("/")[0]] = below
    if not law:
        raise ValueError(f"{LAW}: no table of folders found")
    return law


def includes(text: str) -> list[tuple[int, str]]:
    """(line, operand) of each include directive; operand is '"a/b.hpp"', '<vector>' or a macro."""
    code = without_comments(text, keep_strings=True)
    return [(code.count("\n", 0, match.start()) + 1, match.group(1).strip())
            for match in _INCLUDE.finditer(code)]


def target_folder(operand: str, law: dict[str, set[str]]) -> str:
    """Folder of an own header, "" for a foreign one. ValueError says what is wrong with it."""
    match = re.fullmatch(r'"([^"]+)"|<([^>]+)>', operand)
    if not match:
        raise ValueError(f"computed include {operand}; write the header's path")
    path = match.group(1) or match.group(2)
    if ".." in path.split("/") or path.startswith(("/", "./")):
        raise ValueError(f"{operand}: write the path from the project's root")
    first = path.split("/")[0]
    if first == "gyre":
        return PUBLIC
    own = first in law or first in UNBOUND
    if match.group(2):
        if own and "/" in path:
            raise ValueError(f"{operand} is ours; include it with quotes")
        return ""
    if "/" not in path:
        raise ValueError(f"{operand} relies on the includer's folder; write the path from the root")
    if not own:
        raise ValueError(f"{operand}: folder {first} has no row in {LAW}; "
                         "foreign headers are included with <>")
    return first


def exists(root: Path, operand: str) -> bool:
    """Whether an own header is there, or the template it is generated from."""
    path = operand[1:-1]
    base = root / "include" / path if path.startswith("gyre/") else root / path
    return base.is_file() or base.with_name(base.name + ".in").is_file()


def check_file(root: Path, name: str, law: dict[str, set[str]]) -> list[str]:
    folder = name.split("/")[0]
    if folder not in law and folder not in UNBOUND:
        return [f"{name}:1: folder {folder} has no row in {LAW}; add it there or move the file"]
    wrong = []
    for line, operand in includes((root / name).read_text(errors="replace")):
        try:
            target = target_folder(operand, law)
        except ValueError as error:
            wrong.append(f"{name}:{line}: {error}")
            continue
        if not target:
            continue
        if not exists(root, operand):
            wrong.append(f"{name}:{line}: {operand} is not in the tree")
        elif target != folder and folder not in UNBOUND and target not in law[folder]:
            wrong.append(f"{name}:{line}: {folder} may not include {operand}; see {LAW}")
    return wrong


def check(root: Path) -> list[str]:
    law = read_law((root / LAW).read_text())
    sources = [name for name in files(root) if is_cpp(name)]
    if not sources:
        return [f"{root}: no sources found"]
    return [wrong for name in sources for wrong in check_file(root, name, law)]


def main() -> int:
    wrong = check(Path(sys.argv[1]))
    print("\n".join(wrong) or "every include follows the layer law")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
