// The bar of present mode: scenes of a story by buttons, arrows and a presenter's remote; theme,
// begin anew, leave.
const NAMES = ["present", "story", "scene"]
// Charts that live.js does not draw are seen larger, as it has its own, and follow the window.
const ROOM = [1280, 720], NEARER = 1.35
const enlarge = () => {
  const hall = Math.max(1, Math.min(innerWidth / ROOM[0], innerHeight / ROOM[1]))
  document.documentElement.style.setProperty("--nearer", NEARER * hall)
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".bar")
  const button = (words, label, press) => {
    const node = Object.assign(document.createElement("button"), { type: "button", textContent: words })
    if (label) node.setAttribute("aria-label", label)
    node.onclick = press
    root.append(node)
    return node
  }
  const turn = (by) => {
    if (data.index + by >= 0 && data.index + by < data.count) setTriggerValue("turn", by)
  }
  root.replaceChildren()
  if (data.count) {
    button("\u2190", "Scene before", () => turn(-1)).disabled = data.index === 0
    const where = document.createElement("span")
    where.textContent = `${data.index + 1} of ${data.count} \u00b7 ${data.title}`
    root.append(where)
    button("\u2192", "Next scene", () => turn(1)).disabled = data.index === data.count - 1
  }
  const parts = getComputedStyle(parentElement.querySelector(".bar")).color.match(/[\d.]+/g).map(Number)
  const dark = (parts[0] + parts[1] + parts[2]) / 3 > (parts.some((v) => v > 1) ? 127 : 0.5)
  button(dark ? "Light" : "Dark", "", () => {
    // Where Streamlit's front end keeps the reader's choice, for each path.
    localStorage.setItem(`stActiveTheme-${location.pathname}-v2`, JSON.stringify(dark ? "Light" : "Dark"))
    location.reload()
  })
  button("Reset", "", () => { location.search = data.anew })
  button("Leave", "", () => {
    const link = new URL(location.href)
    for (const name of NAMES) link.searchParams.delete(name)
    location.href = link.href
  })
  const onkey = (event) => {
    const inField = event.composedPath()[0] instanceof HTMLInputElement
    const by = { PageDown: 1, PageUp: -1, ArrowRight: inField ? 0 : 1, ArrowLeft: inField ? 0 : -1 }
    if (!data.count || !by[event.key] || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    turn(by[event.key])
  }
  document.addEventListener("keydown", onkey)
  window.addEventListener("resize", enlarge)
  enlarge()
  return () => {
    document.removeEventListener("keydown", onkey)
    window.removeEventListener("resize", enlarge)
  }
}
