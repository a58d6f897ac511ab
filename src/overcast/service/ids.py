"""Random ids."""

from __future__ import annotations

import os

#: ids that one call of the system pays for: each call lets another thread in, which costs more than the bytes
AT_ONCE = 128


class Ids:
    """Draws ids of 32 hexadecimal digits from the randomness of the system; for one thread.

    Examples
    --------
    >>> ids = Ids()
    >>> len(ids.draw()), ids.draw() == ids.draw()
    (32, False)
    """

    def __init__(self) -> None:
        self._left: list[str] = []

    def draw(self) -> str:
        """Return an id that nobody had before."""
        if not self._left:
            digits = os.urandom(16 * AT_ONCE).hex()
            self._left = [digits[i : i + 32] for i in range(0, len(digits), 32)]
        return self._left.pop()
