"""Every page as axe-core finds it, both themes, wide and narrow: nothing serious or critical.

In the light and on a wide window test_frame.py looks at every page, on its way through the menu,
and test_diagnose.py at a diagnosis that is dark and narrow.
"""

import pytest

from tests.browser.accessibility import faint, serious, words_in_pictures
from tests.browser.driving import npz, registered_pages, settled, shown

SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 400, "height": 800}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("theme", "size"), [("light", "narrow"), ("dark", "wide"), ("dark", "narrow")]
)
def test_no_page_has_what_is_serious(visit, server, theme, size):
    page = visit(color_scheme=theme, viewport=SIZES[size])
    problems, words = [], []
    for each in registered_pages():
        page.goto(f"{server.url}/{each.path}")
        settled(page)
        problems += [f"{each.title}: {problem}" for problem in serious(page)]
        words += [(f"{each.title}: {text}", x) for text, x in words_in_pictures(page)]
    assert not problems, "\n".join(problems)
    assert not faint(words)
    assert len(words) > 100


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_diagnosis_has_what_is_serious(visit, wrong, theme):
    page = visit("diagnose", color_scheme=theme, viewport=SIZES["wide"])
    page.locator("input[type=file]").set_input_files(npz(wrong))
    shown(page.get_by_text("Loaded 100 simulations"))
    shown(page.get_by_role("button", name="Report", exact=True))
    for line in page.locator("[class*=st-key-line-] summary").all():
        line.click()
        settled(page)
    assert not serious(page)
    assert not faint(words_in_pictures(page))
    charts = page.get_by_test_id("stPlotlyChart").locator("[aria-label], [alt]")
    assert charts.count() > 5
