"""Random texts in many scripts, for the programs that compare tokenizers."""

BLOCKS = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x180, 0x24F), (0x2B0, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F), (0x590, 0x5FF),
    (0x600, 0x6FF), (0x700, 0x8FF), (0x900, 0xDFF), (0xE00, 0xEFF), (0xF00, 0x109F), (0x10A0, 0x13FF), (0x1400, 0x167F),
    (0x1680, 0x18FF), (0x1900, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x2BFF), (0x2C00, 0x2FFF), (0x3000, 0x30FF), (0x3100, 0x33FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3), (0xE000, 0xF8FF), (0xF900, 0xFFFD), (0x10000, 0x10FFF),
    (0x11000, 0x123FF), (0x12400, 0x16FFF), (0x17000, 0x1B2FF), (0x1BC00, 0x1D7FF), (0x1D800, 0x1EFFF), (0x1F000, 0x1FAFF),
    (0x20000, 0x2FA1F), (0x30000, 0x323AF), (0xE0000, 0xE01EF), (0x0, 0x1F), (0x0, 0x10FFFF),
]  # fmt: skip
WORDS = (
    "the of and Hello world's don't I'LL it'S we'Re 'ſ 'ſt K's naïve 12 3456 1.5e3 x2 foo.bar() __x__ https://x.y "
    "<b> -> (x):\n  \n \n\n \r\n \t  … — '' \u00a0 \u3000 \u180e \u200b \u2028 ½ Ⅷ ² 数据 東京 안녕 привет สวัสดี 🙂 👩‍👩‍👧 é"
).split(" ") + [" ", "  ", "\n", "\t", "\x85", "$+<=>^~|`", "١٢٣", "𝟘𝟙"]


def random_char(rng, block):
    while True:
        c = rng.randint(*block)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def random_text(rng, specials):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(["", " "]).join(rng.choice(WORDS) for _ in range(rng.randint(1, 40)))
    blocks = rng.sample(BLOCKS, rng.randint(1, 4))
    out = []
    for _ in range(rng.randint(1, 60)):
        roll = rng.random()
        if roll < 0.15:
            out.append(rng.choice([" ", "  ", "\n", "\r\n", "\t", "\u00a0", "'", "1", "22"]))
        elif roll < 0.25:
            out.append(rng.choice(WORDS))
        elif roll < 0.28 and specials:
            token = rng.choice(specials)
            out.append(token[: rng.randint(1, len(token))] if rng.random() < 0.4 else token)
        elif roll < 0.32:
            out.append(random_char(rng, rng.choice(blocks)) * rng.randint(2, 80))
        else:
            out.append(random_char(rng, rng.choice(blocks)))
    return "".join(out)


def all_points(rng):
    """Every code point once, in random order: no class of ours may differ anywhere."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    rng.shuffle(points)
    return ["".join(map(chr, points[i : i + 4096])) for i in range(0, len(points), 4096)]
