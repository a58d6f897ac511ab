"""Open every page of the built site in a real browser, on light and dark ground, at the width of a desk and of a phone.

`make look-site` runs it; it needs Chromium (`chromium` on the PATH). It writes a picture of every page, sheets of many
of them, and report.json. The exit code is 1 if a page asks another host for something, says something on the
browser's console, is wider than its window, or has text that can hardly be told from its ground.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}
SCHEMES = "light", "dark"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

#: how much text must stand out, by the Web Content Accessibility Guidelines, level AA
CONTRAST, LARGE = 4.5, 3.0

PROBE = Path(__file__).with_name("probe.js").read_text(encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def pages(site: Path) -> list[str]:
    """Return the paths of all pages of the built site."""
    found = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(str(path) for path in found if path.parts[0] not in ("_static", "_sources"))


def look(page: Page, address: str, name: str, picture: Path) -> dict[str, Any]:
    """Open a page, take its picture, and return what is wrong with it."""
    said: list[str] = []
    elsewhere: list[str] = []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: said.append(str(e)))
    page.on("requestfailed", lambda r: said.append(f"failed: {r.url}"))
    page.on("request", lambda r: None if r.url.startswith((address, "data:", "blob:")) else elsewhere.append(r.url))
    page.goto(f"{address}/{name}", wait_until="networkidle")
    found: dict[str, Any] = page.evaluate(PROBE, [CONTRAST, LARGE])
    picture.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=picture, full_page=True)
    return {**found, "console": said, "elsewhere": elsewhere}


def main(site: Path, out: Path) -> int:
    shutil.rmtree(out, ignore_errors=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    names = pages(site)
    report = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for size in WIDTHS:
            for scheme in SCHEMES:
                report += _seen(browser, address, names, size, scheme, out)
                sheets([out / f"{size}-{scheme}" / f"{name}.png" for name in names], out / f"{size}-{scheme}")
        browser.close()
    server.shutdown()
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    bad = [one for one in report if one["overflow"] > 0 or one["console"] or one["elsewhere"] or one["faint"]]
    for one in bad:
        print(one["size"], one["scheme"], one["page"], {k: one[k] for k in FAULTS if one[k]})
    requests = sum(len(one["elsewhere"]) for one in report)
    print(f"{len(names)} pages, {len(report)} pictures in {out}", end=", ")
    print(f"{requests} requests to other hosts, {len(bad)} with faults")
    return 1 if bad else 0


FAULTS = "overflow", "wide", "console", "elsewhere", "faint"


def _seen(browser: Browser, address: str, names: list[str], size: str, scheme: Any, out: Path) -> list[dict[str, Any]]:
    width, height = WIDTHS[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    found = []
    for name in names:
        page = context.new_page()
        one = look(page, address, name, out / f"{size}-{scheme}" / f"{name}.png")
        found.append({"page": name, "size": size, "scheme": scheme, **one})
        page.close()
    context.close()
    return found


def sheets(pictures: list[Path], stem: Path, columns: int = 6, width: int = 320, height: int = 640) -> None:
    """Put the tops of pictures side by side, as many on a sheet as can be looked at."""
    each = 2 * columns
    for start in range(0, len(pictures), each):
        sheet = Image.new("RGB", (columns * width, 2 * height), "grey")
        for i, path in enumerate(pictures[start : start + each]):
            with Image.open(path) as picture:
                scale = width / picture.width
                small = picture.convert("RGB").resize((width, max(1, round(picture.height * scale))))
            at = i % columns * width, i // columns * height
            sheet.paste(small.crop((0, 0, width - 4, min(small.height, height - 4))), at)
        sheet.save(f"{stem}-sheet{start // each + 1}.png")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
