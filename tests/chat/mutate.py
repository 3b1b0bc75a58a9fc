"""Mutations of real templates and of their contexts, for differential.py."""

import re

SCRAPS = ["-", "+", " ", "\n", "{%", "%}", "{{", "}}", "'", "(", ")", "|", ".", "[", "]", "not ", " is ", " if ", "1", "a", "==",
          "~", ":", ",", "{#", "#}", "loop", "none"]


def text(rng, sources):
    """A few characters dropped, doubled, swapped or taken from another template."""
    t = rng.choice(sources)
    for _ in range(rng.choice([1, 1, 2, 4])):
        i, j = sorted((rng.randrange(len(t) + 1), rng.randrange(len(t) + 1)))
        j = min(j, i + rng.choice([1, 2, 5, 20]))
        o = rng.choice(sources)
        a = rng.randrange(len(o))
        t = rng.choice([
            t[:i] + t[j:], t[:j] + t[i:j] + t[j:], t[:i] + o[a:a + rng.choice([1, 3, 10, 30])] + t[j:],
            t[:i] + rng.choice(SCRAPS) + t[i:]])
        if not t:
            t = o
    return t


TOKEN = re.compile(r"""\{[{%#][-+]?|[-+]?[}%#]\}|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\w+|[=!<>]=|\*\*|//|\s+|.""", re.S)
TAG = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.S)
# What may stand for one another.
KINDS = [
    ["==", "!=", "<", "<=", ">", ">=", "in", "not in"], ["+", "-", "*", "/", "//", "%", "~", "**"], ["and", "or"],
    ["true", "false", "none", "0", "1", "-1", "''", "[]", "{}", "'a'", "2.5"],
    ["trim", "tojson", "length", "string", "upper", "lower", "list", "first", "last", "join", "sort", "unique", "items", "int",
     "reverse", "safe", "title", "capitalize", "dictsort", "abs", "e", "default", "indent", "map", "select", "float", "count",
     "wordcount", "sum", "min", "max", "batch", "urlencode", "round", "truncate", "center", "striptags", "wordwrap", "filesizeformat",
     "xmlattr"],
    ["defined", "undefined", "string", "none", "mapping", "iterable", "sequence", "number", "boolean", "true", "false", "integer",
     "float", "odd", "lower", "callable", "escaped"],
    ["strip", "lstrip", "rstrip", "upper", "lower", "title", "split", "rsplit", "startswith", "endswith", "replace", "items",
     "keys", "values", "get", "splitlines", "capitalize", "join", "find", "count", "isdigit", "partition", "casefold", "expandtabs"],
    ["messages", "tools", "message", "loop", "bos_token", "add_generation_prompt", "content", "role", "ns", "missing"],
    ["role", "content", "tool_calls", "function", "name", "arguments", "type", "text", "description", "parameters", "id"],
    ["index", "index0", "first", "last", "length", "previtem", "nextitem", "revindex", "revindex0", "depth", "depth0"],
    ["if", "elif", "for", "set", "macro", "endif", "endfor", "endset", "else", "break", "continue", "call", "filter", "with",
     "generation", "raw"],
    ["{{", "{{-", "{%", "{%-", "{%+", "{#"], ["}}", "-}}", "%}", "-%}", "+%}", "#}"]]


def tokens(rng, sources):
    """A few tokens of the tags dropped, doubled, swapped with a neighbour or with one of their kind."""
    parts = TAG.split(rng.choice(sources))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        i = rng.randrange(len(parts) // 2) * 2 + 1 if len(parts) > 1 else 0
        words = TOKEN.findall(parts[i])
        k = rng.randrange(len(words)) if words else 0
        r = rng.random()
        kinds = [kind for kind in KINDS if words and words[k] in kind]
        if not words or r < 0.05:
            parts[i] = rng.choice([parts[i] * 2, ""])
            continue
        if kinds and r < 0.7:
            words[k] = rng.choice(rng.choice(kinds))
        elif r < 0.78:
            del words[k]
        elif r < 0.84:
            words.insert(k, words[k])
        elif r < 0.9 and k + 2 < len(words):
            words[k], words[k + 2] = words[k + 2], words[k]
        else:
            words.insert(k, rng.choice(rng.choice(KINDS)))
        parts[i] = "".join(words)
    return "".join(parts)


ODD = [None, True, False, 0, 1, -3, 2.5, 1e300, "", "x", " y\n", "<think>\na\n</think>\nb", "K\u00f6ln", [], ["a", 1], {}, {"a": None},
       [{"type": "text", "text": "t"}], {"role": "user", "content": "c"}, "assistant", "system", "tool"]


def value(rng, v):
    """A copy with a few values of another type, members missing or doubled. The outermost stays an object."""
    return {k: changed(rng, x) for k, x in v.items() if rng.random() > 0.02}


def changed(rng, v):
    if rng.random() < 0.04:
        return rng.choice(ODD)
    if isinstance(v, dict):
        return {k: changed(rng, x) for k, x in v.items() if rng.random() > 0.02}
    if isinstance(v, list):
        out = [changed(rng, x) for x in v if rng.random() > 0.02]
        return out + out[:1] if rng.random() < 0.03 else out
    return v
