#!/usr/bin/env python3
"""Small bad inputs, each of which a rule must refuse, beside a good one that it must let pass."""

import shutil
import tempfile
import unittest
from pathlib import Path

import contracts
import descriptors
import layers
import limits
import programs
import snippets
import switches
from functions import functions
from source import Source, code_of, read_tree


def rules(check, *files):
    """The rules that `check` finds broken in `files`, pairs of path and text."""
    return sorted({fault.rule for fault in check([Source(*file) for file in files])})


class Limits(unittest.TestCase):
    def broken(self, text, path="src/core/x.cpp"):
        return rules(limits.check, (path, text))

    def test_a_short_plain_file_passes(self):
        self.assertEqual(self.broken("int x;\n"), [])

    def test_lines_end_at_column_100(self):
        self.assertEqual(self.broken("//" + "x" * 98 + "\n"), [])
        self.assertEqual(self.broken("//" + "x" * 99 + "\n"), ["line"])
        self.assertEqual(self.broken("x" * 101 + "\n", "docs/a.md"), [])

    def test_files_end_at_line_500(self):
        self.assertEqual(self.broken("int x;\n" * 500), [])
        self.assertEqual(self.broken("int x;\n" * 501), ["file"])

    def test_functions_end_at_line_70(self):
        body = "  go();\n"
        self.assertEqual(self.broken("void f() {\n" + body * 68 + "}\n"), [])
        self.assertEqual(self.broken("void f() {\n" + body * 69 + "}\n"), ["function"])
        self.assertEqual(self.broken("def f():\n" + "    go()\n" * 70, "tools/a.py"), ["function"])

    def test_only_ascii_without_stray_space(self):
        self.assertEqual(self.broken("// caf\u00e9\n"), ["ascii"])
        self.assertEqual(self.broken("int x; \n"), ["space"])
        self.assertEqual(self.broken("\tint x;\n"), ["space"])
        self.assertEqual(self.broken("int x;"), ["space"])

    def test_marks_of_unfinished_work(self):
        self.assertEqual(self.broken("// FIX" + "ME later\n"), ["mark"])
        self.assertEqual(self.broken("# TO" + "DO\n", "CMakeLists.txt"), ["mark"])
        self.assertEqual(self.broken("<<<<<<< HEAD\n", "tests/cli/run.bats"), ["mark"])

    def test_only_texts_of_this_tree_are_cited(self):
        self.assertEqual(self.broken("// see docs/design.md\n"), [])
        self.assertEqual(self.broken("/// As DES" + "IGN 7 orders it.\n"), ["cite"])
        self.assertEqual(self.broken("DES" + "IGN's table\n", "docs/a.md"), ["cite"])


class Functions(unittest.TestCase):
    def names(self, text):
        return [head.split("(")[0].split()[-1] for _, _, head in functions(code_of(text))]

    def test_members_constructors_and_templates_are_found(self):
        text = """
        namespace a { class b { public: b() : x_{1}, y_(2) {} int get() const { return x_; }
          struct { int q; } s; }; }
        template <class T> requires(sizeof(T) > 1) T twice(T t) { if (t) { return t; } return t; }
        enum class e { one, two };
        constexpr int table[] = {1, 2, 3};
        auto call = [](int i) { return i; };
        TEST(a, b) { }
        """
        found = self.names(text)
        self.assertEqual((found[:2], found[4]), (["b", "get"], "TEST"))
        self.assertEqual(len(found), 5)

    def test_the_length_includes_the_signature(self):
        first, last, _ = functions("int f(int a,\n      int b) {\n  return a;\n}\n")[0]
        self.assertEqual((first, last), (1, 4))

    def test_a_brace_in_a_literal_or_comment_is_no_brace(self):
        text = 'void f() { char c = \'{\'; auto s = "}{"; auto r = R"x(}}})x"; /* } */ }\nint x;\n'
        self.assertEqual(len(functions(code_of(text))), 1)


class Layers(unittest.TestCase):
    def broken(self, path, text):
        return rules(layers.check, (path, text + "\n"))

    def test_what_each_layer_may_include(self):
        good = [
            ("include/holdfast/a.hpp", "#include <vector>"),
            ("include/holdfast/asio.hpp", "#include <asio/dispatch.hpp>"),
            ("src/core/a.cpp", '#include "core/b.hpp"\n#include <holdfast/lock.hpp>'),
            ("src/wire/a.cpp", '#include "wire/b.hpp"\n#include "core/assert.hpp"'),
            ("src/wire/a_test.cpp", "#include <hiredis/hiredis.h>"),
            ("src/io/a.cpp", "#include <sys/mman.h>\n#include <asio.hpp>"),
            ("src/engines/local/a.cpp", '#include <lmdb.h>\n#include "engines/local/b.hpp"'),
            ("src/client/a.cpp", '#include "engines/local/open.hpp"'),
            ("sim/a.cpp", '#include "core/queue.hpp"\n#include "sim/b.hpp"'),
            ("cli/a.cpp", "#include <CLI/CLI.hpp>\n#include <unistd.h>"),
            ("src/core/a_test.cpp", '#include "io/process/life.hpp"'),
        ]
        for path, text in good:
            self.assertEqual(self.broken(path, text), [], (path, text))

    def test_what_no_layer_may_include(self):
        bad = [
            ("include/holdfast/a.hpp", "#include <unistd.h>"),
            ("include/holdfast/a.hpp", "#include <asio.hpp>"),
            ("include/holdfast/a.hpp", '#include "core/b.hpp"'),
            ("src/core/a.cpp", '#include "io/process/life.hpp"'),
            ("src/core/a.cpp", "#include <unistd.h>"),
            ("src/core/a.cpp", "#include <thread>"),
            ("src/core/a.cpp", "#include <lmdb.h>"),
            ("src/core/a.cpp", '#include "wire/reply.hpp"'),
            ("src/wire/a.cpp", '#include "io/thread/loop.hpp"'),
            ("src/wire/a.cpp", '#include "engines/opened_store.hpp"'),
            ("src/wire/a.cpp", "#include <hiredis/hiredis.h>"),
            ("src/wire/a.cpp", "#include <sys/socket.h>"),
            ("src/wire/a.cpp", "#include <mutex>"),
            ("src/io/a.cpp", '#include "engines/opened_store.hpp"'),
            ("src/engines/local/a.cpp", '#include "engines/memory/b.hpp"'),
            ("src/engines/local/a.cpp", "#include <asio.hpp>"),
            ("src/client/a.cpp", '#include "engines/local/environment.hpp"'),
            ("src/client/a.cpp", "#include <lmdb.h>"),
            ("sim/a.cpp", '#include "io/process/life.hpp"'),
            ("cli/a.cpp", '#include "core/queue.hpp"'),
        ]
        for path, text in bad:
            self.assertEqual(self.broken(path, text), ["include"], (path, text))

    def test_calls_that_are_not_made(self):
        bad = [
            ("src/core/a.cpp", "auto t = std::chrono::system_clock::now();"),
            ("src/core/a.cpp", "auto t = clock::now();"),
            ("src/wire/a.cpp", "auto t = clock::now();"),
            ("sim/a.cpp", "auto t = holdfast::clock::now();"),
            ("src/client/a.cpp", "std::this_thread::sleep_for(t);"),
            ("src/client/a.cpp", "std::thread t;"),
            ("src/client/a.cpp", "std::jthread t;"),
            ("src/engines/local/a.cpp", "std::random_device d;"),
            ("src/engines/local/a.cpp", "std::mt19937 g;"),
            ("src/engines/local/a.cpp", "usleep(1);"),
            ("src/client/a.cpp", "std::steady_clock::time_point p;"),
            ("src/client/a.cpp", 'std::cerr << "x";'),
            ("src/client/a.cpp", 'printf("x");'),
            ("src/client/a.cpp", "abort();"),
            ("src/io/a.cpp", "std::rand();"),
            ("cli/a.cpp", 'std::system("ls");'),
            ("cli/a.cpp", "atoi(text);"),
            ("src/io/a.cpp", "std::ostringstream text;"),
            ("src/io/thread/a.hpp", "std::mutex mutex_;"),
            ("src/client/a.cpp", "const std::lock_guard hold(mutex_);"),
            ("src/fence/a.hpp", "std::condition_variable changed_;"),
        ]
        for path, text in bad:
            self.assertIn("banned", self.broken(path, text), (path, text))

    def test_a_test_of_pure_code_does_not_sleep(self):
        sleep = "std::this_thread::sleep_for(1ms);"
        self.assertEqual(self.broken("src/core/a_test.cpp", sleep), ["banned"])
        self.assertEqual(self.broken("src/wire/a_test.cpp", "usleep(1);"), ["banned"])
        self.assertEqual(self.broken("src/history/a_fixture.hpp", sleep), ["banned"])
        self.assertEqual(self.broken("src/io/a_test.cpp", sleep), [])
        self.assertEqual(self.broken("src/client/a_test.cpp", sleep), [])
        self.assertEqual(self.broken("src/core/a_test.cpp", "// sleep_for(1ms) is not needed"), [])

    def test_a_banned_word_in_a_comment_or_in_io_passes(self):
        self.assertEqual(self.broken("src/core/a.cpp", "// not system_clock: it is stepped"), [])
        self.assertEqual(self.broken("src/core/a.cpp", 'auto s = "std::thread";'), [])
        self.assertEqual(self.broken("src/io/a.cpp", "std::thread t;"), [])
        self.assertEqual(self.broken("src/io/thread/mutex.hpp", "std::mutex plain_;"), [])
        self.assertEqual(self.broken("src/client/a_test.cpp", "std::mutex m;"), [])


class Descriptors(unittest.TestCase):
    def broken(self, text, path="src/io/a.cpp"):
        return rules(descriptors.check, (path, text + "\n"))

    def test_what_is_closed_in_other_programs_passes(self):
        good = [
            "int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);",
            "int fd = ::openat(in.get(), name(1),\n    O_RDONLY | O_CLOEXEC);",
            "const int flags = O_RDWR |\n    O_CLOEXEC;\nint fd = ::open(path, flags, 0600);",
            "unique_fd again(::fcntl(fd, F_DUPFD_CLOEXEC, 0));",
            "::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);",
            'std::FILE* file = std::fopen(path.c_str(), "re");',
            "files.open(name); floor_file::open(name); peer->accept();",
            "// ::open(path, O_RDONLY) would be inherited",
        ]
        for text in good:
            self.assertEqual(self.broken(text), [], text)
        self.assertEqual(self.broken("::pipe(ends);", "src/io/a_test.cpp"), [])
        self.assertEqual(self.broken("::pipe(ends);", "bench/a.cpp"), [])

    def test_what_other_programs_inherit_is_refused(self):
        bad = [
            "int fd = ::open(path.c_str(), O_RDONLY);",
            "int fd = ::open(path.c_str(), O_RDONLY); ::fcntl(fd, F_SETFD, FD_CLOEXEC);",
            "const int flags = O_RDWR;\nint fd = ::open(path, flags, 0600);",
            "int flags = O_CLOEXEC;\nflags = O_RDWR;\nint fd = ::open(path, flags, 0600);",
            "int made(int flags) { return ::open(path, O_RDWR | flags); }",
            "::socket(AF_UNIX, SOCK_STREAM, 0);",
            "::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK);",
            "::pipe(ends);",
            "::dup2(fd, 1);",
            "::memfd_create(MFD_ALLOW_SEALING);",
            "::eventfd(0, EFD_NONBLOCK);",
            "::recvmsg(fd, &about, MSG_DONTWAIT);",
            "::fcntl(fd, F_DUPFD, 0);",
            'std::FILE* file = std::fopen(path.c_str(), "r");',
        ]
        for text in bad:
            self.assertEqual(self.broken(text), ["descriptor"], text)
        self.assertEqual(self.broken("::pipe(ends);", "cli/a.cpp"), ["descriptor"])


class Contracts(unittest.TestCase):
    HEADER = "enum class errc {\n  busy = 1,  ///< Held.\n};\n"
    CODE = 'case errc::busy:\n  return {"busy", "somebody holds it"};\n'
    TEST = "EXPECT_EQ(e, errc::busy);\n"

    def broken(self, header=HEADER, code=CODE, test=TEST):
        files = [(contracts.ERRORS, header), ("src/core/error.cpp", code), ("src/a_test.cpp", test)]
        return rules(lambda s: contracts.check_errors(s), *files)

    def test_an_error_has_doc_name_sentence_and_test(self):
        self.assertEqual(self.broken(), [])
        self.assertEqual(self.broken(header=self.HEADER.replace("///<", "//")), ["errc"])
        self.assertEqual(self.broken(code=self.CODE.replace('"busy"', '"held"')), ["errc"])
        self.assertEqual(self.broken(code='case errc::busy: return {"busy", ""};\n'), ["errc"])
        self.assertEqual(self.broken(test=""), ["errc"])
        self.assertEqual(self.broken(header="enum class other {\n};\n"), ["errc"])

    def test_every_source_is_in_cmake(self):
        source = ("src/core/a.cpp", "")
        listed = ("src/core/CMakeLists.txt", "target_sources(x PRIVATE a.cpp)\n")
        above = ("src/CMakeLists.txt", "target_sources(x PRIVATE core/a.cpp)\n")
        other = ("src/core/CMakeLists.txt", "target_sources(x PRIVATE aa.cpp)\n")
        check = contracts.check_listed
        self.assertEqual(rules(check, source, listed), [])
        self.assertEqual(rules(check, source, above), [])
        self.assertEqual(rules(check, source, other), ["cmake"])
        self.assertEqual(rules(check, source), ["cmake"])

    def test_every_suite_of_the_program_runs(self):
        suite = ("tests/cli/verify.bats", "")
        listed = (contracts.SUITES, "foreach(suite run\n  verify)\n")
        other = (contracts.SUITES, "verb_verify.cpp\nforeach(suite run verify_more)\n")
        self.assertEqual(rules(contracts.check_suites, suite, listed), [])
        self.assertEqual(rules(contracts.check_suites, suite, other), ["cmake"])
        self.assertEqual(rules(contracts.check_suites, suite), ["cmake"])

    def test_the_comment_share_counts_lines(self):
        self.assertEqual(contracts.comment_share("/// a\n\nint x;  // b\n// c\n"), (2, 1))


class Snippets(unittest.TestCase):
    EXAMPLE = ("examples/a.cpp", "int f() {\n  // [body]\n  go();\n    on();\n  // [/body]\n}\n")
    QUOTE = "Text.\n<!-- examples/a.cpp body -->\n```cpp\ngo();\n  on();\n```\n"

    def broken(self, text):
        return rules(snippets.check, self.EXAMPLE, ("docs/a.md", text))

    def test_a_quote_equals_its_example(self):
        self.assertEqual(self.broken(self.QUOTE), [])
        self.assertEqual(self.broken(self.QUOTE.replace("go()", "went()")), ["snippet"])
        self.assertEqual(self.broken(self.QUOTE.replace(" body", " other")), ["snippet"])
        self.assertEqual(self.broken(self.QUOTE.replace("a.cpp", "b.cpp")), ["snippet"])
        self.assertEqual(self.broken("```cpp\ngo();\n```\n"), ["snippet"])
        self.assertEqual(self.broken("```sh\ngo\n```\n"), [])


class Switches(unittest.TestCase):
    SESSIONS = 'x{{ {"wait", &core::rules::wait, "calm"}, }};\n'
    REDLOCK = (
        'x{of_machine("seal", &rules::seal, "slow"),\n'
        'rule_switch{.name = "drift",\n  .scenario = "long"}};\n'
    )
    ROWS = (
        "| wait | calm | 1 | 1,074 | y |\n"
        "| seal | slow | 2 | 9 | y |\n"
        "| drift | long | 3 | 4 | y |\n"
    )
    TABLES = (
        "| rule | model | switch | tests |\n|---|---|---|---|\n"
        "| a | `M` | `seal` | `x.y` |\n| b | - | `drift` | - |\n| c | - | - | - |\n\n"
        "| rule | switch | test |\n|---|---|---|\n| d | `wait` | `x.z` |\n"
    )

    def broken(self, rows, tables):
        files = (
            ("sim/rule_switches.cpp", self.SESSIONS),
            ("sim/redlock/rule_switches.cpp", self.REDLOCK),
            ("docs/simulator.md", rows),
            ("docs/safety.md", tables),
        )
        return [fault.text for fault in switches.check([Source(*file) for file in files])]

    def test_tables_that_name_every_switch_pass(self):
        self.assertEqual(self.broken(self.ROWS, self.TABLES), [])

    def test_each_switch_has_a_row_and_each_row_a_switch(self):
        self.assertEqual(len(self.broken(self.ROWS.replace("| seal", "| heal"), self.TABLES)), 2)
        self.assertEqual(len(self.broken(self.ROWS.replace("slow", "calm"), self.TABLES)), 2)

    def test_each_switch_is_that_of_a_rule(self):
        self.assertEqual(len(self.broken(self.ROWS, self.TABLES.replace("`drift`", "-"))), 1)
        unknown = self.TABLES.replace("| c | - | -", "| c | - | `no`")
        self.assertEqual(len(self.broken(self.ROWS, unknown)), 1)


class Programs(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="tidy")
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        target = Path(self.root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def test_a_header_that_needs_another_is_refused(self):
        good = "#pragma once\n#include <string>\nstd::string f();\n"
        self.write("include/holdfast/good.hpp", good)
        self.assertEqual(list(programs.check_headers(self.root, "g++")), [])
        self.write("include/holdfast/bad.hpp", "#pragma once\nstd::string f();\n")
        self.write("include/holdfast/once.hpp", "struct twice {};\n")
        self.write("include/holdfast/throws.hpp", "#pragma once\ninline void f() { throw 1; }\n")
        faults = list(programs.check_headers(self.root, "g++"))
        paths = {fault.path.rsplit("/", 1)[1] for fault in faults}
        self.assertEqual(paths, {"bad.hpp", "once.hpp", "throws.hpp"})

    def test_headers_together_are_refused_for_what_each_is_refused_for(self):
        def paths():
            faults = programs.check_headers(self.root, "g++", together=True)
            return {fault.path for fault in faults}

        self.write("include/holdfast/good.hpp", "#pragma once\nstruct good {};\n")
        self.assertEqual(paths(), set())
        # In one order the other comes first and has what this one lacks.
        self.write("include/holdfast/later.hpp", "#pragma once\ngood f();\n")
        self.assertEqual(paths(), {"include/holdfast/later.hpp"})
        # Not a copy: gcc would take a copy of the same second for the file itself.
        self.write("include/holdfast/later.hpp", "#pragma once\nstruct good { int i; };\n")
        self.assertEqual(paths(), {"include/holdfast"})

    @unittest.skipUnless(shutil.which("clang-format-14"), "clang-format-14 is not installed")
    def test_a_badly_formatted_file_is_refused(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("src/good.cpp", "int x;\n")
        self.write("src/bad.cpp", "int   x ;\n")
        found = programs.check_format(self.root, read_tree(self.root), "clang-format-14")
        self.assertEqual([fault.path for fault in found], ["src/bad.cpp"])


if __name__ == "__main__":
    unittest.main()
