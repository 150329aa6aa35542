"""Opens a page of the dashboard by a link, as a new session does."""

from functools import cache

from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT

MAIN = str(ROOT / "pages" / "main.py")


@cache
def script(path):
    """What Streamlit calls the page of this file."""
    return AppTest.from_file(MAIN, default_timeout=120).run().switch_page(path)._page_hash


def opened(path, query):
    """A new session's first run, at the page of this file with these words behind `?`."""
    page = AppTest.from_file(MAIN, default_timeout=120)
    page.query_params.update(query)
    page._page_hash = script(path)
    return page.run()
