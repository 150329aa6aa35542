"""What a link says is repeated as text: it becomes no link of ours."""

import re

import pytest

from pages.ui import address

# What Streamlit's front end makes links of in plain text (GitHub's Markdown).
LINKS = re.compile(r"https?://|www\.|[\w.+-]@[\w-]", re.IGNORECASE)


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.example/login", "HTTP://evil.example", "www.evil.example", "WWW.x.example",
        "me@evil.example", "mailto:me@evil.example", "[here](https://evil.example)",
        "<https://evil.example>", "![x](https://evil.example/x.png)", "xmpp:a@b.example",
    ],
)  # fmt: skip
def test_an_address_in_a_link_is_no_link_in_our_note(text):
    note = address.unknown("seed", text)
    shown = re.sub(r"\\(.)", r"\1", note)
    assert not LINKS.search(shown), shown
    assert shown.replace("\u2060", "").startswith(f"The link says seed = {text}, which")
    assert not re.search(r"(?<!\\)[\[<]", note)
