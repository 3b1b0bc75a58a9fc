"""What Transformers does with a chat template, without Transformers: its environment of jinja2, what it
does to messages first, and a clock that stands still. Checked against Transformers itself by families.py
--transformers. Written from the behaviour of transformers 5.24, src/transformers/utils/chat_template_utils.py.
"""

import copy
import datetime
import functools
import json
import signal
import warnings

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

warnings.simplefilter("ignore")
CLOCK = 1722000000  # what the engine takes for now, by its name in the context
NOW = datetime.datetime.fromtimestamp(CLOCK, datetime.timezone.utc).replace(tzinfo=None)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_support"), [], [], body).set_lineno(line)

    def _support(self, caller):
        return caller()


class Dict:
    """The name `dict` in a template: callable, with fromkeys, and nothing else of the class."""

    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args, **kwargs):
        return dict.fromkeys(*args, **kwargs)


class Namespace(jinja2.utils.Namespace):
    """No names with an underscore in front."""

    def __init__(*args, **kwargs):  # so that there may be an attribute `self`
        attributes = dict(*args[1:], **kwargs)
        for name in attributes:
            Namespace.check(name)
        jinja2.utils.Namespace.__init__(args[0], attributes)

    def __setitem__(self, name, value):
        Namespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError("namespace attribute %r" % name)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: NOW.strftime(format)
    env.globals["dict"] = Dict()
    env.globals["namespace"] = Namespace
    return env


ENV = environment()


def timed_out(*_):
    raise TimeoutError


def attempt(make, seconds=5):
    """(text, None), or (None, the error): whatever Python raises is an error of the template. The seconds are its own,
    however busy the machine is."""
    signal.signal(signal.SIGVTALRM, timed_out)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return make(), None
    except Exception as e:  # RecursionError and TimeoutError included
        return None, e
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


compiled = functools.lru_cache(ENV.from_string)


def render(template, context):
    """With a copy of the context: `list|indent` adds to the list before it fails."""
    return attempt(lambda: compiled(template).render(**copy.deepcopy(context)))


REASONING = ("reasoning_content", "thinking", "reasoning")


def normal_message(message):
    """A message as templates see it: no null members, reasoning under each of its names."""
    message = {key: value for key, value in message.items() if value is not None}
    thoughts = next((message[key] for key in REASONING if message.get(key) is not None), None)
    return message if thoughts is None else {"thinking": thoughts, **message, "reasoning_content": thoughts}


def context_of(request, tokens):
    """A template's variables for a request of `sluice render`; tokens: bos_token and the like."""
    return tokens | {
        "messages": [normal_message(m) for m in request["messages"]], "tools": request.get("tools"), "documents": None,
        "add_generation_prompt": request.get("add_generation_prompt", True)} | request.get("chat_template_kwargs", {})
