# SPDX-License-Identifier: GPL-2.0
"""Charts as SVG: bars for what a record costs, curves for what more CPUs bring."""

from html import escape
from math import ceil, log10, log2

BAR, GAP, LEFT, WIDTH = 16, 6, 250, 560
LEAST = 0.5
COLOURS = {"blog": "#2b6cb0", "floor": "#718096", "peer": "#c05621"}


def bars(title, unit, rows):
    """Draws rows of (label, kind, median, min, max); returns the text of an SVG file. What costs
    next to nothing has a number, but no bar."""
    # Below the smallest, so that it has a bar
    low = 10.0 ** (ceil(log10(max(LEAST, min(r[2] for r in rows)))) - 1)
    high = 10 ** (int(log10(max(r[4] for r in rows)) // 1) + 1)
    span = log10(high / low)
    height = 60 + len(rows) * (BAR + GAP) + 30

    def x(number):
        return LEFT + WIDTH * max(0.0, log10(max(number, low) / low)) / span

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 90}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    power = low
    while power <= high:
        out.append(
            f'<line x1="{x(power):.1f}" y1="36" x2="{x(power):.1f}" y2="{height - 28}" stroke="#ddd"/>'
            f'<text x="{x(power):.1f}" y="{height - 12}" text-anchor="middle">{power:g}</text>'
        )
        power *= 10
    out.append(f'<text x="10" y="{height - 12}">{escape(unit)}</text>')
    for i, (label, kind, mid, least, most) in enumerate(rows):
        y = 42 + i * (BAR + GAP)
        middle = y + BAR / 2
        out.append(
            f'<text x="{LEFT - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{x(mid) - LEFT:.1f}" height="{BAR}" '
            f'fill="{COLOURS[kind]}"/>'
            f'<line x1="{x(least):.1f}" y1="{middle}" x2="{x(most):.1f}" y2="{middle}" '
            'stroke="black"/>'
            f'<text x="{x(most) + 6:.1f}" y="{middle + 4}">{mid:.3g}</text>'
        )
    out.append("</svg>")
    return "\n".join(out) + "\n"


LINES = ["#2b6cb0", "#2f855a", "#805ad5", "#c05621"]
SIDE, EDGE = 420, 60


def curves(title, across, up, lines):
    """Draws {label: [(x, y)]} on scales of powers of two; returns the text of an SVG file. The
    dashed line is where y grows as x does."""
    most = max(max(x, y) for points in lines.values() for x, y in points)
    powers = range(int(ceil(log2(most))) + 1)

    def at(number):
        return SIDE * log2(max(number, 1)) / powers[-1]

    def place(x, y):
        return f"{EDGE + at(x):.1f},{EDGE + SIDE - at(y):.1f}"

    width, height = SIDE + EDGE + 310, SIDE + 2 * EDGE
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
        f'<text x="{EDGE + SIDE / 2}" y="{height - 14}" text-anchor="middle">{escape(across)}</text>',
        f'<text x="10" y="{EDGE - 14}">{escape(up)}</text>',
    ]
    for power in powers:
        number = 2**power
        out.append(
            f'<polyline points="{place(number, 1)} {place(number, most)}" fill="none" stroke="#eee"/>'
            f'<polyline points="{place(1, number)} {place(most, number)}" fill="none" stroke="#eee"/>'
            f'<text x="{EDGE + at(number):.1f}" y="{EDGE + SIDE + 16}" text-anchor="middle">{number}</text>'
            f'<text x="{EDGE - 8}" y="{EDGE + SIDE - at(number) + 4:.1f}" text-anchor="end">{number}</text>'
        )
    out.append(
        f'<polyline points="{place(1, 1)} {place(most, most)}" fill="none" stroke="#888" '
        'stroke-dasharray="4 4"/>'
    )
    for i, (label, points) in enumerate(lines.items()):
        colour = LINES[i % len(LINES)]
        path = " ".join(place(x, y) for x, y in sorted(points))
        y = EDGE + 10 + 22 * i
        out.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<line x1="{EDGE + SIDE + 14}" y1="{y}" x2="{EDGE + SIDE + 34}" y2="{y}" '
            f'stroke="{colour}" stroke-width="2"/>'
            f'<text x="{EDGE + SIDE + 40}" y="{y + 4}">{escape(label)}</text>'
        )
    out.append("</svg>")
    return "\n".join(out) + "\n"
