"""Addresses that nobody meant: every page draws, says what it left out, and means what it says."""

from itertools import cycle
from math import isclose
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from pages.playground import strip
from pages.ui import address, forms
from pages.ui.services import services
from tests import page_links
from tests.conftest import leave_waiting
from validation_core import BENCHMARKS, METHODS
from validation_core.explorers.playground.study import named
from validation_core.game import points
from validation_core.lessons import LESSONS

KINDS = (
    "selectbox", "select_slider", "slider", "number_input", "multiselect", "checkbox", "toggle",
    "text_input", "button_group",
)  # fmt: skip

# Addresses behind which each page has other settings.
DOORS: dict[str, list[dict[str, list[str]]]] = {
    "playground/page.py": [{}, {"benchmark": ["tree"], "view": ["trials"]}],
    "learn/page.py": [{"lesson": [lesson]} for lesson in LESSONS],
    "learn/lecture.py": [{}],
    "game/page.py": [{}, {"played": ["b"], "against": ["w"]}, {"level": ["hard"]}],
    "weak/page.py": [{}],
    "glossary.py": [{}],
    "conformal/page.py": [{}, {"along": ["m"], "view": ["scores"]}],
    "colt/page.py": [
        {},
        {"benchmark": ["tree"], "view": ["ranks"]},
        {"benchmark": ["spiral"], "view": ["training"]},
        {"dimensions": ["10x10"], "curved": ["true"], "view": ["power"]},
    ],
    "divergence/page.py": [
        {},
        {"models": ["hospitals"], "inference": ["exact"], "divergence-view": ["one"]},
        {"models": [""]},
    ],
    "train/page.py": [
        {},
        {"task": ["gaussian_linear"], "estimator": ["maf"], "simulations": ["400"]},
    ],
    "highdim/page.py": [
        {"system": [system]} for system in ("images", "digits", "sphere", "lensing")
    ],
    "compare/page.py": [
        {},
        {"comparison": ["own"], "along": ["beta"], "variants-colt": ["4"], "methods": ["colt"]},
        *(
            {"comparison": ["own"], "methods": [method], "benchmark": [benchmark]}
            for method, benchmark in zip(METHODS, cycle(BENCHMARKS), strict=False)
        ),
    ],
    "diagnose/page.py": [{}, {"source": ["gaussian"]}],
    "posteriors.py": [{}],
    "catalogue.py": [{}],
    "papers/page.py": [{}, {"show": ["numbers"]}, {"paper": ["colt"], "find": ["tree"]}],
    "models/page.py": [{}],
}  # fmt: skip

NAMES = (
    "", " ", "embed", "Embed", "embed_options", "copy-link", "strip", "address", "addresses",
    "file", "subscriber", "recent-open", "pause", "__proto__", "<b>", "a&b", "\x00", "γ", "k[]",
)  # fmt: skip
NUMBERS = (
    "0", "-0", "-0.0", "1", "+7", "7.0", "0.5", "1.5", "-1", "3e0", "1e308", "1e999", "-1e999",
    "inf", "-Infinity", "nan", "1_0", "0x10", "1e-400", "9007199254740993", "9" * 400, "1,000",
    "１２", "٣", "½", "²", " 5 ", "5.", ".5", "1e5", "1e-6", "0b1", "1j",
)  # fmt: skip
WORDS = (
    "", " ", "\t", "null", "None", "undefined", "true", "FALSE", "yes", "[object Object]", "{}",
    "<script>alert(1)</script>", "<b>x", "**x**", "[a](javascript:alert(1))", "![a](b)", "$x^2$",
    ":material/home:", ":red[a]", ":smile:", "`a", "a&b=c", "%00", "%zz", "%E4%F6", "\x00",
    "\x1b[31m", "\u202eevil", "\u200b", "\ufeff", "\n\n# x", "ß", "K", "../../etc/passwd", "😀",
    "\U0010ffff", "\ufffd", "x" * 5000, "é" * 300, "a b", "a+b", "-", "x", "2x2x2", "(1, 1)",
    "0123456789ab",
)  # fmt: skip


class Known(NamedTuple):
    """What links may say to a page: its names, and by each what its widgets offer."""

    path: str
    """The page's file, below pages/."""
    values: dict[str, list[str]]

    def __repr__(self):
        return self.path


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every page's names and values, as its settings show them; nothing is ever computed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NPTLAB_CACHE", str(tmp_path_factory.mktemp("addresses")))
        leave_waiting(patch)
        services.clear()
        known = {}
        for path, doors in DOORS.items():
            values: dict[str, list[str]] = {}
            for door in doors:
                for name, texts in offered(page_links.opened(path, door)).items():
                    values[name] = [*dict.fromkeys([*values.get(name, []), *texts])]
            known[path] = Known(path, values)
        yield known
    services.clear()


def said(page):
    """What the last run said of the page's settings: name -> texts; none for a usual value."""
    return page.session_state["address"].shown


def widgets(page):
    """Name -> widget, of the settings."""
    drawn = {}
    for kind in KINDS:
        for widget in page.get(kind):
            if widget.key in page.session_state["address"].keys:
                drawn[widget.key if widget.key in said(page) else "gamma"] = widget
    return drawn


def offered(page):
    """Name -> texts that the address may hold: what is shown, and what could be chosen."""
    texts = {name: list(values) for name, values in said(page).items()}
    for name, widget in widgets(page).items():
        options = [str(option) for option in getattr(widget, "options", ())]
        ends = [getattr(widget, end, None) for end in ("min", "max", "step")]
        texts[name] += [*options, *map(forms.name_of, options)]
        texts[name] += [f"{end:.12g}" for end in ends if isinstance(end, int | float)]
    return texts


def held(widget):
    """What a setting holds: some values."""
    value = widget.value
    return value if isinstance(value, list) else [value]


def means(text, value, name, widget):
    """Whether a link's text is a way to say this value of a widget."""
    number = address.number(text)
    if isinstance(value, bool):
        return text.casefold() == str(value).casefold()
    if isinstance(value, int | float) and number is not None:
        if name == "gamma":  # the nearest of its slider
            return isclose(number, value, rel_tol=0, abs_tol=1e-9)
        if isinstance(value, float) and widget.type in ("number_input", "slider"):
            number = float(forms.name_of(number))  # of an address's twelve digits
        return number == value
    words = getattr(widget, "format_func", str)
    return text.casefold() in (
        forms.name_of(value),
        str(value).casefold(),
        words(value).casefold(),
    )


def dropped(texts, name, widget):
    """Whether a link says something that the widget does not show."""
    texts = [text for text in (texts if isinstance(widget.value, list) else texts[-1:]) if text]
    return widget.type != "text_input" and not all(
        any(means(text, value, name, widget) for value in held(widget)) for text in texts
    )


def notes(page):
    """What the page says of its link."""
    return " ".join(caption.value for caption in page.caption if "The link says" in caption.value)


def stands(page, text):
    """Whether a slider of a chart stands where a link's text says."""
    places = [
        place
        for key, sent in page.session_state.items()
        if key.endswith("_sent")
        for place in sent[1]
    ]
    number = address.number(text)
    return number is not None and any(isclose(number, at, abs_tol=1e-5) for at in places)


def left_out(page, name, texts):
    """Whether the page cannot show what its link says under a name."""
    if (widget := widgets(page).get(name)) is not None:
        return dropped(texts, name, widget)
    if name == strip.URL:
        return texts[-1] not in ("", *named())
    if name in ("played", "against"):
        return bool(texts[-1]) and points.read(texts[-1]) is None
    return bool(texts[-1]) and not stands(page, texts[-1])


def check(page, query):
    """A page that was opened by a link draws, shows what it says, and has words for the rest."""
    assert not page.exception, query
    words = notes(page)
    for name in query.keys() & said(page).keys():
        noted = f"The link says {name} = " in words
        # Another slider may happen to stand where the link wanted this one.
        chance = noted and name not in widgets(page)
        assert chance or noted == left_out(page, name, query[name]), (name, query[name], words)


def copied(page):
    """The link that the page gives: what it shows, and what belongs to nothing that it shows."""
    others = {name: texts for name, texts in lists(page).items() if name not in said(page)}
    return others | {name: list(texts) for name, texts in said(page).items() if texts}


def shows(page):
    """What a visitor sees of the settings."""
    places = {key: sent[1] for key, sent in page.session_state.items() if key.endswith("_sent")}
    return {name: held(widget) for name, widget in widgets(page).items()}, dict(said(page)), places


def changes(widget):
    """Values that AppTest can change a setting to; none of a kind that is not changed here.

    AppTest words what a selectbox is given, words too, so that an option can be sent only if its
    words stay as they are.
    """
    if widget.type in ("checkbox", "toggle"):
        return [not widget.value]
    if widget.type == "number_input":
        low, high = widget.min, widget.max
        near = low + 1 if high is None or low + 1 <= high else high
        return [value for value in (low, near) if value != widget.value][:1]
    if widget.type == "selectbox":
        after = [*widget.options[widget.index + 1 :], *widget.options[: widget.index]]
        return [option for option in after if worded(widget, option) == option]
    return []


def worded(widget, option):
    """What AppTest would send for an option."""
    try:
        return widget.format_func(option)
    except Exception:  # as AppTest: words that are no option go as they are
        return option


def lists(page):
    """Name -> texts, of the address as it is."""
    given = dict(page.query_params)
    return {n: [text] if isinstance(text, str) else list(text) for n, text in given.items()}


def settled(page, query):
    """Name -> texts, of the address after a change: what is shown, and what is not the page's.

    A gamma that no view has drawn yet may have gone with the benchmark that it was of.
    """
    known = page.session_state["address"].known | said(page).keys()
    others = {name: texts for name, texts in query.items() if name not in known}
    if "gamma" not in lists(page):
        others.pop("gamma", None)
    return others | {name: list(texts) for name, texts in said(page).items() if texts}


@some.composite
def queries(draw, values):
    """Name -> texts: some that the page knows, some near those, some that nobody meant."""
    everything = [text for texts in values.values() for text in texts]
    names = some.sampled_from(sorted(values)) if values else some.nothing()
    query = {}
    for _ in range(draw(some.integers(1, 4))):
        name = draw(names | names | names | some.sampled_from(NAMES) | some.text(max_size=5))
        own = some.sampled_from(values.get(name) or [""])
        text = (
            own | own | own.map(str.upper) | own.map(" {} ".format) | own.map("{}0".format)
            | some.sampled_from(NUMBERS) | some.sampled_from(WORDS) | some.text(max_size=20)
            | some.floats().map(str) | some.integers().map(str)
            | some.sampled_from([*everything, ""])
        )  # fmt: skip
        query[name] = draw(some.lists(text, min_size=1, max_size=3))
    return query


@pytest.mark.parametrize("path", DOORS)
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(data=some.data())
def test_no_address_breaks_a_page(pages, path, data):
    _tried(pages[path], DOORS[path], data)


@pytest.mark.slow
@pytest.mark.parametrize("path", DOORS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(data=some.data())
def test_no_more_addresses_break_a_page(pages, path, data):
    _tried(pages[path], DOORS[path], data)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("path", DOORS)
@settings(max_examples=358, suppress_health_check=[HealthCheck.too_slow])
@given(data=some.data())
def test_no_address_of_thousands_breaks_a_page(pages, path, data):
    _tried(pages[path], DOORS[path], data)


def _tried(known, doors, data):
    query = data.draw(some.sampled_from(doors)) | data.draw(queries(known.values))
    page = page_links.opened(known.path, query)
    check(page, query)
    again = page_links.opened(known.path, query)
    assert (shows(again), notes(again)) == (shows(page), notes(page))
    link = copied(page)
    linked = page_links.opened(known.path, link)
    assert not linked.exception, link
    assert (shows(linked), notes(linked)) == (shows(page), ""), link
    changeable = [name for name, widget in widgets(page).items() if changes(widget)]
    if changeable:
        name = data.draw(some.sampled_from(changeable))
        widget = widgets(page)[name]
        widget.set_value(changes(widget)[0]).run()
        assert not page.exception, (query, name)
        assert lists(page) == settled(page, query), (query, name)
