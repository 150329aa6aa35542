"""High dimensions as a visitor uses it: every system is there, and follows its sliders."""

import pytest
from playwright.sync_api import expect

from tests.browser.driving import no_exception, until

SYSTEMS = {
    "Images": ("gamma = 0.35", "gamma = 0.37"),
    "Lensing": ("At gamma = 0.5", "At gamma = 0.6"),
    "Digits": ("With 2 of 20", "With 3 of 20"),
    "Sphere flow": ("At gamma = 0.2", "At gamma = 0.25"),
}
"""Words of the headline where gamma stands first, and one step on."""


def _headline(page):
    return page.locator(".live .headline").first


def _drawn(page):
    """Every path, and every pixel of images and maps."""
    return page.locator(".live").first.evaluate(
        """node => [...node.querySelectorAll('svg path')].map(p => p.getAttribute('d')).concat(
          [...node.querySelectorAll('canvas')].map(c => c.toDataURL()))"""
    )


@pytest.fixture
def opened(visit):
    page = visit("high-dimensions")
    expect(_headline(page)).to_contain_text("gamma = 0.35")
    return page


def test_every_system_follows_gamma_and_asks_nobody(opened, server):
    kept = server.kept("results")
    sent = []
    opened.on("websocket", lambda socket: sent.append(socket))
    for name, (first, moved) in SYSTEMS.items():
        opened.get_by_role("radio", name=name).click()
        expect(_headline(opened)).to_contain_text(first)
        before = _drawn(opened)
        opened.locator(".live input[type=range]").first.evaluate(
            "node => { node.value = Number(node.value) + 1;"
            " node.dispatchEvent(new Event('input')) }"
        )
        expect(_headline(opened)).to_contain_text(moved)
        assert until(lambda before=before: _drawn(opened) != before)
        no_exception(opened)
    assert server.kept("results") == kept
    assert not sent


def test_the_corrupted_images_are_those_of_the_slider(opened):
    """At gamma 0 what was done to them is nothing: its row is one grey."""
    grey = """node => {
      const canvas = node.querySelectorAll('canvas')
      return [...canvas].some(c => {
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
        for (let i = 0; i < d.length; i += 4)
          if (d[i] !== d[i + 1] || d[i] !== d[0] || d[i + 3] !== 255) return false
        return true
      })
    }"""
    live = opened.locator(".live").first
    assert not live.evaluate(grey)
    opened.locator(".live input[type=range]").first.evaluate(
        "node => { node.value = 0; node.dispatchEvent(new Event('input')) }"
    )
    expect(_headline(opened)).to_contain_text("gamma = 0 ")
    assert until(lambda: live.evaluate(grey))


def test_a_link_opens_a_system_at_its_gamma(visit):
    page = visit("high-dimensions?system=Sphere+flow&gamma=0.4&beta=1")
    expect(_headline(page)).to_contain_text("At gamma = 0.4 and beta = 1 ")
    no_exception(page)


def test_what_is_not_here_says_how_to_get_it(visit):
    page = visit("high-dimensions?images=CIFAR-10")
    expect(page.get_by_text("NPTLAB_CIFAR10")).to_be_visible()
    no_exception(page)
