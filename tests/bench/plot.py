# SPDX-License-Identifier: GPL-2.0
"""Charts as SVG: bars for the cost of a record."""

from html import escape

# Bars have the classes c0, c1, ...
STYLE = """<style>
.paper { fill: #fff } text { fill: #1a202c }
.c0 { fill: #2b6cb0 } .c1 { fill: #2f855a } .c2 { fill: #805ad5 } .c3 { fill: #c05621 }
@media (prefers-color-scheme: dark) {
.paper { fill: #1a202c } text { fill: #e2e8f0 }
.c0 { fill: #63b3ed } .c1 { fill: #68d391 } .c2 { fill: #b794f4 } .c3 { fill: #f6ad55 }
}
</style>"""


def begin(title: str, width: int, height: int) -> list[str]:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        STYLE,
        '<rect width="100%" height="100%" class="paper"/>',
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
                f'class="c{i}"/>'
                f'<text x="{LEFT + length + 6:.1f}" y="{y + 12}">{number:.0f}</text>'
            )
            y += BAR
        y += GAP
    return "\n".join([*begin(title, LEFT + LENGTH + 60, y), *body, "</svg>"]) + "\n"
