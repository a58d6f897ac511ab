"""Pictures of the dashboard for the documents: `make screens`."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from browser_support import launched, sign_in, site
from overcast.service.demo import begin

#: name of the picture, page, colours, width and height; no height for the whole page
SCREENS = (
    ("dashboard", "/bandits/orchard", "light", 1280, 1080),
    ("dashboard-dark", "/bandits/vineyard", "dark", 1280, 1080),
    ("decision", "/bandits/vineyard/decisions/day-196", "light", 1280, 760),
    ("phone", "/bandits/orchard", "light", 390, 1240),
)


def taken(page: Any) -> bytes:
    """Return a picture with few colours, which takes little room."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(200, dither=Image.Dither.NONE)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as data, launched() as browser, site(Path(data)) as service:
        service.engine.do(begin)
        for name, path, scheme, width, height in SCREENS:
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
            page = context.new_page()
            sign_in(page, service)
            page.goto(f"{service.url}{path}")
            (folder / f"{name}.png").write_bytes(taken(page))
            context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
