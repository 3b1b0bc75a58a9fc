"""Texts for differential tests: many scripts, code, white space of all kinds, numbers, special tokens and
fragments of them, unassigned code points, runs. The same seed gives the same texts."""
import random

BLOCKS = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x180, 0x24F), (0x2B0, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F), (0x590, 0x5FF),
    (0x600, 0x6FF), (0x700, 0x8FF), (0x900, 0xDFF), (0xE00, 0xEFF), (0xF00, 0x109F), (0x10A0, 0x13FF), (0x1400, 0x167F),
    (0x1680, 0x18FF), (0x1900, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x2BFF), (0x2C00, 0x2FFF), (0x3000, 0x30FF), (0x3100, 0x33FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3), (0xE000, 0xF8FF), (0xF900, 0xFFFD), (0x10000, 0x10FFF),
    (0x11000, 0x123FF), (0x12400, 0x16FFF), (0x17000, 0x1B2FF), (0x1BC00, 0x1D7FF), (0x1D800, 0x1EFFF), (0x1F000, 0x1FAFF),
    (0x20000, 0x2FA1F), (0x30000, 0x323AF), (0xE0000, 0xE01EF), (0x0, 0x1F), (0x0, 0x10FFFF),
]  # fmt: skip
SENTENCES = """The quick brown fox jumps over the lazy dog; it's 3.14159 o'clock, isn't it?
Größe, Straße, naïve façade — „Zitat“ und ‚so weiter‘ … 1.234,56 €
Съешь же ещё этих мягких французских булок, да выпей чаю!
Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Άνθρωπος ΟΔΟΣ
דג סקרן שט בים מאוכזב ולפתע מצא חברה
نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر ١٢٣٤
ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश १२३
อักษรไทย เป็นมนุษย์สุดประเสริฐเลิศคุณค่า ๑๒๓
いろはにほへと ちりぬるを 色は匂へど散りぬるを。カタカナ、ｶﾀｶﾅ！
天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。二〇二六年十一月
키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.
Tiếng Việt có dấu: Đường đi khó, không khó vì ngăn sông cách núi
ქართული ანბანი, հայոց գիր, ᚠᛇᚻ᛫ᛒᛦᚦ, ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ, አማርኛ
👩‍👩‍👧‍👦 🤣 🏔️ 🇺🇳 👋🏽 ☕ ✈︎ ①②③ ½ Ⅷ ² ﬁ ﬀ Å Å é ẛ̣ 𝒳𝟘𝟙
for (int i = 0; i < n; ++i) { x[i] += 0x1F * y->z; } // TODO: fix\n\treturn a!=b;
def f(x):\n    \"\"\"doc\"\"\"\n\n    return {'k': [1, 2.5e-3, None], "v": x**2}\n
<div class="a">&nbsp;</div>\r\n<!-- c -->\r\n{% if x %}{{ y }}{% endif %}
SELECT * FROM t WHERE id=42 AND name LIKE '%foo%';   -- comment
https://example.org/path?q=1&r=%20#frag user@host.com C:\\Windows\\System32
I'LL we'Re 'ſ K's DON'T don’t l'été O'Neil 'tis 'S 's'
camelCaseWord HTTPServer snake_case_word SCREAMING_CASE XMLHttpRequest2 iPhone15ProMax
}\n/// doc Don't世界 二〇二六年 中文English混排123 あA1漢
 leading and trailing   \n\n\n   \n \t \r\n\r\n  mixed \u00a0\u3000\u2028\u200b\u180e\x85 spaces   """.split("\n")
GLUE = ["", " ", " ", " ", "  ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "'", "1", "22", "12345", "...", "?!", "</", "_"]


def random_char(rng, block):
    while True:
        c = rng.randint(*block)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def fragments(rng):
    """Pieces of sentences, cut anywhere."""
    out = []
    for _ in range(rng.randint(1, 12)):
        s = rng.choice(SENTENCES).replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")
        if rng.random() < 0.5 and len(s) > 4:
            at = rng.randrange(len(s) - 2)
            s = s[at : at + rng.randint(1, 40)]
        out += [s, rng.choice(GLUE)]
    return "".join(out)


def mixture(rng, specials):
    blocks = rng.sample(BLOCKS, rng.randint(1, 4))
    out = []
    for _ in range(rng.randint(1, 60)):
        roll = rng.random()
        if roll < 0.20:
            out.append(rng.choice(GLUE))
        elif roll < 0.25:
            out.append(rng.choice(rng.choice(SENTENCES).split(" ")))
        elif roll < 0.29 and specials:
            token = rng.choice(specials)
            out.append(token[: rng.randint(1, len(token))] if rng.random() < 0.4 else token)
        elif roll < 0.33:
            out.append(random_char(rng, rng.choice(blocks)) * rng.randint(2, 80))
        else:
            out.append(random_char(rng, rng.choice(blocks)))
    return "".join(out)


def random_text(rng, specials=()):
    roll = rng.random()
    if roll < 0.5:
        return fragments(rng)
    if roll < 0.6 and specials:
        return "".join(rng.choice([fragments(rng), rng.choice(specials), " " + rng.choice(specials) + " "]) for _ in range(3))
    return mixture(rng, list(specials))


def all_points(rng, size=4096):
    """Every code point once, in random order: no class of ours may differ anywhere."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    rng.shuffle(points)
    return ["".join(map(chr, points[i : i + size])) for i in range(0, len(points), size)]


EDGES = ["", " ", "  ", "\n", "a", "\x00", "a\x00b", "\ufffd", "\U0010ffff", "▁", "▁▁a", " ▁ ", "<0x41>", "<0x0A>", "Ġ", "é", "e\u0301"]


def texts(seed, n, specials=()):
    rng = random.Random(str(seed))
    return EDGES[: min(n, len(EDGES))] + [random_text(rng, specials) for _ in range(max(0, n - len(EDGES)))]
