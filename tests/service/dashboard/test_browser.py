"""The dashboard in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import browser_support
from browser_support import Site, launched, sign_in
from service_support import FARM, GAUSSIAN

EVIL = "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>"
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as out:
        yield out


@pytest.fixture(scope="module")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield a service with a bandit that has lived a little."""
    with browser_support.site(tmp_path_factory.mktemp("site")) as out:
        out.ask("POST", "/v1/bandits", FARM)
        for i in range(12):
            made = out.ask("POST", "/v1/bandits/farm/decisions", {"belief": GAUSSIAN, "id": f"d{i}"})
            outcome = {"reward": float(i % 5), "context": [20.0 + i, 1.0]}
            out.ask("POST", f"/v1/bandits/farm/decisions/{made['id']}/outcome", outcome)
        yield out


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Yield what opens a page; all that pages ask for must be on this machine, and nothing may go wrong in them."""
    contexts: list[Any] = []
    asked: list[str] = []
    wrong: list[str] = []

    def open_page(**options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(10_000)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert asked
    assert {url for url in asked if not re.match(r"http://127\.0\.0\.1:\d+/", url)} == set()
    assert wrong == []


def dots(page: Any) -> int:
    """Return the number of rewards in the chart."""
    path = page.locator("figure", has_text="Reward over time").locator(".dots.came").get_attribute("d")
    return int(path.count("h0"))


def test_from_the_first_key_to_a_chart_that_changes(opened: Open, tmp_path: Path) -> None:
    with browser_support.site(tmp_path) as site:
        page = opened()
        sign_in(page, site)
        assert page.get_by_role("heading", name="No bandit yet").is_visible()
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate(WIDER) == 0
        page.set_viewport_size({"width": 1280, "height": 800})
        assert f"curl {site.url}/v1/bandits" in page.locator("#curl").inner_text()
        page.get_by_role("link", name="with a form").click()
        page.fill("[name=name]", "field")
        page.fill("[name=actions]", "dry: 0\nwet: 4")
        page.get_by_label("How action and context make the reward").select_option("Polynomial")
        page.get_by_role("button", name="Create").click()
        page.wait_for_url(f"{site.url}/bandits/field")
        page.get_by_role("link", name="Decide by hand").click()
        page.fill("[name=mean]", "3.5")
        page.fill("[name=sd]", "0.5")
        page.get_by_role("button", name="Decide", exact=True).click()
        page.wait_for_url(re.compile(r"/bandits/field/decisions/\w+"))
        page.fill("[name=reward]", "12.5")
        page.fill("[name=context]", "3.1")
        page.get_by_role("button", name="Post the outcome").click()
        page.locator(".state.rewarded").wait_for()
        page.goto(f"{site.url}/bandits/field")
        assert dots(page) == 1
        page.evaluate("window.same = true")
        made = site.ask("POST", "/v1/bandits/field/decisions", {"belief": [[1.0], [2.0]]})
        site.ask("POST", f"/v1/bandits/field/decisions/{made['id']}/outcome", {"reward": 3.0})
        for _ in range(100):
            if dots(page) == 2:
                break
            page.wait_for_timeout(100)
        assert dots(page) == 2
        assert page.evaluate("window.same")  # it was not loaded anew
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{site.url}/sign-in")
        page.goto(f"{site.url}/bandits/field")
        assert "/sign-in" in page.url


def test_every_page_fits_a_phone_and_reads_in_light_and_dark(opened: Open, site: Site) -> None:
    grounds = set()
    paths = ("/", "/bandits/farm", "/bandits/farm/decisions/d3", "/bandits/farm/ask", "/new", "/keys", "/bandits/none")
    for scheme in ("light", "dark"):
        page = opened(color_scheme=scheme, viewport={"width": 360, "height": 740})
        page.goto(f"{site.url}/sign-in")
        assert page.evaluate(WIDER) == 0
        sign_in(page, site)
        for path in paths[:-1]:
            page.goto(f"{site.url}{path}")
            assert page.evaluate(WIDER) == 0, path
            for name, ratio in page.evaluate(CONTRASTS).items():
                assert ratio >= 4.5, (scheme, path, name)
        grounds.add(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert len(grounds) == 2


WIDER = "Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)"
# The contrast of words with what is behind them, by the formula of WCAG.
CONTRASTS = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = numbers(colour).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if ((numbers(colour)[3] ?? 1) > 0) return colour;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  const out = {};
  const words = "h1, h2, p, a, dt, dd, td, th, label, button, .state, .tag, .quiet, small";
  for (const element of document.querySelectorAll(words)) {
    if (!element.textContent.trim() || element.closest(".skip")) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
    const name = element.tagName + "." + element.className + ": " + element.textContent.trim().slice(0, 20);
    out[name] = (a + 0.05) / (b + 0.05);
  }
  return out;
}"""


def test_charts_can_be_seen_without_scripts(opened: Open, site: Site) -> None:
    page = opened(java_script_enabled=False)
    sign_in(page, site)
    page.goto(f"{site.url}/bandits/farm")
    assert page.locator("svg.chart").count() == 7
    box = page.locator("svg.chart").first.bounding_box()
    assert box["width"] > 250
    assert box["height"] > 120
    assert page.locator("svg.chart").first.get_attribute("aria-label").startswith("Rewards over time")


def test_the_keyboard_reaches_everything(opened: Open, site: Site) -> None:
    page = opened()
    sign_in(page, site)
    page.goto(f"{site.url}/")
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
    for name in ("Skip to the content", "Bandits", "Keys", "Sign out", "farm"):
        assert name in reached
    page.keyboard.press("Enter")  # the last is the first bandit
    page.wait_for_url(f"{site.url}/bandits/{reached[-1]}")


def test_names_are_never_run(opened: Open, site: Site) -> None:
    site.ask("POST", "/v1/bandits", FARM | {"name": "evil", "actions": {EVIL: [1.0, 0.0], "b": [0.0, 1.0]}})
    belief = GAUSSIAN | {"names": [EVIL, "</title></svg><script>window.stolen = 1</script>"]}
    for i in range(11):
        made = site.ask("POST", "/v1/bandits/evil/decisions", {"belief": belief, "id": f"e{i}", "available": [EVIL]})
        outcome = {"reward": 1.0, "context": [20.0, 1.0]}
        site.ask("POST", f"/v1/bandits/evil/decisions/{made['id']}/outcome", outcome)
    site.ask("POST", "/v1/keys", {"name": EVIL, "scopes": ["read"]})
    page = opened()
    sign_in(page, site)
    for path in ("/", "/bandits/evil", "/bandits/evil/decisions/e1", "/bandits/evil/ask", "/keys"):
        page.goto(f"{site.url}{path}")
        assert page.evaluate("window.stolen") is None
        assert page.locator("main script, main img").count() == 0
        if path != "/":
            assert EVIL[:20] in page.locator("main").inner_html().replace("&lt;", "<").replace("&gt;", ">")
    page.goto(f"{site.url}/bandits/evil")
    made = site.ask("POST", "/v1/bandits/evil/decisions", {"belief": belief, "id": "live"})
    page.locator(f'a[href$="/decisions/{made["id"]}"]').first.wait_for()  # what htmx puts in is not run either
    assert page.evaluate("window.stolen") is None


def test_a_key_is_copied(opened: Open, site: Site) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    sign_in(page, site)
    page.goto(f"{site.url}/keys")
    page.fill("[name=name]", "copied")
    page.get_by_role("button", name="Make the key").click()
    page.get_by_role("button", name="Copy", exact=True).click()
    page.get_by_role("button", name="Copied", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#key").inner_text()
