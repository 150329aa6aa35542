"""Every page as axe-core finds it, both themes, wide and narrow: nothing serious or critical."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.driving import listed, npz, settled, shown

SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 400, "height": 800}}
OPTIONS = {"resultTypes": ["violations"]}
# Streamlit's menu puts a div between its list and the items of each of our sections.
STREAMLIT = {("list", "stSidebarNavItems"), ("listitem", "stSidebarNavItems")}
SECTION = """target => document.querySelector(target)
  ?.closest('[data-testid=stSidebarNavItems]')?.dataset.testid ?? ''"""


@pytest.mark.parametrize(
    ("theme", "size"),
    [
        ("light", "wide"),
        pytest.param("light", "narrow", marks=pytest.mark.slow),
        pytest.param("dark", "wide", marks=pytest.mark.slow),
        pytest.param("dark", "narrow", marks=pytest.mark.slow),
    ],
)
def test_no_page_has_what_is_serious(visit, server, theme, size):
    page = visit(color_scheme=theme, viewport=SIZES[size])
    wrong = []
    for each in listed():
        page.goto(f"{server.url}/{each.path}")
        settled(page)
        wrong += [f"{each.title}: {problem}" for problem in _problems(page)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_no_diagnosis_has_what_is_serious(visit, wrong, theme):
    page = visit("diagnose", color_scheme=theme, viewport=SIZES["wide"])
    page.locator("input[type=file]").set_input_files(npz(wrong))
    shown(page.get_by_text("Loaded 100 simulations"))
    shown(page.get_by_role("button", name="Report", exact=True))
    for line in page.locator("[class*=st-key-line-] summary").all():
        line.click()
        settled(page)
    assert not list(_problems(page))
    assert not [word for word in page.evaluate(WORDS) if word[1] < 4.5]
    charts = page.get_by_test_id("stPlotlyChart").locator("[aria-label], [alt]")
    assert charts.count() > 5


def _problems(page):
    """What is serious or critical, and where."""
    for rule in Axe().run(page, options=OPTIONS).response["violations"]:
        for node in rule["nodes"]:
            target = node["target"][0]
            if rule["impact"] not in ("serious", "critical"):
                continue
            if (rule["id"], page.evaluate(SECTION, target)) in STREAMLIT:
                continue
            yield f"{rule['id']} at {target}: {node['failureSummary']}"


WORDS = """() => {
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


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_words_in_pictures_stand_out(visit, server, theme):
    """axe-core looks at no words in SVG."""
    page = visit(color_scheme=theme)
    seen = 0
    for each in listed():
        page.goto(f"{server.url}/{each.path}")
        settled(page)
        words = page.evaluate(WORDS)
        seen += len(words)
        faint = [(text, contrast) for text, contrast in words if contrast < 4.5]
        assert not faint, f"{each.title}: {faint}"
    assert seen > 100
