"""What those who see a page badly meet there: axe-core's findings, and faint words in SVG."""

from __future__ import annotations

from collections.abc import Sequence

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

CONTRAST = ("color-contrast",)
"""Rules of axe-core on which another theme bears."""
# Streamlit's menu puts a div between its list and the items of each of our sections.
_STREAMLIT = {("list", "stSidebarNavItems"), ("listitem", "stSidebarNavItems")}
_SECTION = """target => document.querySelector(target)
  ?.closest('[data-testid=stSidebarNavItems]')?.dataset.testid ?? ''"""

_WORDS = """() => {
  const parse = (css) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
    canvas.fillStyle = css
    canvas.fillRect(0, 0, 1, 1)
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data
    return [r, g, b, a / 255]
  }
  const paper = parse(getComputedStyle(document.querySelector('.stApp')).backgroundColor)
  const lightness = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255).map((v) =>
      v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const seen = (node) => {
    const style = getComputedStyle(node), [r, g, b, a] = parse(style.fill)
    let clear = a * style.fillOpacity
    for (let up = node; up; up = up.parentElement) clear *= getComputedStyle(up).opacity
    const rgb = [r, g, b].map((v, i) => clear * v + (1 - clear) * paper[i])
    const [low, high] = [lightness(rgb), lightness(paper)].sort((x, y) => x - y)
    return (high + 0.05) / (low + 0.05)
  }
  const all = []
  const look = (root) => {
    root.querySelectorAll('*').forEach((node) => {
      if (node.shadowRoot) look(node.shadowRoot)
      const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim())
      if (node.closest('.main-svg, .live svg') && ['text', 'tspan'].includes(node.tagName) && own)
        all.push([node.textContent, Math.round(100 * seen(node)) / 100])
    })
  }
  look(document)
  return all
}"""

# What fades in has little contrast meanwhile; what turns for ever is no matter.
_RESTED = """() => document.getAnimations().every((one) =>
  one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"""


def serious(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What is serious or critical to axe-core by these rules, or by all, and where."""
    page.wait_for_function(_RESTED)
    only = {"runOnly": {"type": "rule", "values": [*rules]}} if rules else {}
    options = {"resultTypes": ["violations"], **only}
    return [
        f"{rule['id']} at {node['target']}: {node['failureSummary']}"
        for rule in Axe().run(page, options=options).response["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
        if (rule["id"], page.evaluate(_SECTION, node["target"][0])) not in _STREAMLIT
    ]


def words_in_pictures(page: Page) -> list[tuple[str, float]]:
    """Each text of a picture and its contrast with the paper: axe-core looks at none in SVG."""
    page.wait_for_function(_RESTED)
    return [(text, contrast) for text, contrast in page.evaluate(_WORDS)]


def faint(words: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Those with less contrast than text must have (WCAG 2, 1.4.3)."""
    return [(text, contrast) for text, contrast in words if contrast < 4.5]
