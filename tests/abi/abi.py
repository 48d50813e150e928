#!/usr/bin/env python3
"""Fails when the symbols of gyre.h, of libgyre.so, and of symbols.txt are not the same.

Usage: abi.py HEADER SYMBOLS LIBRARY SONAME. A symbol that leaves symbols.txt, or changes its
meaning, needs a new ABI number (include/meson.build).
"""

import re
import subprocess
import sys
from pathlib import Path


def declared(header: str) -> set[str]:
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    return set(re.findall(r"\bGYRE_API\b[^;(]*?\b(gyre_\w+)\s*\(", code))


def exported(library: str) -> set[str]:
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                             capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines()}


def soname(library: str) -> str:
    listing = subprocess.run(["readelf", "-d", library], check=True,
                             capture_output=True, text=True).stdout
    found = re.search(r"\(SONAME\).*\[(.*)\]", listing)
    return found.group(1) if found else "none"


def differences(what: str, found: set[str], listed: set[str]) -> list[str]:
    return ([f"{what} has {name}, symbols.txt has not" for name in sorted(found - listed)]
            + [f"symbols.txt has {name}, {what} has not" for name in sorted(listed - found)])


def main() -> int:
    header, symbols, library, expected = sys.argv[1:]
    listed = set(Path(symbols).read_text().split())
    wrong = differences("gyre.h", declared(Path(header).read_text()), listed)
    wrong += differences("libgyre.so", exported(library), listed)
    if soname(library) != expected:
        wrong.append(f"soname is {soname(library)}, expected {expected}")
    print("\n".join(wrong) or f"{len(listed)} symbols")
    return 1 if wrong or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
