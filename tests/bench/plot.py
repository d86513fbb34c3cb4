# SPDX-License-Identifier: GPL-2.0
"""Charts as SVG: bars for what a record costs, curves for what more CPUs bring."""

from html import escape
from math import ceil, log2

COLOURS = ["#2b6cb0", "#2f855a", "#805ad5", "#c05621"]


def begin(title: str, width: int, height: int) -> list[str]:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]


BAR, GAP, LEFT, LENGTH = 15, 12, 150, 440


def bars(title: str, groups: list[tuple[str, list[tuple[str, float]]]]) -> str:
    """Draws groups of (label, [(label, number)]), all on one scale that begins at 0; returns the
    text of an SVG file."""
    most = max(number for _, rows in groups for _, number in rows)
    y, body = 38, []
    for label, rows in groups:
        body.append(f'<text x="10" y="{y + 12}" font-weight="bold">{escape(label)}</text>')
        y += 18
        for i, (name, number) in enumerate(rows):
            length = LENGTH * number / most
            body.append(
                f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(name)}</text>'
                f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" '
                f'fill="{COLOURS[i]}"/>'
                f'<text x="{LEFT + length + 6:.1f}" y="{y + 12}">{number:.0f}</text>'
            )
            y += BAR
        y += GAP
    return "\n".join([*begin(title, LEFT + LENGTH + 60, y), *body, "</svg>"]) + "\n"


SIDE, EDGE = 300, 60


def curves(title: str, across: str, up: str, lines: dict[str, list[tuple[float, float]]]) -> str:
    """Draws {label: [(x, y)]} on scales of powers of two; returns the text of an SVG file. The
    dashed line is where y grows as x does."""
    most = max(max(x, y) for points in lines.values() for x, y in points)
    powers = range(ceil(log2(most)) + 1)

    def at(number: float) -> float:
        return SIDE * log2(max(number, 1)) / powers[-1]

    def place(x: float, y: float) -> str:
        return f"{EDGE + at(x):.1f},{EDGE + SIDE - at(y):.1f}"

    width, height = SIDE + EDGE + 310, SIDE + 2 * EDGE
    out = [
        *begin(title, width, height),
        f'<text x="{EDGE + SIDE / 2}" y="{height - 14}" text-anchor="middle">'
        f"{escape(across)}</text>",
        f'<text x="10" y="{EDGE - 14}">{escape(up)}</text>',
    ]
    grid = 'fill="none" stroke="#eee"'
    for power in powers:
        number = 2**power
        out.append(
            f'<polyline points="{place(number, 1)} {place(number, most)}" {grid}/>'
            f'<polyline points="{place(1, number)} {place(most, number)}" {grid}/>'
            f'<text x="{EDGE + at(number):.1f}" y="{EDGE + SIDE + 16}" text-anchor="middle">'
            f"{number}</text>"
            f'<text x="{EDGE - 8}" y="{EDGE + SIDE - at(number) + 4:.1f}" text-anchor="end">'
            f"{number}</text>"
        )
    out.append(
        f'<polyline points="{place(1, 1)} {place(most, most)}" fill="none" stroke="#888" '
        'stroke-dasharray="4 4"/>'
    )
    for i, (label, points) in enumerate(lines.items()):
        colour = COLOURS[i]
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
