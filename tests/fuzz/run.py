#!/usr/bin/env python3
"""Builds the fuzzer of the control plane's decoders with clang and runs it for a few seconds.

Usage: run.py ROOT [SECONDS]. Exits with 77, a skip, where clang or its libFuzzer is missing.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIP = 77
SECONDS = 5
INPUT_BYTES_MAX = 4200  # a little more than the longest message
SANITIZERS = "-fsanitize=fuzzer,address,undefined"
SOURCES = [
    "tests/fuzz/decoders_fuzz.cpp",
    "base/hmac.cpp",
    "base/status.cpp",
    "transport/bootstrap/handshake.cpp",
    "transport/bootstrap/messages.cpp",
    "transport/bootstrap/unique_id.cpp",
]
VERSION = [f"-DGYRE_VERSION_{part}=0u" for part in ("MAJOR", "MINOR", "PATCH")]


def has_fuzzer(clang: str, folder: Path) -> bool:
    probe = folder / "probe.cpp"
    probe.write_text('extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) '
                     "{ return 0; }\n")
    command = [clang, SANITIZERS, str(probe), "-o", str(folder / "probe")]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def main() -> int:
    root = Path(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    clang = shutil.which("clang++")
    with tempfile.TemporaryDirectory(prefix="gyre-fuzz-") as name:
        folder = Path(name)
        if not clang or not has_fuzzer(clang, folder):
            print("no clang++ with libFuzzer (Debian: clang and libclang-rt-*-dev)")
            return SKIP
        program = folder / "decoders_fuzz"
        subprocess.run(
            [clang, "-std=c++20", "-O1", "-g", SANITIZERS, "-fno-sanitize-recover=all", *VERSION,
             f"-I{root}", *(str(root / source) for source in SOURCES),
             "-lfmt", "-lcrypto", "-o", str(program)], check=True)
        corpus = folder / "corpus"
        corpus.mkdir()
        return subprocess.run(
            [str(program), str(corpus), f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES_MAX}",
             "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={Path.cwd()}/fuzz-"],
            check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
