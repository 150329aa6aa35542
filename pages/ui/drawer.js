// On a narrow screen the menu lies over the page: it shuts once a page is chosen, and when one opens.
const OPEN = '[data-testid="stSidebar"][data-collapsed="false"]'
const narrow = () => matchMedia("(max-width: 768px)").matches
const shut = () => {
  if (narrow()) document.querySelector(`${OPEN} [data-testid="stSidebarCollapseButton"] button`)?.click()
}
let opened = false

export default function () {
  if (!opened) shut()
  opened = true
  const onclick = (event) => {
    if (event.target.closest?.('[data-testid="stSidebarNavLink"]')) setTimeout(shut, 0)
  }
  document.addEventListener("click", onclick)
  return () => document.removeEventListener("click", onclick)
}
