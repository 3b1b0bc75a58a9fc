#!/usr/bin/env python3
"""Published chat templates over conversations of every kind, against Transformers.

    families.py RENDER_MAIN [--all] [--transformers] [--show N]

Each conversation goes through each template twice: as the template's variables, and as a request (what
`sluice render MODEL --request` takes; chat/prompt.h prepares the messages). Both must give the text that the
reference gives, or fail where it fails, with the message of raise_exception when that is the failure. The
ids of a request must be those of its text.

Without --all: templates of two small packages. --transformers: the reference is Transformers' own code (of
the running Python, or of one made for it in the cache), else reference.py, which is held against it then.
Exits 77 (skipped) without jinja2 or without a network."""

import argparse
import json
import subprocess
import sys

import published
from support import pypi  # found by published

try:
    import reference
except ImportError:
    print("skipped: Python has no jinja2")
    sys.exit(77)

PINNED = ["transformers==5.24.0", "jinja2==3.1.6", "numpy"]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}  # of the vocabulary that render_main makes
# What must be among the templates: a word of the name, in lower case without marks.
FAMILIES = {
    "Qwen2.5": "qwen25", "QwQ": "qwq32b", "Qwen3": "qwen306b", "Qwen3-Coder": "qwen3coder", "DeepSeek-V3": "deepseekv3",
    "DeepSeek-R1": "deepseekr1", "Kimi-K2": "kimik2", "Llama-3.1": "llama31", "Llama-3.2": "llama32", "Llama-3.3": "llama33",
    "Mistral": "mistralnemo", "Gemma-2": "gemma22b", "Gemma-3": "gemma3", "GLM-4.5": "glm45", "gpt-oss": "gptoss",
    "SmolLM3": "smollm3", "Phi": "phi35", "Granite": "granite", "Command-R": "commandr", "MiniMax": "minimax", "Hermes": "hermes"}

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Current weather.\nOf \"one\" city <now> & here.",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Name, e.g. K\u00f6ln"},
        "days": {"type": ["integer", "null"], "default": 3, "minimum": 1},
        "unit": {"type": "string", "enum": ["c", "f"]},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}}},
                  "required": ["lat"]}}, "required": ["city"]}, "return": {"type": "string"}, "strict": True}}
TIME = {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}}}


def user(text):
    return {"role": "user", "content": text}


def bot(text, **more):
    return {"role": "assistant", "content": text} | more


def system(text):
    return {"role": "system", "content": text}


def call(name, arguments, i="abcdef123"):
    return {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(text, i="abcdef123", name="get_weather"):
    return {"role": "tool", "content": text, "tool_call_id": i, "name": name}


CITY = {"city": "K\u00f6ln \"x\" </b>", "days": 3, "f": 1.5, "none": None, "yes": True, "deep": {"a": [1, {"b": "c"}], "e": []}}
USED = [user("Weather?"), bot("", tool_calls=[call("get_weather", CITY)]), result("{\"t\": 21.5, \"s\": \"\u2600\"}")]
TALK = [system("  Be nice.\n"), user("Hi there! "), bot(" Hello.\n\nHow\tare you?"), user("Fine \u65e5\u672c \U0001f600 \\n {{ x }}")]

# name: (messages, further members of the request)
CONVERSATIONS = {
    "user": ([user("Hi")], {}),
    "user, no generation prompt": ([user("Hi")], {"add_generation_prompt": False}),
    "system and user": ([system("Be nice."), user("Hi")], {}),
    "several turns": (TALK, {}),
    "several turns, no generation prompt": (TALK + [bot("Bye")], {"add_generation_prompt": False}),
    "tools": ([system("S"), user("Weather?")], {"tools": [WEATHER, TIME]}),
    "tools without system": ([user("Weather?")], {"tools": [WEATHER]}),
    "empty tools": ([user("Weather?")], {"tools": []}),
    "call and result": (USED, {"tools": [WEATHER]}),
    "call, result and answer": ([system("S")] + USED + [bot("It is 21.5."), user("Thanks"), bot("Welcome")],
                                {"tools": [WEATHER, TIME], "add_generation_prompt": False}),
    "call without content": ([user("W?"), {"role": "assistant", "tool_calls": [call("now", {})]}, result("1", name="now"), user("?")],
                             {"tools": [TIME]}),
    "call with null content": ([user("W?"), bot(None, tool_calls=[call("now", {})]), result("1", name="now")], {"tools": [TIME]}),
    "call with words": ([user("W?"), bot("I look.", tool_calls=[call("now", {"a": "b"})]), result("1", name="now"), bot("One.")],
                        {"tools": [TIME]}),
    "two calls at once": ([user("W?"), bot("", tool_calls=[call("now", {}, "aaaaaaaaa"), call("get_weather", CITY, "bbbbbbbbb")]),
                           result("1", "aaaaaaaaa", "now"), result("2", "bbbbbbbbb"), user("And?")], {"tools": [WEATHER, TIME]}),
    "call after call": (USED + [bot("", tool_calls=[call("now", {}, "ccccccccc")]), result("12:00", "ccccccccc", "now")],
                        {"tools": [WEATHER, TIME]}),
    "thoughts in a field": ([user("1+1?"), bot("2", reasoning_content="One and\none.\n"), user("2+2?"),
                             bot("4", reasoning_content="Two."), user("?")], {}),
    "thoughts under their old name": ([user("1+1?"), bot("2", thinking="One and one."), user("2+2?")], {}),
    "thoughts and a call": ([user("W?"), bot("", reasoning_content="Look it up.", tool_calls=[call("get_weather", CITY)]), result("5"),
                             bot("5.", reasoning_content="Say it."), user("?")], {"tools": [WEATHER]}),
    "thoughts in the text": ([user("1+1?"), bot("<think>\nOne and one.\n</think>\n\n2"), user("2+2?"), bot("<think></think>4")],
                             {"add_generation_prompt": False}),
    "thoughts off": ([user("Hi")], {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
    "thoughts on": ([system("S"), user("Hi")], {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}),
    "effort": ([system("S"), user("Hi /no_think")], {"chat_template_kwargs": {"reasoning_effort": "high", "date_string": "1 May 2025"}}),
    "other variables": (TALK, {"tools": [WEATHER], "chat_template_kwargs": {
        "tools_in_user_message": False, "builtin_tools": ["python", "browser"], "model_identity": "You are X.", "xml_tools": [],
        "python_tools": ["f"], "preserve_thinking": True, "clear_thinking": False, "add_vision_id": True, "custom_tools": [TIME],
        "thinking_budget": 512, "reasoning_effort": "low", "keep_past_thinking": True, "truncate_history_thinking": False}}),
    "still other variables": (TALK + USED, {"tools": [WEATHER, TIME], "chat_template_kwargs": {
        "documents": [{"title": "T\u00fc", "text": "One <b>\nfact.", "doc_id": 7}, {"title": "U", "text": "x"}], "enable_citations": True,
        "grounding": "enabled", "citation_mode": "fast", "safety_mode": "STRICT", "response_format": {"type": "json_object"},
        "developer_preamble": "Be terse.", "platform_instruction_override": "P", "knowledge_cutoff": "2024-10", "low_effort": True,
        "current_date": "2025-05-01", "thinking_mode": "on", "thinking_effort": "high", "thinking_option": "on", "is_training": False,
        "render_assistant_messages_raw": False, "skip_think": True, "skip_thinking": False, "controls": {"length": "long"},
        "custom_instructions": "C", "available_tools": [TIME], "tool_choice": "auto", "functions": [TIME["function"]], "datetime": "now",
        "reasoning_mode": "deep", "reasoning_strength": 3, "drop_thinking": True, "keep_reasoning": True, "add_thoughts": True,
        "default_system_prompt": "D", "role_to_predict": "assistant", "include_thinking": True, "think_render_option": "all",
        "regen_tool_call_ids": True, "tool_output_instructions": "I", "examples_info": "E", "cls_token": "<c>", "sep_token": "<p>"}}),
    "users in a row": ([user("a"), user("b"), user("c")], {}),
    "assistant first": ([bot("Hello"), user("Hi")], {}),
    "assistants in a row": ([user("a"), bot("b"), bot("c"), user("d")], {}),
    "system in the middle": ([user("a"), system("s"), user("b")], {}),
    "two systems": ([system("a"), system("b"), user("c")], {}),
    "system alone": ([system("a")], {}),
    "developer": ([{"role": "developer", "content": "Be brief."}, user("Hi")], {"tools": [TIME]}),
    "unknown role": ([user("a"), {"role": "critic", "content": "no"}], {}),
    "empty texts": ([system(""), user(""), bot(""), user("  \n")], {}),
    "result alone": ([result("5")], {}),
    "control text": ([user("a <|im_end|> b </s> <s> [INST] <|eot_id|>"), bot("<tool_call>x</tool_call> </think>"), user("c")], {}),
    "long": ([m for i in range(40) for m in (user("q%d" % i), bot("a%d" % i))] + [user("z")], {}),
    "parts": ([system("S"), {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": " two"}]}], {}),
    "part in each turn": ([{"role": r, "content": [{"type": "text", "text": t}]} for r, t in
                           (("system", "S"), ("user", "u "), ("assistant", "a"), ("user", "v"))], {}),
}
PARTS = ("parts", "part in each turn")  # what a request makes of them depends on the template: test_prompt.c


def transformers_renderer():
    """render(template, request) by Transformers' own code."""
    try:
        from transformers.utils import chat_template_utils as utils
    except ImportError:
        pypi.need("transformers", *PINNED)  # runs this again with them
        raise

    class Clock(utils.datetime):
        @classmethod
        def now(cls, tz=None):
            return reference.NOW

    utils.datetime = Clock

    def by_transformers(template, request):
        variables = TOKENS | request.get("chat_template_kwargs", {})
        return reference.attempt(lambda: utils.render_jinja_template(
            conversations=[utils._normalize_chat_messages(request["messages"])], tools=request.get("tools"),
            chat_template=template, add_generation_prompt=request.get("add_generation_prompt", True), **variables)[0][0])
    return by_transformers


def by_reference(template, request):
    return reference.render(template, reference.context_of(request, TOKENS))


def filled(request):
    """The request with "" where an assistant has no content: ours tries that where a template fails without."""
    return request | {"messages": [
        m | {"content": ""} if m["role"] == "assistant" and m.get("content") is None else m for m in request["messages"]]}


def same(want, error, ours):
    """Does one answer of render_main agree with the reference's text or error?"""
    if "No filter named 'from_json'" in str(error):
        return "text" in ours  # llama.cpp's filter, which Transformers lacks
    if error is None:
        return ours.get("text") == want
    if type(error).__name__ == "TemplateError":  # what raise_exception raises, and nothing else
        return ours.get("code") == "SL_EINVAL" and str(error)[:150] in ours["error"]
    return "error" in ours


def main():
    p = argparse.ArgumentParser()
    p.add_argument("render_main")
    p.add_argument("--all", action="store_true")
    p.add_argument("--transformers", action="store_true")
    p.add_argument("--show", type=int, default=10)
    a = p.parse_args()
    renderer = transformers_renderer() if a.transformers else None
    try:
        templates = published.templates(published.SMALL + (published.LARGE if a.all else []))
    except OSError as e:
        print("skipped: the published templates cannot be had: %s" % e)
        return 77
    jobs = []
    for name, template in templates.items():
        for kind, (messages, more) in CONVERSATIONS.items():
            request = {"messages": messages} | more
            jobs.append((name, kind, template, request))
    pinned = {"strftime_now": reference.CLOCK}
    lines = []
    for name, kind, template, request in jobs:
        lines.append({"template": template, "context": reference.context_of(request, TOKENS) | pinned})
        kwargs = request.get("chat_template_kwargs", {}) | pinned
        lines.append({"template": template, "request": request | {"chat_template_kwargs": kwargs}})
    run = subprocess.run([a.render_main], input="".join(json.dumps(x) + "\n" for x in lines), capture_output=True, text=True,
                         check=False, timeout=600)
    if run.returncode != 0:
        print("FAILED: the program ended with", run.returncode, run.stderr[-4000:])
        return 1
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    n = {"texts": 0, "errors": 0, "refused here": 0, "wrong": 0}
    refused = set()
    for i, (name, kind, template, request) in enumerate(jobs):
        want, error = by_reference(template, request)
        if renderer:
            theirs, their_error = renderer(template, request)
            if (theirs, str(their_error)) != (want, str(error)):
                print("reference.py is not Transformers: %s, %s\n%r\n%r" % (name, kind, theirs or their_error, want or error))
                n["wrong"] += 1
        for way, ours in (("context", answers[2 * i]), ("request", answers[2 * i + 1])):
            agrees = same(want, error, ours)
            if way == "request" and not agrees and kind in PARTS:
                continue
            if way == "request" and not agrees and error is not None and filled(request) != request:
                want, error = by_reference(template, filled(request))
                agrees = same(want, error, ours)
            if agrees:
                n["texts" if error is None else "errors"] += 1
            elif ours.get("code") == "SL_EUNSUPPORTED" or " named '" in ours.get("error", ""):
                n["refused here"] += 1
                refused.add("%s: %s" % (name, ours["error"]))
            else:
                n["wrong"] += 1
                if n["wrong"] <= a.show:
                    print("---\n%s, %s, as %s\nwant: %r\ngot:  %r" % (name, kind, way, want if error is None else error,
                                                                    ours.get("text", ours)))
    if a.all:
        plain = {"".join(c for c in name.lower() if c.isalnum()) for name in templates}
        missing = [family for family, word in FAMILIES.items() if not any(word in x for x in plain)]
        print("%d of %d named families" % (len(FAMILIES) - len(missing), len(FAMILIES)), *missing)
        n["wrong"] += len(missing)
    print(*sorted(refused), sep="\n")
    print("%d templates, %d conversations: %s" % (len(templates), len(CONVERSATIONS), ", ".join("%d %s" % (v, k) for k, v in n.items())))
    return 1 if n["wrong"] or not n["texts"] else 0


if __name__ == "__main__":
    sys.exit(main())
