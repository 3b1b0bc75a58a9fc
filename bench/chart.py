"""Roofline charts as SVG: operations per byte against operations per second, both logarithmic.

A panel has roofs and dots. What a machine can do at an intensity x (operations per byte read) is the lower of
bandwidth * x and a peak (Williams, Waterman, Patterson 2009: "Roofline: an insightful visual performance model").
Labels are set one after the other at the nearest free place; where that is far, a line leads to the dot. The file
has no script and takes the reader's colours for dark or light.
"""
import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

WIDTH, PANEL_HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 520, 72, 24, 64, 56
FONT, CHAR, LINE = 11, 6.4, 13  # of labels: size, and what a letter and a line take, in pixels
DOT = 4

LIGHT = {"page": "#ffffff", "ink": "#1d2126", "soft": "#5d6670", "grid": "#e4e7ea",
         "series": ("#0b62c4", "#b3440a", "#12794a", "#8a2bb0", "#8a6d00", "#0a7a8a")}
DARK = {"page": "#15181c", "ink": "#e6e9ec", "soft": "#a3acb5", "grid": "#2c3238",
        "series": ("#6cb0ff", "#ff9a5c", "#5fd39a", "#d79bf2", "#e0c35a", "#62d3e0")}


def colours(c):
    """Plain rules, no variables of CSS: viewers other than browsers lack them."""
    rules = [f"text {{ fill: {c['ink']}; }} .page {{ fill: {c['page']}; }} .soft {{ fill: {c['soft']}; }}",
             f".grid {{ stroke: {c['grid']}; }} .frame, .lead {{ stroke: {c['soft']}; }} .roof {{ stroke: {c['ink']}; }}"]
    return "\n".join(rules + [f".c{i} {{ fill: {v}; }}" for i, v in enumerate(c["series"])])


STYLE = f"""
text {{ font-family: system-ui, sans-serif; font-size: {FONT}px; }} .title {{ font-size: 15px; font-weight: 600; }}
.frame, .roof {{ fill: none; }} .roof {{ stroke-width: 1.5; }} .dashed {{ stroke-dasharray: 5 4; }} .lead {{ stroke-width: .7; }}
.behind {{ opacity: .8; }}
{colours(LIGHT)}
@media (prefers-color-scheme: dark) {{
{colours(DARK)}
}}
"""


@dataclass
class Dot:
    x: float       # operations per byte
    y: float       # 1e9 operations a second
    label: str     # on the chart
    title: str     # when pointed at
    series: int = 0


@dataclass
class Panel:
    title: str
    memory: list   # (name, GB/s, dashed)
    peaks: list    # (name, 1e9 operations a second)
    dots: list
    series: list = field(default_factory=list)  # their names


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    w: float
    h: float

    def meets(self, o):
        return self.x < o.x + o.w and o.x < self.x + self.w and self.y < o.y + o.h and o.y < self.y + self.h

    def within(self, o):
        return self.x >= o.x and self.y >= o.y and self.x + self.w <= o.x + o.w and self.y + self.h <= o.y + o.h


def number(v):
    return f"{v:.0f}" if v >= 10 else f"{v:.2g}"


class Scale:
    """From a value to a pixel, logarithmically."""

    def __init__(self, low, high, start, end):
        self.low, self.high, self.start = low, high, start
        self.step = (end - start) / (math.log(high) - math.log(low))

    def __call__(self, v):
        return self.start + (math.log(v) - math.log(self.low)) * self.step

    def ticks(self):
        """1, 2 and 5 of each decade."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [m * 10.0 ** p for p in powers for m in (1, 2, 5) if self.low <= m * 10.0 ** p <= self.high]


class Drawing:
    def __init__(self, panel, top):
        self.panel, self.out, self.top = panel, [], top
        self.area = Box(LEFT, top + TOP, WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM)
        xs = [d.x for d in panel.dots]
        ys = [d.y for d in panel.dots] + [p for _, p in panel.peaks]
        ridges = [p / g for _, p in panel.peaks for _, g, _ in panel.memory]
        self.x = Scale(min(xs + ridges) / 1.8, max(xs + ridges) * 2.5, self.area.x, self.area.x + self.area.w)
        self.y = Scale(min(ys) / 1.8, max(ys) * 1.6, self.area.y + self.area.h, self.area.y)
        self.boxes = [Box(self.x(d.x) - DOT, self.y(d.y) - DOT, 2 * DOT, 2 * DOT) for d in panel.dots]  # nothing may be here

    def line(self, css, *points):
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.out.append(f'<polyline class="{css}" points="{way}"/>')

    def text(self, x, y, text, css="", more=""):
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{css}"{more}>{escape(text)}</text>')

    def axes(self):
        a = self.area
        self.text(LEFT, self.top + 24, self.panel.title, "title")
        x = LEFT
        for i, name in enumerate(self.panel.series):
            self.out.append(f'<circle class="c{i % 6}" cx="{x + 4:.1f}" cy="{self.top + 42}" r="{DOT}"/>')
            self.text(x + 13, self.top + 46, name)
            x += 13 + CHAR * len(name) + 22
        for v in self.x.ticks():
            self.line("grid", (self.x(v), a.y), (self.x(v), a.y + a.h))
            self.text(self.x(v), a.y + a.h + 16, f"{v:g}", "soft", ' text-anchor="middle"')
        for v in self.y.ticks():
            self.line("grid", (a.x, self.y(v)), (a.x + a.w, self.y(v)))
            self.text(a.x - 7, self.y(v) + 4, f"{v:g}", "soft", ' text-anchor="end"')
        self.out.append(f'<rect class="frame" x="{a.x}" y="{a.y}" width="{a.w}" height="{a.h}"/>')
        self.text(a.x + a.w / 2, a.y + a.h + 38, "operations per byte read", "soft", ' text-anchor="middle"')
        self.text(0, 0, "10⁹ operations a second", "soft",
                  f' text-anchor="middle" transform="translate(18 {a.y + a.h / 2:.0f}) rotate(-90)"')

    def roofs(self):
        highest = max(p for _, p in self.panel.peaks)
        for name, rate, dashed in self.panel.memory:
            left, right = max(self.x.low, self.y.low / rate), min(self.x.high, highest / rate)
            if left < right:
                self.line("roof dashed" if dashed else "roof", (self.x(left), self.y(left * rate)),
                          (self.x(right), self.y(right * rate)))
            middle = math.sqrt(left * right)
            self.label(self.x(middle), self.y(middle * rate), f"{name}, {number(rate)} GB/s", "soft")
        best = max(rate for _, rate, _ in self.panel.memory)
        for name, peak in self.panel.peaks:
            self.line("roof", (self.x(max(peak / best, self.x.low)), self.y(peak)), (self.x(self.x.high), self.y(peak)))
            text = f"{name}, {number(peak)} G/s"
            self.label(self.area.x + self.area.w - CHAR * len(text) / 2 - 8, self.y(peak) - 10, text, "soft")

    def place(self, x, y, w):
        """The free box for a text of width w that is nearest to a point; None: the panel is full."""
        for r in (DOT + 3, 14, 24, 36, 52, 72, 96, 128, 170, 220):
            for turn in range(16):
                angle = math.pi * (turn if turn % 2 == 0 else -turn) / 8  # right first, then around
                cx, cy = x + r * math.cos(angle), y + r * math.sin(angle)
                box = Box(cx - w * (1 - math.cos(angle)) / 2, cy - LINE / 2, w, LINE)
                if box.within(self.area) and not any(box.meets(b) for b in self.boxes):
                    return box, r
        return None

    def label(self, x, y, text, css):
        found = self.place(x, y, CHAR * len(text) + 4)
        if found is None:
            return  # the dot's title still says it
        box, r = found
        self.boxes.append(box)
        if r > 24:
            end = (min(max(x, box.x), box.x + box.w), min(max(y, box.y), box.y + box.h))
            self.line("lead", (x, y), end)
        self.out.append(f'<rect class="page behind" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.w:.1f}" height="{box.h}"/>')
        self.text(box.x + 2, box.y + LINE - 3, text, css)

    def draw(self):
        self.axes()
        self.roofs()
        for d in self.panel.dots:
            self.label(self.x(d.x), self.y(d.y), d.label, f"c{d.series % 6}")
        for d in self.panel.dots:
            self.out.append(f'<circle class="c{d.series % 6}" cx="{self.x(d.x):.1f}" cy="{self.y(d.y):.1f}" r="{DOT}">'
                            f"<title>{escape(d.title)}</title></circle>")
        return self.out


def svg(panels):
    """The file's text. Panels lie one below the other; each has at least a dot, a memory and a peak."""
    height = PANEL_HEIGHT * len(panels)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
             'role="img">', f"<title>{escape('; '.join(p.title for p in panels))}</title>", f"<style>{STYLE}</style>",
             f'<rect class="page" width="{WIDTH}" height="{height}"/>']
    for i, panel in enumerate(panels):
        parts += Drawing(panel, i * PANEL_HEIGHT).draw()
    return "\n".join([*parts, "</svg>", ""])
