"""Pictures of every lesson, stage by stage, to be looked at: `python -m tests.screens FOLDER`.

Each lesson's file is opened as on a desk, on a phone and before a room, light and dark; one sheet
for each, NAME-SIZE-THEME-STAGE.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from tests.browser.driving import FLAGS, chromium
from validation_core import lessons
from validation_core.lessons import LESSONS
from validation_core.store import Store

SIZES: dict[str, ViewportSize] = {
    "desk": {"width": 1280, "height": 800},
    "phone": {"width": 400, "height": 800},
    "room": {"width": 1280, "height": 720},
}
THEMES = ("light", "dark")


def main() -> None:
    """Write the pictures of the lessons that are named, of all where none is."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", choices=list(LESSONS))
    parser.add_argument("--size", action="append", choices=list(SIZES))
    parser.add_argument("--theme", action="append", choices=THEMES)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for name in chosen.only or LESSONS:
            file = _file(name, chosen.folder)
            for size in chosen.size or SIZES:
                for theme in chosen.theme or THEMES:
                    _shoot(browser, file, size, theme)


def _file(name: str, folder: Path) -> Path:
    study = LESSONS[name]
    path = folder / f"{name}.html"
    numbers = study.load(Store.usual())
    path.write_text(lessons.lesson_html(study.lesson(numbers)), encoding="utf-8")
    return path.absolute()


def _shoot(browser: Browser, file: Path, size: str, theme: str) -> None:
    page = browser.new_page(
        viewport=SIZES[size],
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
    )
    page.goto(file.as_uri() + ("?present" if size == "room" else ""))
    for i, tab in enumerate(page.locator(".lesson .stages button:not(.watch)").all()):
        tab.click()
        page.wait_for_timeout(150)
        path = file.with_name(f"{file.stem}-{size}-{theme}-{i}.png")
        page.screenshot(path=path, full_page=size == "phone")
    page.close()


if __name__ == "__main__":
    main()
