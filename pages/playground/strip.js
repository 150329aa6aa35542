// Small pictures, one for each benchmark; a press chooses. Python hears the name.
const NS = "http://www.w3.org/2000/svg"

const dots = (points) => {
  const path = document.createElementNS(NS, "path")
  const dot = ([x, y]) => `M${x - 1} ${y}a1 1 0 1 0 2 0a1 1 0 1 0 -2 0Z`
  path.setAttribute("d", points.map(dot).join(""))
  return path
}

const card = (item) => {
  const button = document.createElement("button")
  button.type = "button"
  button.title = item.about
  const svg = document.createElementNS(NS, "svg")
  svg.setAttribute("viewBox", "0 0 64 44")
  svg.setAttribute("aria-hidden", "true")
  for (const side of ["q", "p"]) {
    const path = svg.appendChild(dots(item[side]))
    path.setAttribute("class", side)
  }
  button.append(svg, Object.assign(document.createElement("span"), { textContent: item.label }))
  return button
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const root = parentElement.querySelector(".strip > div")
  const choose = (name) => {
    for (const button of root.children) {
      const pressed = button.dataset.name === name
      button.setAttribute("aria-pressed", String(pressed))
      button.tabIndex = pressed ? 0 : -1 // one stop of Tab; arrows go on from it
    }
  }
  const items = JSON.parse(root.parentElement.dataset.items)
  if (root.children.length !== items.length) {
    root.replaceChildren(...items.map((item) => {
      const button = card(item)
      button.dataset.name = item.name
      return button
    }))
  }
  root.onclick = (event) => {
    const button = event.target.closest("button")
    if (!button || button.getAttribute("aria-pressed") === "true") return
    choose(button.dataset.name)
    setStateValue("value", button.dataset.name)
  }
  root.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    if (!by) return
    event.preventDefault()
    const all = [...root.children], at = all.indexOf(event.target.closest("button"))
    all[(at + by + all.length) % all.length].focus()
  }
  choose(data.chosen)
  const chosen = root.querySelector('[aria-pressed="true"]')
  if (chosen && !root.dataset.shown) {
    root.dataset.shown = "yes"
    root.scrollLeft = Math.max(0, chosen.offsetLeft - root.clientWidth / 2)
  }
}
