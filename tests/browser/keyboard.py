"""A page as one goes through it by keyboard: every control is reached, seen, and left again."""

from __future__ import annotations

from playwright.sync_api import Page

_MOST = 300  # stops of a page

# What is focused, where its look is compared before and after, and what could be focused.
_TOOLS = """() => {
  const deep = (root, all = []) => {
    for (const node of root.querySelectorAll('*')) {
      all.push(node)
      if (node.shadowRoot) deep(node.shadowRoot, all)
    }
    return all
  }
  const active = () => {
    let node = document.activeElement
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement
    return node
  }
  const above = (node) => node.parentElement ?? node.getRootNode().host
  const look = (node) => {
    const all = []
    for (let i = 0; node && i < 10; i++, node = above(node)) {
      const { outlineStyle, outline, boxShadow, borderColor } = getComputedStyle(node)
      all.push(outlineStyle === 'none' ? '' : outline, boxShadow, borderColor)
    }
    return all.join()
  }
  const named = (node) => `${node.tagName.toLowerCase()} ${
    (node.ariaLabel || node.innerText || node.id).slice(0, 40)}`
  const stops = () => deep(document.querySelector('[data-testid=stMain]')).filter((node) =>
    node.matches('a[href], button, input, select, textarea, summary, [tabindex]')
    && node.tabIndex >= 0 && !node.disabled && node.role !== 'radio' && node.type !== 'radio'
    && node.type !== 'file' && node.checkVisibility({ visibilityProperty: true })
    && node.getBoundingClientRect().width > 0)
  window.keyboard = { active, look, named, stops, seen: new Set(), last: null }
}"""
_NEXT = """() => {
  const k = window.keyboard, node = k.active(), problems = []
  if (k.last && k.last[0].isConnected && k.look(k.last[0]) === k.last[1])
    problems.push(`without a ring: ${k.named(k.last[0])}`)
  if (!node || node === document.body || k.seen.has(node)) return [true, problems]
  const { top, bottom } = node.getBoundingClientRect()
  if (bottom < 0 || top > innerHeight) problems.push(`out of sight: ${k.named(node)}`)
  k.seen.add(node)
  // A table's cells are rung in its canvas.
  k.last = node.matches('canvas, td, th') ? null : [node, k.look(node)]
  return [false, problems]
}"""
_MISSED = """() => window.keyboard.stops().filter((node) => !window.keyboard.seen.has(node))
  .map((node) => `not reached: ${window.keyboard.named(node)}`)"""


def keyboard_problems(page: Page) -> list[str]:
    """What Tab does not reach of a page, leaves without a ring, or never leaves."""
    page.locator("[data-testid=stSidebarNavLink]").last.focus()
    page.evaluate(_TOOLS)
    problems: list[str] = []
    for _ in range(_MOST):
        page.keyboard.press("Tab")
        ended, found = page.evaluate(_NEXT)
        problems += found
        if ended:
            return problems + page.evaluate(_MISSED)
    return [*problems, "no end"]


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has this name, or a part of it, is focused."""
    page.evaluate(_TOOLS)
    for _ in range(_MOST):
        page.keyboard.press("Tab")
        if name in page.evaluate("() => window.keyboard.named(window.keyboard.active())"):
            return
    raise AssertionError(f"Tab does not reach {name}")
