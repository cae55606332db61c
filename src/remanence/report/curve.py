"""Accuracy curves for the terminal."""

from __future__ import annotations

from itertools import cycle

from remanence.report.panel import Panel

_MARKS = "●■▲◆○□△◇"
_COLOURS = (33, 208, 35, 170, 44, 245)


def terminal_curve(panel: Panel, width: int = 80, colour: bool = False) -> str:
    """The mean curves as text of this width; each has a mark of its own, so colour is a luxury."""
    import plotext

    # plotext has one figure for the whole process, and cuts it to the window unless told not to.
    plotext.terminal.limit(False, False)
    figure = plotext.figure.clear()
    figure.plot_size(width, max(12, min(width // 4, 24)))
    figure.theme("colorless")
    figure.title(panel.title)
    figure.label("accuracy (%) by number of classes", axis="x")
    figure.ruler("x").ticks(panel.ticks())
    key = []
    for curve, mark, hue in zip(panel.curves, cycle(_MARKS), cycle(_COLOURS)):
        ink = plotext.pixel(foreground=hue)
        points = list(curve.classes), curve.means()
        figure.draw(figure.signal(*points, marker=plotext.marker("braille", ink)).lines())
        figure.draw(figure.signal(*points, marker=plotext.marker(mark, ink)))
        key.append(plotext.colorize(mark, ink).string(colorless=not colour) + " " + curve.label)
    plot: str = figure.build().string(colorless=not colour)
    lines = plot.rstrip().splitlines() + ["  " + line for line in key]
    return "\n".join(line.rstrip() for line in lines)
