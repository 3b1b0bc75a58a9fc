"""The installed package as a user has it: program, headers, both libraries, pkg-config file, example."""
import os
import pty
import re
import select
import shutil
import sys
import unittest

import scratch
from scratch import CC, CXX, LLAMA, SLUICE, SOURCE, WORK, needs_linker, place, run

sys.path.insert(0, str(SOURCE / "tests/cli"))
os.environ.update(SLUICE=str(SLUICE), TEST_DATA=str(SOURCE / "tests/data"))
import retag  # noqa: E402  reads the two

HEADERS = sorted(p.name for p in (SOURCE / "include/sluice").glob("*.h"))
PROMPT = "Once upon a time"


def pkg_config(*args):
    env = {"PKG_CONFIG_PATH": str(place("libdir", "pkgconfig")), "PKG_CONFIG_SYSROOT_DIR": str(scratch.ROOT)}
    return run("pkg-config", *args, "sluice", env=env).stdout.split()


class Program(unittest.TestCase):
    def test_version(self):
        version = pkg_config("--modversion")[0]
        self.assertRegex(run(SLUICE, "--version").stdout, rf"^sluice {re.escape(version)} ")

    def test_run(self):
        r = run(SLUICE, "run", LLAMA, "hello", "--no-template", "-n", "4", "--json", "-q", "--temp", "0")
        self.assertIn('"generated_tokens": 4', r.stdout)

    def test_bench(self):
        r = run(SLUICE, "bench", LLAMA, "-p", "8", "-n", "4", "-r", "1", "-t", "1")
        self.assertRegex(r.stdout, r"(?m)^pp8 .*\n^tg4 ")

    def test_deploy_files(self):
        files = sorted(p.name for p in place("datadir", "sluice", "deploy").iterdir())
        self.assertEqual(files, sorted(p.name for p in (SOURCE / "deploy").glob("*.yaml")))
        r = run(SLUICE, "info", LLAMA, "--deploy", place("datadir", "sluice", "deploy", "llama.yaml"))
        self.assertIn("llama.yaml", r.stdout)

    def test_info(self):
        self.assertIn("llama", run(SLUICE, "info", LLAMA).stdout)

    def test_chat(self):
        model = WORK / "chat.gguf"
        retag.write(str(model), [], template="{% for m in messages %}{{ m.content }}{% endfor %}")
        a = retag.byte_id(ord("a"))
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(SLUICE, [str(SLUICE), "run", str(model), "-n", "3", "-c", "512", "--logit-bias", f"{a}+1000"],
                      {"HOME": str(WORK)})
        seen = b""
        for expected, answer in ((b"> ", b"hello\n"), (b"aaa", b""), (b"> ", b"\x04")):
            while expected not in seen:
                self.assertTrue(select.select([fd], [], [], 30)[0], seen)
                seen += os.read(fd, 4096)
            seen = seen.partition(expected)[2]
            os.write(fd, answer)
        try:
            while os.read(fd, 4096):
                pass
        except OSError:
            pass  # how the end of a terminal is told
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_nothing_leads_back(self):
        """No file knows where it was built, and no library is looked for in a place of its own."""
        for path in (p for p in scratch.ROOT.rglob("*") if p.is_file() and not p.is_symlink()):
            content = path.read_bytes()
            code = content[:4] in (b"\x7fELF", b"!<ar")
            if code:  # what a debugger is told does not count
                bare = WORK / "bare"
                run("strip", "--strip-debug", "-o", bare, path)
                content = bare.read_bytes()
            for folder in (scratch.BUILD, SOURCE, scratch.ROOT):
                if not (code and scratch.SANITIZED):
                    # Assertions name their file as the compiler was given it: relative to the build.
                    found = re.search(rb"(?<!\.\.)" + re.escape(str(folder).encode()) + b"/", content)
                    self.assertIsNone(found, f"{path} holds {folder}")
            if content[:4] == b"\x7fELF":
                self.assertNotRegex(run("readelf", "-d", path).stdout, "RPATH|RUNPATH")


class Headers(unittest.TestCase):
    def test_all_there(self):
        self.assertEqual(sorted(p.name for p in place("includedir", "sluice").iterdir()), HEADERS)

    def alone(self, compiler, language, standard):
        for header in HEADERS:
            source = WORK / f"alone.{language}"
            source.write_text(f"#include <sluice/{header}>\n" * 2, encoding="utf-8")
            run(*compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                *pkg_config("--cflags"), source)

    def test_c(self):
        self.alone(CC, "c", "c11")

    @unittest.skipUnless(CXX, "no C++ compiler here")
    def test_cxx(self):
        self.alone(CXX, "cc", "c++11")


@needs_linker
class Example(unittest.TestCase):
    """The installed example, built by the line that it gives, says what the program says."""

    @classmethod
    def setUpClass(cls):
        shutil.copy(place("datadir", "doc/sluice/examples/generate.c"), WORK)

    def build(self, compiler, *flags, static=False):
        out = WORK / "generate"
        libraries = pkg_config("--libs", *(["--static"] if static else []))
        if static:
            libraries = ["-l:libsluice.a" if word == "-lsluice" else word for word in libraries]
        run(*compiler, "-Wall", "-Wextra", "-Werror", *flags, "-o", out, *pkg_config("--cflags"), *libraries)
        return out

    def said(self, program, dynamic):
        env = {"LD_LIBRARY_PATH": str(place("libdir"))} if dynamic else {}
        needed = run("readelf", "-d", program).stdout
        self.assertEqual("[libsluice.so." in needed, dynamic and scratch.SHARED)
        return run(program, LLAMA, PROMPT, env=env).stdout

    def test_example(self):
        source = WORK / "generate.c"
        expected = run(SLUICE, "run", LLAMA, PROMPT, "--no-template", "-n", "32", "--temp", "0", "-q").stdout
        self.assertGreater(len(expected), 16)
        self.assertEqual(self.said(self.build(CC, "-std=c11", source), True), expected)
        self.assertEqual(self.said(self.build(CC, source, static=True), False), expected)
        # pkg-config's own words for it, where the shared library is, too.
        run(*CC, source, "-o", WORK / "generate", *pkg_config("--cflags", "--libs", "--static"))
        self.assertEqual(self.said(WORK / "generate", True), expected)
        r = run(WORK / "generate", "nowhere.gguf", "x", env={"LD_LIBRARY_PATH": str(place("libdir"))}, code=1)
        self.assertIn("nowhere.gguf", r.stderr)

    @unittest.skipUnless(CXX, "no C++ compiler here")
    def test_example_as_cxx(self):
        shutil.copy(WORK / "generate.c", WORK / "generate.cc")
        expected = self.said(self.build(CC, WORK / "generate.c"), True)
        self.assertEqual(self.said(self.build(CXX, "-std=c++11", WORK / "generate.cc"), True), expected)
        self.assertEqual(self.said(self.build(CXX, WORK / "generate.cc", static=True), False), expected)

    def test_all_build(self):
        """Every example is installed, and is C and C++."""
        installed = sorted(place("datadir", "doc/sluice/examples").iterdir())
        self.assertEqual([p.name for p in installed], sorted(p.name for p in (SOURCE / "examples").glob("*.c")))
        for example in installed:
            self.build(CC, "-std=c11", example)
            if CXX:
                self.build([*CXX, "-x", "c++"], example, "-x", "none")

    def test_short(self):
        """What it takes to use the library fits a screen."""
        self.assertLess(len((WORK / "generate.c").read_text(encoding="utf-8").splitlines()), 55)


if __name__ == "__main__":
    scratch.main()
