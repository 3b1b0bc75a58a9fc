"""What bash and zsh offer behind `sluice ...`: the scripts are made from the program's option tables."""
import os
import pty
import re
import select
import shutil
import time
import unittest

import scratch
from scratch import SLUICE, WORK, place, run

BASH = place("datadir", "bash-completion/completions/sluice")
ZSH = place("datadir", "zsh/site-functions/_sluice")

# As readline cuts a line: = is a word of its own.
DRIVER = r'''
source "$1"; shift
complete -p sluice > /dev/null || exit 1
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_sluice
printf '%s\n' "${COMPREPLY[@]}"
'''


def bash(line):
    """What is offered at the end of a line."""
    words = re.findall(r"=|[^ =]+", line) + ([""] if line.endswith(" ") else [])
    r = run("bash", "--norc", "-c", DRIVER, "-", BASH, *words, env={"XDG_CACHE_HOME": str(WORK / "cache")})
    assert not r.stderr, r.stderr
    return sorted(filter(None, r.stdout.split("\n")))


def setUpModule():
    models = WORK / "cache/sluice/models"
    models.mkdir(parents=True)
    (models / "kept model.gguf").touch()
    for name in ("mine.gguf", "notes.txt", "a b.txt"):
        (WORK / name).touch()
    (WORK / "models").mkdir()


class Bash(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(bash("sluice "), sorted([*scratch.commands(), "help", "--help", "--version"]))
        self.assertEqual(bash("sluice re"), ["render"])
        self.assertEqual(bash("sluice help pa"), ["parse"])

    def test_options(self):
        for command in scratch.commands():
            offered = bash(f"sluice {command} -")
            shown = re.findall(r"(?:^|\s)(--?[a-z][\w-]*)", "\n".join(scratch.options_of_help(command)))
            self.assertLessEqual(set(shown), set(offered), command)
            for name in offered:  # and each one is an option: it is not unknown to the program
                r = run(SLUICE, command, name, code=None)
                self.assertNotIn("unknown option", r.stderr, f"{command} {name}")
        self.assertEqual(bash("sluice run m.gguf --kv-t"), ["--kv-type"])
        self.assertEqual(bash("sluice run m.gguf -- --kv-t"), [])

    def test_values(self):
        self.assertEqual(bash("sluice run m.gguf --kv-type "), ["bf16", "f16", "f32", "int8"])
        self.assertEqual(bash("sluice run m.gguf --kv-type=b"), ["bf16"])
        self.assertEqual(bash("sluice run m.gguf --kv-type="), ["bf16", "f16", "f32", "int8"])
        self.assertEqual(bash("sluice bench --act f"), ["f32"])
        self.assertEqual(bash("sluice parse --thinking "), ["auto", "closed", "open"])
        self.assertEqual(bash("sluice run m.gguf --fusion n"), ["none", "norm"])
        self.assertEqual(bash("sluice run m.gguf --fusion norm,a"), ["norm,all", "norm,attn"])
        self.assertEqual(bash("sluice run m.gguf -t "), [])  # a number: nothing to offer

    def test_files(self):
        self.assertEqual(bash("sluice run m.gguf -f no"), ["notes.txt"])
        self.assertEqual(bash("sluice run m.gguf --file=a"), ["a b.txt"])
        self.assertEqual(bash("sluice perplexity m.gguf -f no"), ["notes.txt"])

    def test_models(self):
        self.assertEqual(bash("sluice run "), ["cache", "kept model", "mine.gguf", "models", "smollm2"])
        self.assertEqual(bash("sluice run -t 2 --json sm"), ["smollm2"])
        self.assertEqual(bash("sluice run --act=f32 sm"), ["smollm2"])
        self.assertEqual(bash("sluice run -m sm"), ["smollm2"])
        self.assertEqual(bash("sluice run mine.gguf sm"), [])  # a prompt
        self.assertEqual(bash("sluice run -m mine.gguf sm"), [])

    def test_on_a_terminal(self):
        """With readline: quotes, and a space behind what is whole."""
        (WORK / "bashrc").write_text(f"""source {BASH}
show() {{ printf '<<%s>>' "$READLINE_LINE"; READLINE_LINE=; }}
bind -x '"\\C-t": show'
PS1=ready
""", encoding="utf-8")
        shell = Terminal("bash", "--noprofile", "--rcfile", "bashrc", "-i")
        for parts, line in ((("sluice run mine.gguf --kv-ty", "b"), "sluice run mine.gguf --kv-type bf16 "),
                            (("sluice perplexity x -f a",), "sluice perplexity x -f a\\ b.txt "),
                            (("sluice run x --fusion no",), "sluice run x --fusion no"),
                            (("sluice run x --fusion norm,f",), "sluice run x --fusion norm,ffn")):
            self.assertEqual(shell.completed(*parts), line)
        shell.close()


@unittest.skipUnless(shutil.which("zsh"), "no zsh here")
class Zsh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        (WORK / ".zshrc").write_text(f"""fpath=({ZSH.parent} $fpath)
autoload -Uz compinit; compinit -u -D
show() {{ print -rn -- "<<$BUFFER>>"; BUFFER= }}
zle -N show; bindkey '^T' show
setopt no_beep no_always_last_prompt no_list_ambiguous
PS1=ready
""", encoding="utf-8")
        cls.shell = Terminal("zsh", "-d", "-i")

    @classmethod
    def tearDownClass(cls):
        cls.shell.close()

    def test_syntax(self):
        run("zsh", "-n", ZSH)

    def test_lines(self):
        for parts, line in ((("sluice ren",), "sluice render "),
                            (("sluice help pars",), "sluice help parse "),
                            (("sluice run mine", "--kv-ty", "b"), "sluice run mine.gguf --kv-type=bf16"),
                            (("sluice run mine.gguf --kv-type b",), "sluice run mine.gguf --kv-type bf16"),
                            (("sluice run mine.gguf --kv-type=b",), "sluice run mine.gguf --kv-type=bf16 "),
                            (("sluice run x --fusion norm,at",), "sluice run x --fusion norm,attn,"),
                            (("sluice run sm",), "sluice run smollm2 "),
                            (("sluice run kept",), "sluice run kept\\ model "),
                            (("sluice run x -f note",), "sluice run x -f notes.txt "),
                            (("sluice render --reques", "not"), "sluice render --request=notes.txt "),
                            (("sluice info x --pl",), "sluice info x --plan ")):
            with self.subTest(line):
                self.assertEqual(self.shell.completed(*parts).rstrip(), line.rstrip())

    def test_all_options(self):
        """Each long option of each command is found by all its letters but the last."""
        for command in scratch.commands():
            for name in re.findall(r"--[a-z][\w-]+", "\n".join(scratch.options_of_help(command))):
                line = self.shell.completed(f"sluice {command} {name[:-1]}")
                self.assertRegex(line, rf"^sluice {command} {name[:-1]}", command)
                if not line.rstrip(" =").endswith(name):  # the beginning of several: --stop, --stream
                    self.assertIn(name, self.shell.listed, command)


class Terminal:
    """A shell on a terminal. Its key Ctrl-T shows the line as <<...>> and empties it."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(WORK)
            env = {"PATH": os.environ["PATH"], "HOME": str(WORK), "TERM": "dumb", "XDG_CACHE_HOME": str(WORK / "cache"),
                   "LC_ALL": "C.UTF-8", "ZDOTDIR": str(WORK)}
            os.execvpe(command[0], list(command), env)
        self.seen = b""
        self.listed = ""
        self.until(b"ready")

    def until(self, text):
        """Read until `text` came; returns what came before it."""
        end = time.monotonic() + 120
        while text not in self.seen:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} did not come; {self.seen!r}")
            self.seen += os.read(self.fd, 4096)
        before, _, self.seen = self.seen.partition(text)
        return before.decode()

    def completed(self, *parts):
        """The line after each part was typed, and the Tab key behind it."""
        os.write(self.fd, "".join(part + "\t" for part in parts).encode() + b"\x14")
        self.listed = self.until(b"<<")
        return self.until(b">>")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


if __name__ == "__main__":
    scratch.main()
