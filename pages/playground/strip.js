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
      button.setAttribute("aria-pressed", String(button.dataset.name === name))
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
  choose(data.chosen)
  const chosen = root.querySelector('[aria-pressed="true"]')
  if (chosen && !root.dataset.shown) {
    root.dataset.shown = "yes"
    root.scrollLeft = Math.max(0, chosen.offsetLeft - root.clientWidth / 2)
  }
}
