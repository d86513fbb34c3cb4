# SPDX-License-Identifier: GPL-2.0
"""Charts as SVG: bars for the cost of a record."""

from html import escape

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
