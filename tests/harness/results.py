"""Counts test cases of a `meson test` run: every Catch2 case, and every other test as one.

Catch2 programs leave an XML file, named on their command line; only what is written there counts.
A program that dies, times out, or exits non-zero although its cases passed counts as one failed.
"""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

SKIP_EXIT = 77  # of scripts, as Meson has it
ALL_SKIPPED_EXIT = 4  # of a Catch2 program all of whose cases skipped
XML_ARGUMENT = "--reporter=xml::out="


@dataclass
class Outcome:
    """Cases of one test program, or the sum of many."""

    name: str = ""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    output: str = ""  # what it said, if anything failed

    @property
    def cases(self) -> int:
        return self.passed + self.failed + self.skipped

    def line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def total(outcomes: list[Outcome]) -> Outcome:
    return Outcome(passed=sum(one.passed for one in outcomes),
                   failed=sum(one.failed for one in outcomes),
                   skipped=sum(one.skipped for one in outcomes),
                   seconds=sum(one.seconds for one in outcomes))


def catch2_cases(xml: Path) -> tuple[int, int, int, bool]:
    """(passed, failed, skipped, complete). A program that was cut short leaves broken XML."""
    text = xml.read_text(errors="replace") if xml.is_file() else ""
    try:
        cases = ElementTree.fromstring(text).find("OverallResultsCases")
    except ElementTree.ParseError:
        cases = None
    if cases is None:
        ended = re.findall(r'<OverallResult success="(true|false)"(?: skips="(\d+)")?', text)
        skipped = sum(skips not in ("", "0") for _, skips in ended)
        failed = sum(success == "false" for success, _ in ended)
        return len(ended) - failed - skipped, failed, skipped, False
    number = {key: int(cases.get(key, "0"))
              for key in ("successes", "failures", "expectedFailures", "skips")}
    return (number["successes"] + number["expectedFailures"], number["failures"],
            number["skips"], True)


def outcome(entry: dict) -> Outcome:
    """Outcome of one line of Meson's testlog.json."""
    one = Outcome(name=entry["name"].split(":")[-1], seconds=entry["duration"])
    good = entry["result"] in ("OK", "EXPECTEDFAIL", "SKIP")
    xml = [word for word in entry["command"] if word.startswith(XML_ARGUMENT)]
    if xml:
        path = Path(xml[0][len(XML_ARGUMENT):])
        one.passed, one.failed, one.skipped, complete = catch2_cases(path)
        all_skipped = (entry["returncode"] == ALL_SKIPPED_EXIT and complete
                       and one.skipped == one.cases > 0)
        if not complete or (not good and not all_skipped and one.failed == 0) or one.cases == 0:
            one.failed += 1
    elif entry["result"] == "SKIP":
        one.skipped = 1
    else:
        one.passed, one.failed = (1, 0) if good else (0, 1)
    if one.failed:
        said = entry.get("stdout", "") + entry.get("stderr", "")
        one.output = f"{said}\n[{entry['result']}, exit status {entry['returncode']}]"
    return one


def outputs(log: Path) -> list[str]:
    """What each test of a run said, passed or not."""
    if not log.is_file():
        return []
    with open(log, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines if line.strip()]
    return [entry.get("stdout", "") + entry.get("stderr", "") for entry in entries]


def read(log: Path) -> list[Outcome]:
    """Outcomes of all tests of a run; `log` is Meson's testlog.json, one object per line."""
    with open(log, encoding="utf-8") as lines:
        return [outcome(json.loads(line)) for line in lines if line.strip()]
