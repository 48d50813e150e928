#!/usr/bin/env python3
"""Proves that the layers and tidiness tests see what they must: each plants a violation.

Usage: layers_test.py, with the standard library's unittest.
"""

import tempfile
import unittest
from pathlib import Path

import layers
import tidy

TABLE = """
| folder | holds | may include |
| --- | --- | --- |
| `base` | status | nothing of ours |
| `transport` | links | base |
| `collectives` | engine | transport, base, include |
| `include/gyre` | the public API | |
| `bench`, `tools` | programs | all of the above |
"""


class Tree(unittest.TestCase):
    """A small tree that keeps every rule; tests break one rule each."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write(layers.LAW, TABLE)
        self.write("base/status.hpp", "// Errors.\n#pragma once\n#include <string>\n")
        self.write("base/status.cpp", '#include "base/status.hpp"\n')
        self.write("include/gyre/gyre.h", "/* API. */\n#ifndef GYRE_H\n#define GYRE_H\n#endif\n")
        self.write("collectives/comm.hpp",
                   '// Engine.\n#pragma once\n#include <gyre/gyre.h>\n#include "base/status.hpp"\n')
        self.write("bench/main.cpp", '// Bench.\n#include "collectives/comm.hpp"\n')
        self.write("tests/comm_test.cpp", '#include "collectives/comm.hpp"\n')

    def write(self, name: str, text: str):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, check, *parts: str):
        found = check(self.root)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])


class Layers(Tree):
    def test_a_lawful_tree_passes(self):
        self.assertEqual(layers.check(self.root), [])

    def test_an_upward_arrow_fails(self):
        self.write("base/status.cpp", '#include "base/status.hpp"\n#include "bench/main.cpp"\n')
        self.expect(layers.check, "base/status.cpp:2", "base may not include")

    def test_an_arrow_beside_the_table_fails(self):
        self.write("transport/link.hpp", '//\n#include "collectives/comm.hpp"\n')
        self.expect(layers.check, "transport may not include")

    def test_the_public_header_is_above_base(self):
        self.write("base/status.cpp", "#include <gyre/gyre.h>\n")
        self.expect(layers.check, "base may not include <gyre/gyre.h>")

    def test_nothing_includes_tests(self):
        self.write("tests/help.hpp", "//\n")
        self.write("bench/main.cpp", '#include "tests/help.hpp"\n')
        self.expect(layers.check, "bench may not include")

    def test_an_unknown_folder_fails(self):
        self.write("helpers/odd.cpp", "//\n")
        self.expect(layers.check, "helpers/odd.cpp:1", "no row")

    def test_an_include_of_an_unknown_folder_fails(self):
        self.write("base/status.cpp", '#include "hwy/highway.h"\n')
        self.expect(layers.check, "folder hwy has no row")

    def test_a_path_upward_fails(self):
        self.write("transport/link.cpp", '#include "transport/../base/status.hpp"\n')
        self.expect(layers.check, "from the project's root")

    def test_an_implicit_include_fails(self):
        self.write("base/status.cpp", '#include "status.hpp"\n')
        self.expect(layers.check, "relies on the includer's folder")

    def test_a_computed_include_fails(self):
        self.write("base/status.cpp", "#include STATUS_HEADER\n")
        self.expect(layers.check, "computed include")

    def test_an_own_header_in_angles_fails(self):
        self.write("transport/link.cpp", "#include <base/status.hpp>\n")
        self.expect(layers.check, "include it with quotes")

    def test_a_missing_header_fails_and_a_generated_one_does_not(self):
        self.write("base/status.cpp", '#include "base/version.hpp"\n')
        self.expect(layers.check, "not in the tree")
        self.write("base/version.hpp.in", "")
        self.assertEqual(layers.check(self.root), [])

    def test_comments_and_strings_are_not_includes(self):
        self.write("base/status.cpp", '// #include "bench/a.hpp"\n/*\n#include "bench/b.hpp"\n*/\n'
                   'const char* s = R"(\n#include "bench/c.hpp"\n)";\n')
        self.assertEqual(layers.check(self.root), [])

    def test_conditional_includes_are_seen(self):
        self.write("base/status.cpp", '#if 0\n  #  include "bench/main.cpp"\n#endif\n')
        self.expect(layers.check, "base/status.cpp:2")

    def test_a_table_with_a_typing_mistake_is_refused(self):
        with self.assertRaises(ValueError):
            layers.read_law(TABLE.replace("| base |", "| bass |"))
        with self.assertRaises(ValueError):
            layers.read_law("no table")


class Tidy(Tree):
    def test_a_tidy_tree_passes(self):
        self.assertEqual(tidy.check(self.root), [])

    def test_long_files_lines_and_functions_fail(self):
        self.write("bench/a.cpp", "// Long.\n" + "int x;\n" * 600)
        self.expect(tidy.check, "601 lines")
        self.write("bench/a.cpp", "// Wide.\n//" + "x" * 99 + "\n")
        self.expect(tidy.check, "101 columns")
        body = "  f();\n" * 69
        self.write("bench/a.cpp", "// Deep.\nnamespace n {\nvoid g() {\n" + body + "}\n}\n")
        self.expect(tidy.check, "bench/a.cpp:3", "function of 71 lines")
        self.write("bench/a.cpp", "// Fits.\nnamespace n {\nvoid g() {\n" + body[7:] + "}\n}\n")
        self.assertEqual(tidy.check(self.root), [])

    def test_long_test_cases_and_constructors_fail(self):
        body = "  f('{', \"{\");  // {\n" * 70
        self.write("tests/a.cpp", 'TEST_CASE("x", "[y]") {\n' + body + "}\n")
        self.expect(tidy.check, "function of 72 lines")
        self.write("tests/a.cpp", "A::A(int b)\n    : b_(b) {\n" + body + "}\n")
        self.expect(tidy.check, "function of 73 lines")

    def test_long_types_and_tables_pass(self):
        self.write("bench/a.cpp",
                   "// A type.\nclass A {\n" + "  int f() { return 1; }\n" * 90 + "};\n"
                   "int t[] = {\n" + "  1,\n" * 90 + "};\n")
        self.assertEqual(tidy.check(self.root), [])

    def test_a_long_python_function_fails(self):
        self.write("scripts/a.py", '"""A."""\ndef f():\n' + "    x = 1\n" * 70)
        self.expect(tidy.check, "function of 71 lines")

    def test_tabs_blanks_and_missing_newlines_fail(self):
        self.write("bench/a.cpp", "// A.\n\tint x;\n")
        self.expect(tidy.check, "tab")
        self.write("bench/a.cpp", "// A.\nint x; \n")
        self.expect(tidy.check, "blanks")
        self.write("bench/a.cpp", "// A.\nint x;")
        self.expect(tidy.check, "no newline")

    def test_headers_need_a_guard_and_files_a_reason(self):
        self.write("bench/a.hpp", "// A.\n")
        self.expect(tidy.check, "#pragma once")
        self.write("bench/a.hpp", "#pragma once\n")
        self.expect(tidy.check, "does not begin with a comment")

    def test_the_own_header_comes_first(self):
        self.write("base/status.cpp", '#include <string>\n#include "base/status.hpp"\n')
        self.expect(tidy.check, "first include")

    def test_machine_paths_fail(self):
        self.write("bench/a.cpp", "// A.\nauto p = \"/ho" "me/somebody\";\n")
        self.expect(tidy.check, "particular machine")

    def test_symbolic_links_fail(self):
        (self.root / "tools").symlink_to(self.root)
        self.expect(tidy.check, "symbolic link")
        (self.root / "tools").unlink()
        (self.root / "gone").symlink_to("/nowhere")
        self.expect(tidy.check, "symbolic link")

    def test_scripts_without_a_suffix_are_looked_at(self):
        self.write("scripts/a", "#!/bin/sh\n\techo\n")
        self.assertEqual(len(tidy.check(self.root)), 2)


if __name__ == "__main__":
    unittest.main()
