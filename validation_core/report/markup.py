"""HTML by the templates of this package; every value that is not markup itself is escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_TEMPLATES = Environment(
    loader=PackageLoader(__package__),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: object) -> Markup:
    """The template of this name, filled in, without blank ends."""
    return Markup(_TEMPLATES.get_template(f"{template}.html").render(values).strip())
