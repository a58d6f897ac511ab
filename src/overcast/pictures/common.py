"""Common parts of pictures: axes, and colours that show on light and on dark ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: colours that stand out on white and on black
MAIN, OTHER = "#2b8cdb", "#e08214"


def pyplot(owner: str) -> Any:
    """Return matplotlib.pyplot, or raise ImportError that names the extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(f"{owner}: plot needs matplotlib; install it with pip install 'overcast[plot]'") from None
    return plt


def axes(owner: str, ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """Return the axes `ax`, or new ones for None."""
    plt = pyplot(owner)
    out: Axes = plt.subplots(layout="constrained", figsize=size)[1] if ax is None else ax
    return out


def ink(ax: Axes) -> Any:
    """Return the colour of the axes' text: black on light ground, white on dark."""
    return ax.xaxis.label.get_color()


def open_frame(ax: Axes) -> None:
    """Remove the frame above and to the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
