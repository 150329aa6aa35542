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
    node.matches('a[href], button, input, select, textarea, summary, div[tabindex]')
    && node.tabIndex >= 0 && !node.disabled && node.role !== 'radio' && node.type !== 'radio'
    && node.type !== 'file' && node.checkVisibility({ visibilityProperty: true })
    && node.getBoundingClientRect().width > 0)
  window.keyboard = { active, look, named, stops, seen: new Map(), fade: 300 }
}"""
# A table's cells share one stop, and are rung in its canvas; a field's border fades in and out.
_NEXT = """async () => {
  const k = window.keyboard, node = k.active(), cell = node?.matches('canvas, td, th')
  if (!node || node === document.body || (k.seen.has(node) && !cell)) return [true, []]
  const { top, bottom } = node.getBoundingClientRect()
  if (node.matches('input')) await new Promise((done) => setTimeout(done, k.fade))
  k.seen.set(node, cell ? null : k.look(node))
  return [false, bottom < 0 || top > innerHeight ? [`out of sight: ${k.named(node)}`] : []]
}"""
# Within a toolbar arrows go on from its one stop.
_AFTERWARDS = """async () => {
  const { seen, stops, named, look, fade } = window.keyboard
  const same = ([node, ringed]) => ringed && node.isConnected && look(node) === ringed
  const bars = [...seen.keys()].map((node) => node.closest('[role=toolbar]')).filter(Boolean)
  document.activeElement.blur()
  await new Promise((done) => setTimeout(done, fade))
  return [...seen].filter(same).map(([node]) => `without a ring: ${named(node)}`)
    .concat(stops().filter((node) => !seen.has(node) && !bars.some((bar) => bar.contains(node)))
      .map((node) => `not reached: ${named(node)}`))
}"""


def keyboard_problems(page: Page) -> list[str]:
    """What Tab does not reach of a page, leaves without a ring, or never leaves.

    A page that drew a control anew while Tab went by has one that was not reached: it is looked
    at twice before anything is said.
    """
    return _problems(page) and _problems(page)


def _problems(page: Page) -> list[str]:
    page.locator("[data-testid=stSidebarNavLink]").last.focus()
    page.evaluate(_TOOLS)
    problems: list[str] = []
    for _ in range(_MOST):
        page.keyboard.press("Tab")
        ended, found = page.evaluate(_NEXT)
        problems += found
        if ended:
            return problems + page.evaluate(_AFTERWARDS)
    return [*problems, "no end"]


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has this name, or a part of it, is focused."""
    page.evaluate(_TOOLS)
    for _ in range(_MOST):
        page.keyboard.press("Tab")
        if name in page.evaluate("() => window.keyboard.named(window.keyboard.active())"):
            return
    raise AssertionError(f"Tab does not reach {name}")
