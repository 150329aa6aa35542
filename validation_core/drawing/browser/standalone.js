// The whole of an HTML file that runs without a server: one live chart after another, by arrows.
// `draw` is what the other scripts export.
const packed = JSON.parse(document.getElementById("scenes").textContent)
const stage = document.getElementById("stage"), steps = document.getElementById("steps")

const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

// #2:0.5,1 is the third scene, its sliders at 0.5 and 1.
const linked = () => {
  const [, scene, values] = location.hash.match(/^#(\d+):(-?[\d.e+-]+(?:,-?[\d.e+-]+)*)$/) ?? []
  const index = Number(scene ?? 0)
  const at = values?.split(",").map(Number)
  const sound = index < packed.length && (at ?? []).every(Number.isFinite)
  return sound ? { index, at } : { index: 0 }
}
let shown = -1, end = null
const show = async (index, at) => {
  const data = await unpacked(packed[index].message)
  end?.()
  shown = index
  const parentElement = document.createElement("div")
  parentElement.append(Object.assign(document.createElement("div"), { className: "live" }))
  stage.replaceChildren(parentElement)
  const setStateValue = (name, values) => history.replaceState(null, "", `#${index}:${values.join()}`)
  end = draw({ data, at, parentElement, setStateValue })
  for (const [i, button] of [...steps.children].entries()) {
    i === index ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current")
  }
}

if (packed.length > 1) packed.forEach(({ title }, i) => {
  const button = Object.assign(document.createElement("button"), { type: "button" })
  button.textContent = title
  button.onclick = () => { history.replaceState(null, "", `#${i}:0`); show(i, packed[i].at) }
  steps.append(button)
})
document.addEventListener("keydown", (event) => {
  const onSlider = event.composedPath()[0] instanceof HTMLInputElement
  const by = { PageDown: 1, PageUp: -1, ArrowRight: onSlider ? 0 : 1, ArrowLeft: onSlider ? 0 : -1 }
  const to = shown + (by[event.key] || 0)
  if (packed.length < 2 || to === shown || !packed[to]) return
  event.preventDefault()
  steps.children[to].click()
})
const theme = document.getElementById("theme")
const dark = () => document.documentElement.dataset.theme
  ? document.documentElement.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches
const face = () => { theme.textContent = dark() ? "Light" : "Dark" }
theme.onclick = () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; face() }
face()
const first = linked()
show(first.index, first.at ?? packed[first.index].at)
