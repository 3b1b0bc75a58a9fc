"""The chat of `sluice run` on a terminal: lines, keys, commands, files, what is shown and what is kept."""
import json
import os
import re
import signal
import tempfile
import time
import unittest
from pathlib import Path

import cli
import retag
from cli import EXACT, SMOLLM2, Terminal, good, sluice

UP, LEFT, CLEAR, CTRL_C, CTRL_D = b"\x1b[A", b"\x1b[D", b"\x15", b"\x03", b"\x04"
CTRL_S, CTRL_Q = b"\x13", b"\x11"
END = b"context "  # of the line behind an answer
needs_editor = unittest.skipUnless(os.environ.get("LINE_EDITING", "1") == "1", "built without libedit")
TEMPLATE = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}"


def paste(text):
    return b"\x1b[200~" + text.replace("\n", "\r").encode() + b"\x1b[201~"


def plain(data):
    """Without colours, and other things that move the cursor."""
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", data).decode(errors="replace")


class Parrot(unittest.TestCase):
    """A tiny model that says one letter for ever, under a template that shows all it was given."""

    template = TEMPLATE
    tags = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.model = str(self.folder / "model.gguf")
        retag.write(self.model, self.tags, template=self.template, eos=False)

    def start(self, *args, letter="a", n=4, **more):
        """n: letters of an answer. -1: without end, since a terminal that nobody reads takes no more long before the
        context is full."""
        t = Terminal("run", self.model, "--temp", "0", "-c", "65536" if n < 0 else "4096", "-n", n, "--logit-bias",
                     f"{retag.byte_id(ord(letter))}+1000", *args, **more)
        t.until(b"> ")
        return t

    def say(self, t, text, end=END):
        """One message; what came behind its line, with the line of numbers."""
        t.type((text.encode() if isinstance(text, str) else text) + b"\r")
        return t.until(end) + end + t.until(b"> ")

    def messages(self, t):
        """The conversation, by /save."""
        path = self.folder / f"saved{time.monotonic_ns()}.json"
        t.type(f"/save {path}\r".encode())
        t.until(b"saved: ")
        t.until(b"> ")
        return json.loads(path.read_text(encoding="utf-8"))["messages"]

    def said(self, t):
        return [m["content"] for m in self.messages(t) if m["role"] == "user"]

    def leave(self, t, code=0):
        t.type(CTRL_D)
        self.assertEqual(t.wait(), code)


@needs_editor
class Lines(Parrot):
    def test_answers(self):
        t = self.start()
        self.assertIn("aaaa\r\n", plain(self.say(t, "Hi")))
        t.type(b"\r")  # nothing said: asked again
        t.until(b"> ")
        t.type(b"  \r")
        t.until(b"> ")
        self.say(t, "And?")
        self.assertEqual([(m["role"], m["content"]) for m in self.messages(t)],
                         [("user", "Hi"), ("assistant", "aaaa"), ("user", "And?"), ("assistant", "aaaa")])
        self.leave(t)

    def test_what_is_saved_renders(self):
        t = self.start("--system", "Be brief.")
        self.say(t, "Grüße, 世界")
        path = self.folder / "x.json"
        t.type(f"/save {path}\r".encode())
        t.until(b"saved: 3 messages")
        self.leave(t)
        self.assertEqual(good("render", self.model, "--request", path).text,
                         "system=Be brief.;user=Grüße, 世界;assistant=aaaa;")

    def test_history_with_wide_letters(self):
        """Brought back, edited between letters of two columns, sent as it then stands."""
        t = self.start()
        self.say(t, "Hallo 世界é")
        t.type(UP + LEFT + LEFT + "X".encode() + b"\r")
        t.until(END)
        t.until(b"> ")
        self.assertEqual(self.said(t), ["Hallo 世界é", "Hallo 世X界é"])
        self.leave(t)

    def test_history_outlives_the_chat(self):
        env = {"XDG_STATE_HOME": str(self.folder / "state")}
        t = self.start(env=env)
        self.say(t, "erste")
        self.say(t, paste("zwei\nZeilen 世"))
        self.leave(t)
        history = self.folder / "state/sluice/history"
        self.assertEqual(history.stat().st_mode & 0o777, 0o600)
        t = self.start(env=env)
        t.type(UP + b"!\r")
        t.until(END)
        t.until(b"> ")
        t.type(UP + UP + UP + b"?\r")
        t.until(END)
        t.until(b"> ")
        self.assertEqual(self.said(t), ["zwei\nZeilen 世!", "erste?"])
        self.leave(t)

    def test_history_that_cannot_be_kept(self):
        history = self.folder / "state/sluice/history"
        history.parent.mkdir(parents=True)
        history.mkdir()
        t = self.start(env={"XDG_STATE_HOME": str(self.folder / "state")})
        self.assertIn("not kept for the next chat", plain(self.say(t, "x")))
        self.assertNotIn("not kept", plain(self.say(t, "y")))
        self.leave(t)
        history.rmdir()
        history.write_bytes(b"\x00\xff no history \x01" * 1000)
        before = history.read_bytes()
        t = self.start(env={"XDG_STATE_HOME": str(self.folder / "state")})
        self.say(t, "x")
        self.leave(t)
        self.assertEqual(history.read_bytes()[:len(before)], before)

    def test_several_lines(self):
        t = self.start()
        t.type(b"one \\\r")
        t.until(b"... ")
        self.say(t, "two")
        t.type(b'"""first\r')
        t.until(b"... ")
        t.type(b"  /reset @nothing\r")
        t.until(b"... ")
        self.say(t, 'last"""')
        t.type(b'"""\r')
        t.until(b"... ")
        t.type(b"\r")
        t.until(b"... ")
        t.type(b"alone\r")
        t.until(b"... ")
        self.say(t, '"""')
        self.say(t, '"""@one/line"""')
        said = ["one \ntwo", "first\n  /reset @nothing\nlast", "\nalone", "@one/line"]
        self.assertEqual(self.said(t), said)
        for _ in said:  # the oldest one that has not come back; /save is in front of the first
            t.type(UP * 5 + b"\r")
            t.until(END)
            t.until(b"> ")
        self.assertEqual(self.said(t), said * 2)
        self.leave(t)

    def test_blocks_come_back_as_they_were(self):
        t = self.start()
        t.type(b'"""/a @b\r')
        t.until(b"... ")
        self.say(t, '@c @@d //e"""')
        t.type(UP + b"\r")
        t.until(END)
        t.until(b"> ")
        self.assertEqual(self.said(t), ["/a @b\n@c @@d //e"] * 2)
        self.leave(t)

    def test_paste(self):
        """Sends nothing by itself, and several lines mean nothing but themselves."""
        t = self.start("-c", "16384")
        text = "// C code\n@decorator\n\tint x; \\\nfoo@bar.de @@\n/end 世界 \\"
        t.type(paste(text))
        time.sleep(0.3)
        t.read(0)
        self.assertNotIn(END, t.seen)
        self.say(t, "")
        self.say(t, b"see: " + paste(text))
        long = "\n".join(f"line {i}: " + "x" * 30 for i in range(60))  # more than the screen has
        self.say(t, paste(long))
        self.assertEqual(self.said(t), [text, "see: " + text, long])
        t.type(paste("/reset") + b"\r")  # a line may well be a command
        t.until(b"a new conversation")
        self.leave(t)

    def test_bytes_that_are_no_text(self):
        t = self.start()
        self.say(t, b"a\xff\xfeb\xe4\xb8")
        self.assertIn("a", self.said(t)[0])
        self.leave(t)


@needs_editor
class Keys(Parrot):
    def test_ctrl_c_ends_an_answer(self):
        """What came so far is kept, and the next message is answered."""
        t = self.start(n=-1)
        t.type(b"Go on\r")
        t.until(b"aaaaaaaa")
        t.type(CTRL_C)
        t.until(b"interrupted")
        t.until(b"> ")
        t.type(b"Again\r")
        t.until(b"aaaaaaaa")
        t.type(CTRL_C + CTRL_C)  # one too many ends nothing else
        t.until(b"interrupted")
        t.until(b"> ")
        messages = self.messages(t)
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"] * 2)
        self.assertRegex(messages[1]["content"], "^a{8,}$")
        self.leave(t)

    def test_ctrl_c_at_the_prompt(self):
        t = self.start()
        t.type(b"never sent")
        t.until(b"never sent")
        t.type(CTRL_C)
        t.until(b"> ")
        self.say(t, "sent")
        self.assertEqual(self.said(t), ["sent"])
        t.type(CTRL_C)
        t.until(b"leaves the chat")
        t.until(b"> ")
        self.say(t, "still here")
        t.type(CTRL_C)
        t.until(b"leaves the chat")
        t.until(b"> ")
        t.type(CTRL_C)
        self.assertEqual(t.wait(), 130)

    def test_ctrl_c_within_several_lines(self):
        t = self.start()
        t.type(b'"""one\r')
        t.until(b"... ")
        t.type(CTRL_C)
        t.until(b"> ")
        self.say(t, "two")
        self.assertEqual(self.said(t), ["two"])
        self.leave(t)

    def test_what_is_typed_while_it_answers(self):
        """Is not shown within the answer, and stands at the next prompt."""
        t = self.start(n=3000)
        t.type(b"Go\r")
        t.until(b"aaaa")
        t.type("früh".encode())
        self.assertNotIn("früh", plain(t.until(END)))
        t.until("früh".encode())
        self.say(t, "er")
        self.assertEqual(self.said(t), ["Go", "früher"])
        self.leave(t)

    def test_streams(self):
        t = self.start(n=-1)
        t.type(b"Go\r")
        for _ in range(20):  # it never ends, so these are pieces
            t.until(b"aaaa")
        t.type(CTRL_C)
        t.until(b"interrupted")
        self.leave(t)

    def test_resize(self):
        t = self.start(n=-1)
        t.type(b"Go\r")
        t.until(b"aaaa")
        t.resize(40)
        t.until(b"aaaa")
        t.type(CTRL_C)
        line = plain(t.until(b"> ")).strip().splitlines()[-1]
        self.assertLessEqual(len(line), 40, line)
        self.assertIn("interrupted", line)
        t.type("half a 世".encode())
        t.until("世".encode())
        t.resize(11)
        time.sleep(0.2)
        t.type(b" line" + LEFT * 4 + b"X\r")
        t.until(b"aaaa")
        t.type(CTRL_C)
        t.until(b"interrupte")
        t.resize(100)
        t.until(b"> ")
        self.assertEqual(self.said(t), ["Go", "half a 世 Xline"])
        self.leave(t)

    def test_signals_while_the_terminal_takes_nothing(self):
        """Ctrl-S stops its output, so that a write waits: a resize does not end the chat, nor does Ctrl-C."""
        t = self.start(n=-1)
        for number in (signal.SIGWINCH, signal.SIGINT):
            t.type(b"Go\r")
            t.until(b"aaaa")
            t.type(CTRL_S)
            while t.seen:  # what was on its way
                t.seen = b""
                t.read(0.5)
            os.kill(t.pid, number)
            time.sleep(0.2)
            t.type(CTRL_Q + CTRL_C)
            t.until(b"interrupted")
            t.until(b"> ")
        self.assertEqual(self.said(t), ["Go", "Go"])
        self.leave(t)

    def test_nothing_is_wider_than_the_screen(self):
        for columns in (20, 40, 79):
            t = self.start(columns=columns)
            shown = plain(self.say(t, "Hi", end=b"generated 4 tokens") + self.say(t, "/stats", end=b"last answer"))
            for line in shown.replace("\r", "").splitlines():
                self.assertLessEqual(len(line), columns, line)
            self.leave(t)

    def test_ctrl_z(self):
        """The terminal is given back as it was, and the line stands there again."""
        import termios
        for answering in (False, True):
            t = self.start(n=-1)
            t.type(b"Go\r" if answering else b"half")
            t.until(b"aaaa" if answering else b"half")
            t.type(b"\x1a")
            while not (state := os.waitpid(t.pid, os.WUNTRACED | os.WNOHANG))[0]:
                t.read(0.01)
            self.assertTrue(os.WIFSTOPPED(state[1]))
            modes = termios.tcgetattr(t.fd)[3]
            self.assertEqual(modes & (termios.ECHO | termios.ICANON), termios.ECHO | termios.ICANON)
            t.read(0.1)
            t.seen = b""
            os.kill(t.pid, signal.SIGCONT)
            t.until(b"aaaa" if answering else b"half")
            if answering:
                t.type(CTRL_C)
                t.until(b"> ")
            else:
                t.type(b" done\r")
                t.until(b"aaaa")
                t.type(CTRL_C)
                t.until(b"> ")
                self.assertEqual(self.said(t), ["half done"])
            self.leave(t)

    def test_signals_that_end_it(self):
        for answering in (False, True):
            for number in (signal.SIGTERM, signal.SIGHUP):
                t = self.start(n=-1)
                if answering:
                    t.type(b"Go\r")
                    t.until(b"aaaa")
                os.kill(t.pid, number)
                self.assertEqual(t.wait(), -number)

    def test_nohup(self):
        t = self.start(ignored=[signal.SIGHUP])
        os.kill(t.pid, signal.SIGHUP)
        self.say(t, "Still there?")
        self.leave(t)

    def test_closed_terminal(self):
        """Leaves no process behind, at the prompt or within an answer."""
        for answering in (False, True):
            t = self.start(n=-1)
            if answering:
                t.type(b"Go\r")
                t.until(b"aaaa")
            os.close(t.fd)
            end = time.monotonic() + 120
            while os.waitpid(t.pid, os.WNOHANG)[0] == 0:
                self.assertLess(time.monotonic(), end, "still there")
                time.sleep(0.02)


class Commands(Parrot):
    def test_help_fits_80_columns(self):
        t = self.start(columns=80)
        t.type(b"/help\r")
        for line in plain(t.until(b"leaves.")).splitlines():
            self.assertLess(len(line), 80, line)
        t.until(b"> ")
        self.leave(t)

    def test_help_and_unknown_words(self):
        t = self.start()
        t.type(b"/help\r")
        shown = plain(t.until(b"leaves."))
        for word in ("/reset", "/system TEXT", "/save FILE", "/load FILE", "/stats", "/regen", "/undo", "/quit", "@FILE", "//"):
            self.assertIn(word, shown)
        t.until(b"> ")
        t.type(b"/halp\r")
        t.until(b"did you mean /help?")
        t.until(b"> ")
        t.type(b"/etc/passwd is what?\r")
        t.until(b"not sent")
        t.until(b"> ")
        self.say(t, "//etc is a folder")
        self.assertEqual(self.said(t), ["/etc is a folder"])
        for wrong in (b"/quit now", b"/save", b"/load", b"/thinking", b"/thinking loud"):
            t.type(wrong + b"\r")
            t.until(b"sluice: /")
            t.until(b"> ")
        t.type(b"/quit\r")
        self.assertEqual(t.wait(), 0)

    def test_system_and_reset(self):
        t = self.start("--system", "one")
        self.say(t, "Hi")
        t.type(b"/system\r")
        t.until(b"system message: one")
        t.type(b"/system two words\r")
        t.until(b"set")
        self.say(t, "And?")
        self.assertEqual([m["content"] for m in self.messages(t)], ["two words", "Hi", "aaaa", "And?", "aaaa"])
        t.type(b"/reset\r")
        t.until(b"new conversation with the same system message")
        self.say(t, "First")
        self.assertEqual([m["content"] for m in self.messages(t)], ["two words", "First", "aaaa"])
        t.type(b'/system ""\r')
        t.until(b"no system message")
        self.say(t, "Second")
        self.assertEqual([m["content"] for m in self.messages(t)], ["First", "aaaa", "Second", "aaaa"])
        self.leave(t)

    def test_regen_and_undo(self):
        t = self.start("--temp", "2", "--min-p", "0", "--top-p", "1", "--top-k", "0", "--seed", "7", "--logit-bias",
                       f"{retag.byte_id(ord('a'))}-1000", n=12)
        for word in (b"/regen", b"/undo"):
            t.type(word + b"\r")
            t.until(b"nothing to")
            t.until(b"> ")
        self.say(t, "one")
        self.say(t, "two")
        before = self.messages(t)
        self.say(t, "/regen")
        after = self.messages(t)
        self.assertEqual(after[:3], before[:3])
        self.assertNotEqual(after[3], before[3])
        t.type(b"/undo\r")
        t.until(b"taken back")
        self.assertEqual(self.messages(t), before[:2])
        self.leave(t)

    def test_save_replaces_nothing_without_asking(self):
        t = self.start()
        path = self.folder / "x y.json"
        t.type(f"/save {path}\r".encode())
        t.until(b"nothing was said yet")
        self.say(t, "Hi")
        path.write_text("precious", encoding="utf-8")
        for answer, replaced in ((b"\r", False), (b"no\r", False), (CTRL_C, False), (b"y\r", True)):
            t.type(f"/save {path}\r".encode())
            t.until(b"replace it? [y/N] ")
            t.type(answer)
            t.until(b"saved")
            t.until(b"> ")
            self.assertEqual(path.read_text(encoding="utf-8") != "precious", replaced)
        self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["messages"][0], {"role": "user", "content": "Hi"})
        for wrong, why in ((self.model, b"model's own file"), (self.folder, b"a folder"), ("/no/such/x", b"No such file")):
            t.type(f"/save {wrong}\r".encode())
            t.until(why)
            t.until(b"> ")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["model.gguf", "x y.json"])
        self.leave(t)

    def test_load(self):
        t = self.start()
        self.say(t, "mine")
        mine = self.messages(t)
        path = self.folder / "in.json"
        for content, why in ((b"{", b"in.json:1:"), (b"[]", b"not empty"), (b"{}", b'"messages" expected'), (b"7", b"expected"),
                             (b'{"messages": [{"role": "user"}, {"content": "x"}]}', b"messages[1]"),
                             (b'[{"role": "user", "content": 7}]', b"messages[0]"), (b"\xff", b"no text"),
                             (b'[{"role": "user", "content": [{"type": "image"}]}]', b"image"),
                             (json.dumps([{"role": "user", "content": "word " * 4000}]).encode(), b"the context holds 4096")):
            path.write_bytes(content)
            t.type(f"/load {path}\r".encode())
            t.until(why)
            t.until(b"> ")
            self.assertEqual(self.messages(t), mine, content[:60])
        t.type(b"/load /no/such/file\r")
        t.until(b"No such file")
        t.until(b"> ")
        theirs = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
        path.write_text(json.dumps({"messages": theirs, "model": "x"}), encoding="utf-8")
        t.type(f"/load {path}\r".encode())
        t.until(b"loaded: 2 messages")
        t.until(b"no answer yet")
        t.until(b"> ")
        self.say(t, "/regen")
        self.assertEqual(self.messages(t), [*theirs, {"role": "assistant", "content": "aaaa"}])
        self.leave(t)

    def test_stats(self):
        t = self.start()
        t.type(b"/stats\r")
        shown = plain(t.until(b"> "))
        self.assertIn("0 of 4096 positions", shown)
        self.say(t, "Hi")
        self.say(t, "Ho")
        t.type(b"/stats\r")
        shown = plain(t.until(b"> "))
        self.assertRegex(shown, r"8 generated, \d+ read, \d+ known already")
        self.assertIn("messages: 4, answers: 2", shown)
        self.leave(t)

    @needs_editor
    def test_completion(self):
        (self.folder / "one two.txt").write_text("12", encoding="utf-8")
        (self.folder / "onward").mkdir()
        (self.folder / "zeta.txt").write_text("z", encoding="utf-8")
        t = self.start()
        t.type(b"/sa\t")
        t.until(b"ve")
        t.type(f"{self.folder}/ze\t".encode())
        t.until(b"ta.txt")
        t.type(CLEAR + b"/thinking f\t\r")
        t.until(b"thinking: fold")
        t.until(b"> ")
        t.type(b"/s\t")
        shown = plain(t.until(b"/stats"))
        self.assertIn("/system", shown)
        self.assertIn("/save", shown)
        t.type(CLEAR + f"x @{self.folder}/on\t".encode())
        t.until(b"one two.txt")
        t.until(b"onward/")
        t.type(b"e\t")
        t.until(b'two.txt"')
        t.type(b"\r")
        t.until(END)
        t.until(b"> ")
        self.assertIn("12", self.said(t)[0])
        self.leave(t)


@needs_editor
class Files(Parrot):
    def test_a_file_in_a_message(self):
        (self.folder / "a.txt").write_text("```\nfence & 世\n```", encoding="utf-8")
        (self.folder / "b c.txt").write_bytes(b"\xef\xbb\xbfwith a BOM\r\n")
        os.symlink("/nowhere", self.folder / "broken")
        t = self.start()
        self.say(t, f"Compare @{self.folder}/a.txt, and @\"{self.folder}/b c.txt\"; mail me@x.de @@all (@ home)")
        text = self.said(t)[0]
        self.assertTrue(text.startswith(f"Compare {self.folder}/a.txt, and {self.folder}/b c.txt; mail me@x.de @all (@ home)\n"))
        self.assertIn("````\n```\nfence & 世\n```\n````", text)
        self.assertIn("```\nwith a BOM\r\n```", text)
        self.leave(t)

    def test_a_file_that_cannot_go_along(self):
        """Is said, and the message stands there again."""
        (self.folder / "nul").write_bytes(b"ab\0c")
        (self.folder / "latin").write_bytes(b"Stra\xdfe")
        (self.folder / "large").write_bytes(b"x" * (1 << 20) + b"y")
        os.mkfifo(self.folder / "fifo")
        t = self.start()
        for name, why in (("missing", b"No such file"), ("nul", b"a NUL"), ("latin", b"no UTF-8"), ("large", b"too large"),
                          ("fifo", b"no plain file"), ("", b"a folder")):
            line = f"read @{self.folder}/{name} now"
            t.type(line.encode() + b"\r")
            t.until(b"not sent: ")
            t.until(why)
            t.until(f"/{name} now".encode())  # at the prompt
            t.type(CLEAR)
        t.type(b'@"open\r')
        t.until(b"does not end")
        t.type(CLEAR + f"read @{self.folder}/missing\r".encode())
        t.until(b"not sent")
        t.until(b"missing")
        time.sleep(0.2)
        (self.folder / "missing").write_text("found", encoding="utf-8")
        self.say(t, "")  # the same line again
        self.assertEqual(len(self.said(t)), 1)
        self.assertIn("found", self.said(t)[0])
        self.leave(t)


@needs_editor
class Context(Parrot):
    def test_full(self):
        t = self.start("-c", "128")
        t.type(b"x" * 200 + b"\r")
        shown = plain(t.until(b"larger -c"))
        self.assertIn("the context holds 128", shown)
        for choice in ("/reset", "/undo"):
            self.assertIn(choice, shown)
        t.until(b"xxx")  # stands there again
        t.type(CLEAR)
        warned = []
        for _ in range(20):
            t.type(b"say some more\r")
            seen = plain(t.until(b"> "))
            warned.append("nearly full" in seen)
            if "not sent" in seen:
                break
        else:
            self.fail("never full")
        self.assertEqual(sum(warned[:-1]), 1)
        t.until(b"more")
        t.type(CLEAR + b"/reset\r")
        t.until(b"new conversation")
        self.say(t, "Hi")
        self.assertEqual(self.said(t), ["Hi"])
        self.leave(t)

    def test_answer_that_fills_it(self):
        t = self.start("-c", "64", n=-1)
        shown = plain(self.say(t, "x" * 40))
        self.assertIn("has room for", shown)
        self.assertIn("the context of 64 positions is full: the answer ends here", shown)
        self.leave(t)

    def test_each_turn_is_read_once(self):
        """And says what it says without what was kept."""
        said = []
        for cache in ("on", "off"):
            t = self.start("--prefix-cache", cache, "--temp", "1.5", "--seed", "3", "--logit-bias",
                           f"{retag.byte_id(ord('a'))}-1000", n=8)
            self.say(t, "a message of some length, to be read once")
            shown = plain(self.say(t, "short"))
            if cache == "on":
                new = int(re.search(r"\((\d+) new\)", shown)[1])
                self.assertLess(new, 40)
            else:
                self.assertNotIn("new)", shown)
            said.append(self.messages(t))
            self.leave(t)
        self.assertEqual(*said)


class Thinking(Parrot):
    template = TEMPLATE + "{{ '<think>' }}"
    tags = ("<think>", "</think>")

    def shown(self, *args, **more):
        t = self.start(*args, **more)
        shown = self.say(t, "Hi")
        messages = self.messages(t)
        self.leave(t)
        self.assertEqual((messages[1]["content"], messages[1]["reasoning_content"]), ("", "aaaa"))
        return shown

    def test_show_fold_hide(self):
        self.assertIn(b"\x1b[2ma\x1b[0m", self.shown())
        folded = plain(self.shown("--thinking", "fold"))
        self.assertRegex(folded, r"thought: 4 tokens, \d+\.\d s")
        self.assertNotIn("aaaa", folded.replace("Hi", ""))
        hidden = plain(self.shown("--thinking", "hide"))
        self.assertNotIn("thought", hidden)
        self.assertNotIn("aa", hidden)

    def test_changed_within_a_chat(self):
        t = self.start()
        t.type(b"/thinking hide\r")
        t.until(b"thinking: hide")
        t.until(b"> ")
        self.assertNotIn("aa", plain(self.say(t, "Hi")))
        self.leave(t)

    def test_without_colours(self):
        shown = self.shown(env={"NO_COLOR": "1"})
        self.assertNotIn(b"\x1b[2m", shown)
        self.assertIn("[thinking] aaaa", plain(shown))

    def test_one_answer(self):
        args = ["run", self.model, "x", "-q", "-n", "4", "--logit-bias", f"{retag.byte_id(ord('a'))}+1000"]
        self.assertEqual(good(*args).text, "<think>aaaa\n")
        self.assertEqual(good(*args, "--thinking", "hide").text, "\n")
        self.assertEqual(good(*args, "--thinking", "fold").text, "\n")
        self.assertEqual(good(*args, "--thinking", "hide", "--json").json["text"], "")
        self.assertEqual(sluice(*args, "--thinking", "open").code, 2)


class Screens(Parrot):
    def test_dumb_terminal(self):
        """Plain lines and no codes at all."""
        for term in ("dumb", ""):
            t = self.start(env={"TERM": term})
            shown = t.seen + self.say(t, "Hi 世") + self.say(t, "/stats", end=b"last answer")
            t.type(b'"""a\r')
            t.until(b"... ")
            self.say(t, 'b"""')
            self.assertEqual(self.said(t), ["Hi 世", "a\nb"])
            self.assertNotIn(b"\x1b", shown)
            t.type(b"gone" + CTRL_C)
            t.until(b"> ")
            t.type(CTRL_D)
            self.assertEqual(t.wait(), 0)

    def test_no_color(self):
        t = self.start(env={"NO_COLOR": "1"})
        self.assertNotIn(b"\x1b[2m", self.say(t, "Hi"))
        self.leave(t)
        t = self.start(env={"NO_COLOR": ""})  # set to nothing does not count
        self.assertIn(b"\x1b[2m", self.say(t, "Hi"))
        self.leave(t)

    def test_answer_to_a_file(self):
        out = self.folder / "out.txt"
        t = self.start(redirect=f"> '{out}'")
        self.say(t, "Hi")
        self.say(t, "Ho")
        self.leave(t)
        self.assertEqual(out.read_bytes(), b"aaaa\naaaa\n")

    def test_numbers_to_a_file(self):
        """Then the prompt is on standard output."""
        err = self.folder / "err.txt"
        t = self.start(redirect=f"2> '{err}'")
        t.type(b"Hi\r")
        t.until(b"aaaa")
        t.until(b"> ")
        self.leave(t)
        self.assertIn("generated 4 tokens", err.read_text(encoding="utf-8"))
        self.assertNotIn("\x1b", err.read_text(encoding="utf-8"))

    def test_input_that_is_no_terminal(self):
        """Is one prompt, whatever stands in it."""
        r = good("run", self.model, "-q", "-n", "4", "--logit-bias", f"{retag.byte_id(ord('a'))}+1000",
                 stdin="/help\nsecond line\n")
        self.assertEqual(r.text, "aaaa\n")

    def test_quiet(self):
        t = self.start("-q")
        t.type(b"Hi\r")
        t.until(b"aaaa\r\n")
        t.until(b"> ")
        t.type(CTRL_D)
        self.assertEqual(t.wait(), 0)

    def test_what_a_model_says_cannot_command_the_terminal(self):
        t = self.start(letter="\x1b")
        self.assertIn("\ufffd\ufffd\ufffd\ufffd", plain(self.say(t, "Hi")))
        self.leave(t)
        r = good("run", self.model, "x", "-q", "-n", "4", "--logit-bias", f"{retag.byte_id(0x1b)}+1000")
        self.assertEqual(r.out, b"\x1b\x1b\x1b\x1b\n")  # a file gets what was said

    def test_locale_without_letters(self):
        t = self.start(env={"LC_ALL": "C", "LANG": "C"})
        self.say(t, "Grüße 世界")
        self.assertEqual(self.said(t), ["Grüße 世界"])
        self.leave(t)

    def test_wrong_use(self):
        for args in (["--json"], ["--no-template"], ["--n-answers", "2"]):
            self.assertEqual(Terminal("run", self.model, *args).wait(), 2)
        self.assertEqual(Terminal("run", cli.LLAMA).wait(), 2)


@needs_editor
class Complaints(Parrot):
    template = ("{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
                "{{ m.content }}{% endfor %}")

    def test_template_that_complains(self):
        t = self.start()
        t.type(b"/system x\r")
        t.until(b"set")
        t.until(b"> ")
        t.type(b"Hi\r")
        t.until(b"no system here")
        t.until(b"Hi")
        t.type(CLEAR + b'/system ""\r')
        t.until(b"no system message")
        t.until(b"> ")
        self.say(t, "Hi")
        self.leave(t)


@cli.needs_smollm2
@unittest.skipUnless(cli.ordinary(), "the default model is slow on scalar kernels, and with a sanitizer")
class DefaultModel(unittest.TestCase):
    def test_chat(self):
        t = Terminal("run", SMOLLM2, "--temp", "0", "-c", "1024", "-n", "24", *EXACT)
        t.until(b"> ")
        t.type(b"What is the capital of France?\r")
        self.assertIn(b"The capital of France is Paris.", t.until(b"first token after"))
        t.until(b"prompt 37 tokens")
        t.until(b"> ")
        t.type(b"And of Italy?\r")
        shown = plain(t.until(b"context"))
        prompt, new = map(int, re.search(r"prompt (\d+) tokens \((\d+) new\)", shown).groups())
        self.assertGreater(prompt, 45)
        self.assertLess(new, 25)
        t.until(b"> ")
        t.type(CTRL_D)
        self.assertEqual(t.wait(), 0)

    def test_ctrl_c_while_a_long_prompt_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "long.txt")
            Path(path).write_text("The quick brown fox jumps over the lazy dog. " * 600, encoding="utf-8")
            t = Terminal("run", SMOLLM2, "--temp", "0", "-c", "8192", "-n", "8")
            t.until(b"> ")
            t.type(f"@{path}\r".encode())
            t.until(b"reading: ")
            t.type(CTRL_C)
            rest = t.until(b"as if it had not been asked")
            self.assertNotIn(b"context ", rest)  # it is not full of that
            self.assertLess(rest.count(b"reading: "), 3)  # of a dozen steps, the one that was running
            t.until(b"> ")
            t.type(b"Hi.\r")
            t.until(b"prompt 32 tokens")
            t.until(b"> ")
            t.type(CTRL_D)
            self.assertEqual(t.wait(), 0)


if __name__ == "__main__":
    cli.main()
