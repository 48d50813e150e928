"""Which files the layers and tidiness tests look at, and how a C++ file reads without comments.

Both tests report violations as strings "path:line: what is wrong; what to do".
"""

import re
import subprocess
from pathlib import Path

CPP_SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh"}
HEADER_SUFFIXES = {".hpp", ".h", ".cuh"}
SKIPPED = ("build", ".")  # folders that begin with these hold nothing written by hand


def files(root: Path) -> list[str]:
    """Paths below root of everything that git tracks or would track; without git, a walk."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        found = [name for name in listing.stdout.split("\0") if name]
    else:
        found = [str(path.relative_to(root)) for path in root.rglob("*")]
        found = [name for name in found if not name.startswith(SKIPPED)]
    return sorted(name for name in set(found)
                  if (root / name).is_file() or (root / name).is_symlink())


def is_cpp(name: str) -> bool:
    return Path(name).suffix in CPP_SUFFIXES


_TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/'                        # comments
    r'|R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"'  # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                      # strings
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",    # characters, not digit separators
    re.DOTALL)


def without_comments(text: str, keep_strings: bool) -> str:
    """The text with comments and raw strings (and strings, unless kept) blanked; lines stay."""

    def blank(match: re.Match) -> str:
        token = match.group(0)
        if token[0] in "\"'" and keep_strings:
            return token
        newlines = "\n" * token.count("\n")
        return newlines if token[0] == "/" else '""' + newlines

    return _TOKENS.sub(blank, text)
