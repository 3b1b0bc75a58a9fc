"""The manual pages as man shows them: complete, since options and declarations are put in by man/page.py."""
import json
import re
import shutil
import unittest

import scratch
from scratch import SLUICE, SOURCE, place, run


def page(name):
    """A page as text, in lines so wide that nothing is broken."""
    section = name.rsplit(".", 1)[1]
    r = run("groff", "-man", "-Tutf8", "-ww", "-rLL=200n", "-P-cbou", place("mandir", f"man{section}", name))
    assert not r.stderr, r.stderr
    return r.stdout.replace("\u2010", "-").replace("\u2212", "-").replace("\u2019", "'")


PAGES = sorted(p.name for p in (SOURCE / "man").glob("*.scd.in"))


@unittest.skipUnless(shutil.which("groff"), "no groff here")
@unittest.skipUnless((scratch.BUILD / "man/sluice.1").is_file(), "built without manual pages: no scdoc here")
class Pages(unittest.TestCase):
    def test_all_installed(self):
        there = sorted(p.name for p in place("mandir").glob("man*/*"))
        self.assertEqual(there, [p.removesuffix(".scd.in") for p in PAGES])
        self.assertEqual({f"sluice-{c}.1" for c in scratch.commands()} | {"sluice.1", "libsluice.3", "sluice-deploy.5"}, set(there))

    def test_all_that_help_says(self):
        for command in scratch.commands():
            text = page(f"sluice-{command}.1")
            options = scratch.options_of_help(command)
            self.assertGreater(len(options), 3)
            for option in options:
                # Other long names may stand between the first and the value.
                pattern = re.escape(option).replace(r"\ ", r"(?:, --[\w-]+)*\ ", 2) if " " in option else re.escape(option)
                self.assertRegex(text, rf"(?m)^ +{pattern}(?:, --[\w-]+)*$", f"{command}: {option}")
            usage = run(SLUICE, command, "--help").stdout.splitlines()[2].removeprefix("Usage: ")
            for part in usage.split("   or   "):
                self.assertIn(part, text)
            self.assertNotRegex(text, r"(?m)^@\w+@$")

    def test_keys_of_json(self):
        """What --json prints is named on the page."""
        for command, *args in (("run", "x", "--no-template", "-n", "1"), ("bench", "-p", "4", "-n", "2", "-r", "1"),
                               ("profile", "-p", "4", "-n", "2", "-r", "1")):
            text = page(f"sluice-{command}.1")
            out = json.loads(run(SLUICE, command, scratch.LLAMA, *args, "--json", "-q").stdout)
            for key in out:
                self.assertRegex(text, rf"\b{key}\b", command)

    def test_overview(self):
        text = page("sluice.1")
        for command in scratch.commands():
            self.assertRegex(text, rf"(?m)^ +sluice-{command}\(1\)\n")
        # SEE ALSO of every page names pages that there are.
        for name in PAGES:
            for other, section in re.findall(r"\b((?:lib)?sluice[\w-]*)\((\d)\)", page(name.removesuffix(".scd.in"))):
                self.assertTrue(place("mandir", f"man{section}", f"{other}.{section}").is_file(), f"{name}: {other}")

    def test_library(self):
        text = page("libsluice.3")
        functions = [f for h in (SOURCE / "include/sluice").glob("*.h")
                     for f in re.findall(r"(?m)^SL_API [^;]*?\b(sl_\w+)\(", h.read_text(encoding="utf-8"))]
        self.assertGreater(len(functions), 20)
        for function in functions:
            self.assertRegex(text, rf"\b{function}\(", function)


if __name__ == "__main__":
    scratch.main()
