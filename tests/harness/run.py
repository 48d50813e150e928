#!/usr/bin/env python3
"""Runs the tests of one build, or of every build (--all), and closes with the sum of their cases.

Called by scripts/test, which has built build/ before. See --help.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
# The undefined-behaviour sanitizer writes to stderr whatever log_path says.
IN_OUTPUT = re.compile(r"[^\n]*: runtime error: [^\n]*")
FAILED_LINES_MAX = 60  # of one test program's output


@dataclass(frozen=True)
class Stage:
    """A build and its tests."""

    name: str
    folder: str
    compiler: tuple[str, str] | None = None  # C and C++; None: a build that is there already
    options: tuple[str, ...] = ()
    long: bool = False
    timeout_factor: int = 1
    env: dict[str, str] = field(default_factory=dict)


# Minutes to hours each: with --long only. CI_LONG asks for the long forms without them.
CAMPAIGN = ("campaign",)
CI_LONG = "all but campaigns"
SANITIZER = ("-Dbuildtype=debugoptimized", "-Db_lundef=false")
# What --all builds. Each row's cases must be as many as the first's, its long ones apart.
STAGES = (
    Stage("g++, warnings as errors", "build-gcc", ("gcc", "g++"),
          ("-Dwerror=true", "-Db_pch=false"), long=True),  # every file includes what it uses
    Stage("address and undefined behaviour", "build-asan", ("gcc", "g++"),
          SANITIZER + ("-Db_sanitize=address,undefined",), timeout_factor=4,
          env={"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
               "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}),
    Stage("threads; clang, warnings as errors", "build-tsan", ("clang", "clang++"),
          SANITIZER + ("-Db_sanitize=thread", "-Dwerror=true"), timeout_factor=6,
          env={"TSAN_OPTIONS": "second_deadlock_stack=1"}),
)


def say(text: str):
    print(f"test: {text}", flush=True)


def quoted(text: str) -> str:
    lines = text.strip().split("\n")
    if len(lines) > FAILED_LINES_MAX:
        half = FAILED_LINES_MAX // 2
        lines = lines[:half] + [f"... {len(lines) - 2 * half} lines ..."] + lines[-half:]
    return "\n".join("  | " + line for line in lines)


def command(words: list[str], log: Path, env: dict[str, str]) -> int:
    with open(log, "ab") as out:
        return subprocess.run(words, cwd=ROOT, env=os.environ | env, stdin=subprocess.DEVNULL,
                              stdout=out, stderr=subprocess.STDOUT, check=False).returncode


def build(stage: Stage) -> bool:
    """Configures and compiles; says why not."""
    folder = ROOT / stage.folder
    folder.mkdir(exist_ok=True)
    log = folder / "build.log"
    log.write_bytes(b"")
    env = dict(zip(("CC", "CXX"), stage.compiler))
    setup = ["meson", "setup", stage.folder, *stage.options]
    if (folder / "build.ninja").is_file():
        setup = ["meson", "configure", stage.folder, *stage.options]
    for step in (setup, ["ninja", "-C", stage.folder, "-j2"]):
        if command(step, log, env) != 0:
            said = [line for line in log.read_text(errors="replace").split("\n")
                    if not line.startswith("[")]
            say(f"{stage.folder} does not build; the whole of it is in {stage.folder}/build.log\n"
                + quoted("\n".join(said[-FAILED_LINES_MAX:])))
            return False
    return True


def with_reports(env: dict[str, str], prefix: Path) -> dict[str, str]:
    """Sanitizers write into files, so that the reports of child processes are seen too."""
    return {name: f"{value}:log_path={prefix}" for name, value in env.items()}


def sanitizer_reports(folder: Path, log: Path) -> list[results.Outcome]:
    """Reports of any process of a test, also where the test itself did not mind."""
    reports = [path.read_text(errors="replace") for path in sorted(folder.glob("sanitizer.*"))]
    for said in results.outputs(log):
        reports += IN_OUTPUT.findall(said)
    say(f"{len(reports)} sanitizer reports")
    return [results.Outcome(f"sanitizer report {number}", failed=1, output=text)
            for number, text in enumerate(reports, 1)]


def run_tests(stage: Stage, names: list[str], suites: list[str],
              long: bool | str) -> list[results.Outcome]:
    """Runs tests of a finished build; all but the long ones where neither names nor suites say."""
    folder = ROOT / stage.folder
    log = folder / "meson-logs" / "testlog.json"
    for old in [log, folder / "test.log", *folder.glob("tests/*.cases.xml"),
                *folder.glob("sanitizer.*")]:
        old.unlink(missing_ok=True)
    words = ["meson", "test", "-C", stage.folder, "--no-rebuild", "--quiet",
             "--timeout-multiplier", str(stage.timeout_factor)]
    for suite in suites:
        words += ["--suite", suite]
    if not names and not suites:
        left_out = CAMPAIGN if long is CI_LONG else () if long else ("long",) + CAMPAIGN
        for suite in left_out:
            words += ["--no-suite", suite]
    command(words + names, folder / "test.log", with_reports(stage.env, folder / "sanitizer"))
    outcomes = results.read(log) if log.is_file() else []
    if not outcomes:
        said = (folder / "test.log").read_text(errors="replace")
        outcomes = [results.Outcome("meson test", failed=1, output=said[-4000:])]
    if stage.env:
        outcomes += sanitizer_reports(folder, log)
    for one in outcomes:
        if one.failed:
            say(f"FAILED {one.name}: {one.line()}\n{quoted(one.output)}")
    return outcomes


def long_names(folder: str) -> set[str]:
    return {test["name"] for test in tests_of(folder) if "gyre:long" in test["suite"]}


def tests_of(folder: str) -> list[dict]:
    listing = subprocess.run(["meson", "introspect", "--tests", folder], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    return json.loads(listing.stdout)


def run_everything() -> list[results.Outcome]:
    outcomes: list[results.Outcome] = []
    expected = None
    for stage in STAGES:
        began = time.monotonic()
        say(f"{stage.name}: building {stage.folder}")
        if not build(stage):
            outcomes.append(results.Outcome(stage.folder, failed=1))
            continue
        built = time.monotonic()
        found = run_tests(stage, [], [], CI_LONG if stage.long else False)
        apart = long_names(stage.folder)
        cases = sum(one.cases for one in found if one.name not in apart)
        say(f"{stage.name}: {results.total(found).line()}; {cases} cases without the long ones; "
            f"build {built - began:.0f} s, tests {time.monotonic() - built:.0f} s")
        if expected is None:
            expected = cases
        elif cases != expected:
            say(f"FAILED {stage.folder} ran {cases} cases, the first build ran {expected}")
            found.append(results.Outcome("number of cases", failed=1))
        outcomes += found
    return outcomes


def select(wanted: list[str]) -> tuple[list[str], list[str]]:
    """Splits what was asked for into names and suites; ends the program on an unknown one."""
    tests = tests_of("build")
    names = {test["name"] for test in tests}
    suites = {suite.split(":")[-1] for test in tests for suite in test["suite"]} - {"gyre"}
    for word in wanted:
        if word not in names | suites:
            say(f"no test or suite is called {word}\n  suites: {' '.join(sorted(suites))}\n"
                f"  tests:  {' '.join(sorted(names))}")
            sys.exit(2)
    return ([word for word in wanted if word not in suites],
            [word for word in wanted if word in suites])


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test", description="Builds gyre and tests it.")
    parser.add_argument("tests", nargs="*", help="names of tests or suites; default: all but long")
    parser.add_argument("--long", action="store_true", help="the long forms and campaigns too")
    parser.add_argument("--all", action="store_true",
                        help="everything: long forms, mutations, sanitizers, both compilers")
    asked = parser.parse_args()
    if asked.all and asked.tests:
        parser.error("--all runs everything; leave the names out")
    began = time.monotonic()
    if asked.all:
        missing = [name for name in ("clang++", "g++") if not shutil.which(name)]
        if missing:
            parser.error(f"--all needs {' and '.join(missing)}; run scripts/setup --all")
        outcomes = run_everything()
    else:
        names, suites = select(asked.tests)
        outcomes = run_tests(Stage("plain", "build"), names, suites, asked.long)
    sum_of_all = results.total(outcomes)
    say(f"took {time.monotonic() - began:.0f} s")
    print(sum_of_all.line(), flush=True)
    return 1 if sum_of_all.failed or sum_of_all.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
