"""Pictures of every page and lesson, to be looked at: `python -m tests.screens FOLDER`.

Each page is opened as on a desk, on a phone and, presented, before two rooms, light and dark; a
lesson's file so at each of its stages. What can be seen without eyes is printed: what is wider
than its window, and a picture or its sliders that one must scroll to.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Browser, Page, TimeoutError, ViewportSize, sync_playwright

from tests.browser.driving import FLAGS, chromium, registered_pages, serving, settled, timed
from validation_core import lessons
from validation_core.lessons import LESSONS
from validation_core.store import Store

SIZES: dict[str, ViewportSize] = {
    "desk": {"width": 1280, "height": 720},
    "phone": {"width": 390, "height": 844},
    "room": {"width": 1280, "height": 720},
    "hall": {"width": 1920, "height": 1080},
}
PRESENTED = ("room", "hall")
THEMES = ("light", "dark")
PAGES = {page.path or "playground": page.path for page in registered_pages()}
_PATIENCE = 180_000  # milliseconds
_MEASURE = """(charts) => {
  const box = (node) => node.getBoundingClientRect()
  const shown = (node) => box(node).width > 0
  const seen = (root, what) => [...root.querySelectorAll(what)].filter(shown)
  const below = (node) => box(node).top + 0.6 * box(node).height - innerHeight
  const first = charts.slice(0, 1)
  const rails = first.flatMap((root) => seen(root, '.sliders input[type=range]'))
  const pictures = first.flatMap((root) => {
    if (root.matches('.js-plotly-plot')) return [root]
    const drawn = seen(root, 'svg[role=img]').sort((a, b) => box(a).top - box(b).top)
    return root.classList.contains('lesson') ? drawn : drawn.slice(0, 1)
  })
  return {
    wide: document.documentElement.scrollWidth - innerWidth,
    slider: Math.max(0, ...rails.map((node) => box(node).bottom - innerHeight)),
    picture: Math.max(0, ...pictures.map(below)),
  }
}"""
"""Of a page's first chart, its first picture counts; of a lesson's, all that a stage shows."""


def main() -> None:
    """Write the pictures of the pages and lessons that are named, of all where none is."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", choices=[*PAGES, *LESSONS])
    parser.add_argument("--size", action="append", choices=list(SIZES))
    parser.add_argument("--theme", action="append", choices=THEMES)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    wanted = chosen.only or [*PAGES, *LESSONS]
    looks = [(size, theme) for size in chosen.size or SIZES for theme in chosen.theme or THEMES]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for name in (name for name in wanted if name in LESSONS):
            file = _file(name, chosen.folder)
            for size, theme in looks:
                _shoot_lesson(browser, file, size, theme)
        names = [name for name in wanted if name in PAGES]
        if names:
            with serving(chosen.folder / "cache", engine="serial") as server:
                for name in names:
                    for size, theme in looks:
                        path = chosen.folder / f"{name}-{size}-{theme}.png"
                        page = _opened(browser, f"{server.url}/{PAGES[name]}", size, theme)
                        page.screenshot(path=path)
                        for problem in problems(page):
                            print(f"{path.name}: {problem}", flush=True)
                        page.context.close()


def problems(page: Page) -> Iterator[str]:
    """What of an open page cannot be seen without scrolling."""
    over = page.locator(".live, .js-plotly-plot").evaluate_all(_MEASURE)
    if over["wide"] > 1:
        yield f"{over['wide']:.0f} px wider than its window"
    for what in ("slider", "picture"):
        if over[what] > 1:
            yield f"a {what} lies {over[what]:.0f} px below the window"


def _opened(browser: Browser, url: str, size: str, theme: str) -> Page:
    context = browser.new_context(
        viewport=SIZES[size],
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        has_touch=size == "phone",
        is_mobile=size == "phone",
    )
    page = timed(context).new_page()
    page.set_default_navigation_timeout(_PATIENCE)  # the server may be at work for a page before
    page.goto(url + "?present" * (size in PRESENTED))
    with suppress(TimeoutError):  # a page at work is shown as it is
        settled(page)
    return page


def _file(name: str, folder: Path) -> Path:
    study = LESSONS[name]
    path = folder / f"{name}.html"
    numbers = study.load(Store.usual())
    path.write_text(lessons.lesson_html(study.lesson(numbers)), encoding="utf-8")
    return path.absolute()


def _shoot_lesson(browser: Browser, file: Path, size: str, theme: str) -> None:
    page = browser.new_page(
        viewport=SIZES[size],
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
    )
    page.goto(file.as_uri() + "?present" * (size in PRESENTED))
    for i, tab in enumerate(page.locator(".lesson .stages button:not(.watch)").all()):
        tab.click()
        page.wait_for_timeout(150)
        path = file.with_name(f"{file.stem}-{size}-{theme}-{i}.png")
        page.screenshot(path=path, full_page=size == "phone")
        for problem in problems(page):
            print(f"{path.name}: {problem}", flush=True)
    page.close()


if __name__ == "__main__":
    main()
