#!/usr/bin/env python3
"""Proves that no failed, crashed or missing test is counted as passed."""

import json
import tempfile
import unittest
from pathlib import Path

import results

HEAD = '<?xml version="1.0"?>\n<Catch2TestRun name="t">\n'
CASE = ' <TestCase name="{}"><OverallResult success="{}" skips="{}"/></TestCase>\n'
TAIL = (' <OverallResultsCases successes="{}" failures="{}" expectedFailures="{}" skips="{}"/>\n'
        "</Catch2TestRun>\n")


class Counting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.xml = Path(folder.name) / "t.xml"

    def catch2(self, xml: str | None, result: str, code: int) -> results.Outcome:
        if xml is not None:
            self.xml.write_text(xml)
        return results.outcome({
            "name": "unit - gyre:t", "duration": 0.5, "result": result, "returncode": code,
            "stdout": "said", "command": ["t", f"{results.XML_ARGUMENT}{self.xml}"]})

    def script(self, result: str, code: int) -> results.Outcome:
        return results.outcome({"name": "layers - gyre:tidy", "duration": 0.5, "result": result,
                                "returncode": code, "command": ["python3", "tidy.py"]})

    def expect(self, one: results.Outcome, passed: int, failed: int, skipped: int):
        self.assertEqual((one.passed, one.failed, one.skipped), (passed, failed, skipped))

    def test_catch2_cases_are_counted(self):
        one = self.catch2(HEAD + TAIL.format(5, 0, 1, 2), "OK", 0)
        self.expect(one, 6, 0, 2)
        self.assertEqual((one.name, one.output), ("t", ""))

    def test_failed_cases_are_counted_and_quoted(self):
        one = self.catch2(HEAD + TAIL.format(5, 2, 0, 0), "FAIL", 42)
        self.expect(one, 5, 2, 0)
        self.assertIn("said", one.output)

    def test_a_failure_after_the_last_case_counts(self):
        self.expect(self.catch2(HEAD + TAIL.format(5, 0, 0, 0), "FAIL", 66), 5, 1, 0)

    def test_a_program_that_ends_early_counts_even_with_exit_0(self):
        text = HEAD + CASE.format("a", "true", 0) + CASE.format("b", "true", 1) + "<TestCase name="
        self.expect(self.catch2(text, "OK", 0), 1, 1, 1)
        self.expect(self.catch2(text, "TIMEOUT", -9), 1, 1, 1)

    def test_a_program_that_never_ran_a_case_counts(self):
        self.expect(self.catch2(None, "FAIL", 127), 0, 1, 0)
        self.expect(self.catch2(HEAD + TAIL.format(0, 0, 0, 0), "OK", 0), 0, 1, 0)

    def test_all_cases_skipped_is_no_failure(self):
        self.expect(self.catch2(HEAD + TAIL.format(0, 0, 0, 3), "FAIL", 4), 0, 0, 3)
        self.expect(self.catch2(HEAD + TAIL.format(0, 0, 0, 3), "FAIL", 1), 0, 1, 3)

    def test_scripts_count_as_one(self):
        self.expect(self.script("OK", 0), 1, 0, 0)
        self.expect(self.script("SKIP", results.SKIP_EXIT), 0, 0, 1)
        for result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"):
            self.expect(self.script(result, 1), 0, 1, 0)

    def test_a_log_is_summed_and_the_line_is_the_promised_one(self):
        entry = {"name": "a", "duration": 1, "result": "OK", "returncode": 0, "command": ["a"]}
        failed = entry | {"result": "FAIL", "returncode": 1}
        log = self.xml.with_suffix(".json")
        log.write_text("".join(json.dumps(one) + "\n" for one in (entry, entry, failed)))
        self.assertEqual(results.total(results.read(log)).line(), "2 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
