# SPDX-License-Identifier: GPL-2.0
"""A bar chart as SVG: what a record costs, on a scale of powers of ten."""

from html import escape
from math import log10

BAR, GAP, LEFT, WIDTH = 16, 6, 250, 560
COLOURS = {"blog": "#2b6cb0", "floor": "#718096", "peer": "#c05621"}


def bars(title, unit, rows):
    """Draws rows of (label, kind, median, min, max); returns the text of an SVG file."""
    rows = [r for r in rows if r[2] > 0]
    low = 10 ** int(log10(min(r[2] for r in rows)) // 1)
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
