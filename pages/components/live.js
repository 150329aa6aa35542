// Draws the payload of live.py: every mark is one SVG path whose `d` is set anew when one of its
// sliders moves. Python hears of a value on release only.
const NS = "http://www.w3.org/2000/svg"
const charts = new WeakMap()

const make = (parent, name, attributes = {}) => {
  const node = document.createElementNS(NS, name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
  return parent.appendChild(node)
}
const html = (parent, name, className = "", text = "") => {
  const node = document.createElement(name)
  if (className) node.className = className
  node.textContent = text
  return parent.appendChild(node)
}

// Message: length of the JSON, the JSON, then all numbers as float32.
const read = (bytes) => {
  const copy = bytes.slice()
  const length = new DataView(copy.buffer).getUint32(0, true)
  const head = JSON.parse(new TextDecoder().decode(copy.subarray(4, 4 + length)))
  return { ...head, numbers: new Float32Array(copy.buffer, 4 + length) }
}

// The part of a packed array that belongs to the sliders' present places.
const pick = (chart, packed) => {
  if (packed === null || packed === undefined || packed.first === undefined) return packed
  const size = packed.shape.slice(packed.by.length).reduce((a, b) => a * b, 1)
  let place = 0
  packed.by.forEach((s, i) => { place = place * packed.shape[i] + chart.at[s] })
  const first = packed.first + place * size
  return chart.numbers.subarray(first, first + size)
}
const number = (chart, packed, otherwise = 0) => {
  if (packed === null || packed === undefined) return otherwise
  return typeof packed === "number" ? packed : pick(chart, packed)[0]
}
const words = (chart, value) => {
  if (!value) return ""
  if (typeof value === "string") return value
  if (value.strings) return value.strings[pick(chart, value)[0]]
  return value.template.replace(/\{(\w+)\}/g, (_, name) => words(chart, value.parts[name]))
}
// Which sliders a description depends on.
const sliders = (value, found = new Set()) => {
  if (value && typeof value === "object") {
    if (Array.isArray(value.by)) value.by.forEach((s) => found.add(s))
    Object.values(value).forEach((item) => sliders(item, found))
  }
  return found
}

const ticks = (low, high, count) => {
  const raw = (high - low) / Math.max(1, count)
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = power * [1, 2, 2.5, 5, 10].find((k) => k * power >= raw * 0.999)
  const out = []
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) out.push(v)
  return out
}
const written = (v, axis, i) => {
  if (axis.shown) return axis.shown[i]
  const shown = axis.percent ? v * 100 : v
  const text = String(Math.round(shown * 1000) / 1000).replace("-", "\u2212")
  return axis.percent ? text + "%" : text
}

const scales = (panel, width) => {
  const plain = panel.y.hidden ? 8 : 44
  const box = { left: plain, right: width - 8 - panel.margin,
    top: panel.y.label ? 26 : 18, bottom: panel.height - 38 }
  let [x0, x1] = panel.x.limits
  let [y0, y1] = panel.y.limits
  let kx = (box.right - box.left) / (x1 - x0)
  let ky = (box.bottom - box.top) / (y1 - y0)
  if (panel.equal) { // show more of the roomier axis rather than stretch it
    const k = Math.min(kx, ky)
    const dx = (box.right - box.left) / k - (x1 - x0)
    const dy = (box.bottom - box.top) / k - (y1 - y0)
    x0 -= dx / 2; x1 += dx / 2; y0 -= dy / 2; y1 += dy / 2
    kx = ky = k
  }
  return { ...box, x0, x1, y0, y1,
    x: (v) => box.left + (v - x0) * kx, y: (v) => box.bottom - (v - y0) * ky }
}

// A little of the text's colour: brighter on a dark page, deeper on a light one.
const paint = (color) => color ? `color-mix(in srgb, ${color} 86%, var(--st-text-color))` : ""

const f = (v) => v.toFixed(1)
const polyline = (s, xs, ys, shift = 0) => {
  let d = "", pen = "M"
  for (let i = 0; i < ys.length; i++) {
    if (Number.isNaN(ys[i]) || Number.isNaN(xs[i])) { pen = "M"; continue }
    d += pen + f(s.x(xs[i] + shift)) + " " + f(s.y(ys[i]))
    pen = "L"
  }
  return d
}
const shapes = {
  bars(chart, s, mark) {
    const edges = pick(chart, mark.x), heights = pick(chart, mark.y)
    const shift = number(chart, mark.shift), floor = f(s.y(0))
    let d = ""
    for (let i = 0; i < heights.length; i++) {
      if (!(heights[i] > 0)) continue
      const left = s.x(edges[i] + shift) + 0.5 // a hair of paper between the bars
      const right = s.x(edges[i + 1] + shift) - 0.5
      d += `M${f(left)} ${floor}V${f(s.y(heights[i]))}H${f(Math.max(right, left + 0.5))}V${floor}Z`
    }
    return d
  },
  line: (chart, s, mark) =>
    polyline(s, pick(chart, mark.x), pick(chart, mark.y), number(chart, mark.shift)),
  band(chart, s, mark) {
    let xs = pick(chart, mark.x), low = pick(chart, mark.y), high = pick(chart, mark.high)
    if (low.length === xs.length - 1) { // steps between edges
      const twice = (a) => Float32Array.from({ length: 2 * a.length }, (_, i) => a[i >> 1])
      xs = twice(xs).subarray(1, 2 * xs.length - 1); low = twice(low); high = twice(high)
    }
    const back = polyline(s, xs.slice().reverse(), low.slice().reverse())
    return low.length ? polyline(s, xs, high) + back.replace("M", "L") + "Z" : ""
  },
  points(chart, s, mark) {
    const xs = pick(chart, mark.x), ys = pick(chart, mark.y)
    const low = pick(chart, mark.low), high = pick(chart, mark.high)
    const r = mark.size / 2
    let d = ""
    for (let i = 0; i < ys.length; i++) {
      if (Number.isNaN(ys[i]) || Number.isNaN(xs[i])) continue
      const x = s.x(xs[i]), y = s.y(ys[i])
      if (mark.symbol === "square") d += `M${f(x - r)} ${f(y - r)}h${2 * r}v${2 * r}h${-2 * r}Z`
      else if (mark.symbol === "diamond") {
        const q = r * 1.3
        d += `M${f(x)} ${f(y - q)}l${q} ${q}l${-q} ${q}l${-q} ${-q}Z`
      } else d += `M${f(x - r)} ${f(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`
      if (!low || !high) continue
      d += `M${f(x - 0.6)} ${f(s.y(low[i]))}V${f(s.y(high[i]))}h1.2V${f(s.y(low[i]))}Z`
    }
    return d
  },
  vline: (chart, s, mark) => `M${f(s.x(number(chart, mark.x)))} ${s.top}V${s.bottom}`,
  hline: (chart, s, mark) => `M${s.left} ${f(s.y(number(chart, mark.y)))}H${s.right}`,
  note: () => "",
}

// Where a mark's label stands: [x, y, anchor].
const labelled = {
  line(chart, s, mark) {
    const xs = pick(chart, mark.x), ys = pick(chart, mark.y)
    let last = ys.length - 1
    while (last > 0 && Number.isNaN(ys[last])) last--
    return [s.x(xs[last]) + 6, s.y(ys[last]) + 4, "start"]
  },
  vline: (chart, s, mark) => [s.x(number(chart, mark.x)), s.top - 5, "middle"],
  hline: (chart, s, mark) => [s.right, s.y(number(chart, mark.y)) - 5, "end"],
  note: (chart, s, mark) => [s.x(number(chart, mark.x)), s.y(number(chart, mark.y)), mark.anchor],
}
const labelPlace = (chart, s, mark) => {
  if (mark.at) {
    const at = pick(chart, mark.at)
    return [s.x(at[0]), s.y(at[1]), "start"]
  }
  const place = labelled[mark.kind]
  return place ? place(chart, s, mark) : [s.left + 6, s.top + 12, "start"]
}

const frame = (svg, panel, s, width) => {
  const group = make(svg, "g")
  const line = (x1, y1, x2, y2, name) => make(group, "line", { x1, y1, x2, y2, class: name })
  const put = (x, y, text, name, anchor) => {
    const node = make(group, "text", { x: f(x), y: f(y), class: name, "text-anchor": anchor })
    node.textContent = text
  }
  if (!panel.y.hidden) {
    for (const [i, v] of (panel.y.ticks ?? ticks(s.y0, s.y1, 4)).entries()) {
      line(s.left, s.y(v), s.right, s.y(v), "grid")
      put(s.left - 6, s.y(v) + 4, written(v, panel.y, i), "tick", "end")
    }
    put(0, 10, panel.y.label, "axis", "start")
  }
  if (!panel.x.hidden) {
    for (const [i, v] of (panel.x.ticks ?? ticks(s.x0, s.x1, width / 80)).entries()) {
      put(s.x(v), s.bottom + 15, written(v, panel.x, i), "tick", "middle")
    }
  }
  put((s.left + s.right) / 2, s.bottom + 32, panel.x.label, "axis", "middle")
  line(s.left, s.bottom, s.right, s.bottom, "base")
}

// One panel's nodes, made for a width; returns what redraws the marks of some sliders.
const draw = (chart, panel) => {
  const width = Math.max(200, panel.node.clientWidth)
  panel.svg.setAttribute("viewBox", `0 0 ${width} ${panel.height}`)
  panel.svg.setAttribute("height", panel.height)
  panel.svg.replaceChildren()
  const s = scales(panel, width)
  frame(panel.svg, panel, s, width)
  const clip = make(panel.svg, "clipPath", { id: panel.id })
  make(clip, "rect", { x: s.left, y: s.top - 1, width: Math.max(0, s.right - s.left),
    height: s.bottom - s.top + 2 })
  const marks = make(panel.svg, "g", { "clip-path": `url(#${panel.id})` })
  const labels = make(panel.svg, "g")
  panel.drawn = panel.marks.map((mark) => {
    const filled = ["bars", "band", "points"].includes(mark.kind)
    const look = filled ? { style: `fill:${paint(mark.color)}`, "fill-opacity": mark.opacity }
      : { fill: "none", "stroke-width": mark.width ?? 1, "stroke-dasharray": mark.dash || "none",
          "stroke-linejoin": "round", "stroke-opacity": mark.opacity ?? 1,
          style: mark.color ? `stroke:${paint(mark.color)}` : "", class: "own" }
    const path = make(marks, "path", look)
    const tint = mark.color ? `fill:${paint(mark.color)}` : ""
    const label = mark.label ? make(labels, "text", { class: "mark", style: tint }) : null
    const by = sliders(mark)
    const set = () => {
      path.setAttribute("d", shapes[mark.kind](chart, s, mark))
      if (!label) return
      const [x, y, anchor] = labelPlace(chart, s, mark)
      label.setAttribute("x", f(x)); label.setAttribute("y", f(y))
      label.setAttribute("text-anchor", anchor)
      label.textContent = words(chart, mark.label)
    }
    set()
    return { by, set, label, mark }
  })
  apart(panel, s)
}
// Labels at the ends of lines are pushed apart, keeping their order.
const apart = (panel, s) => {
  const ends = panel.drawn.filter((item) => item.label && item.mark.kind === "line")
    .map((item) => ({ node: item.label, y: Number(item.label.getAttribute("y")) }))
    .sort((a, b) => a.y - b.y)
  for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + 14)
  let floor = s.bottom + 2
  for (let i = ends.length - 1; i >= 0; i--) {
    ends[i].y = Math.min(ends[i].y, floor)
    floor = ends[i].y - 14
    ends[i].node.setAttribute("y", f(ends[i].y))
  }
  panel.scale = s
}

const say = (chart) => {
  chart.sliders.forEach((slider, i) => {
    const shown = slider.shown[chart.at[i]]
    slider.output.textContent = shown
    const part = chart.at[i] / Math.max(1, slider.values.length - 1)
    slider.input.style.setProperty("--fill", `${100 * part}%`)
    slider.input.setAttribute("aria-valuetext", shown)
  })
  for (const item of chart.texts) item.node.textContent = words(chart, item.value)
}
const redraw = (chart, moved) => {
  for (const panel of chart.panels) {
    let any = false
    for (const item of panel.drawn) if (item.by.has(moved)) { item.set(); any = true }
    if (any) apart(panel, panel.scale)
  }
  say(chart)
  chart.redraws += 1
  chart.root.dataset.redraws = chart.redraws
}

const control = (chart, parent, slider, index) => {
  const box = html(parent, "div")
  const id = `s${index}`
  const label = html(box, "label")
  label.htmlFor = id
  html(label, "span", "", slider.label)
  slider.output = html(label, "output")
  const input = slider.input = box.appendChild(document.createElement("input"))
  Object.assign(input, { type: "range", id, min: 0, max: slider.values.length - 1, step: 1 })
  input.value = chart.at[index]
  input.setAttribute("aria-label", slider.label)
  if (slider.ends[0] || slider.ends[1]) {
    const ends = html(box, "div", "ends")
    slider.ends.forEach((words) => html(ends, "span", "", words))
  }
  let frameAsked = 0, keyed = false, waiting = 0
  input.oninput = () => {
    chart.at[index] = Number(input.value)
    frameAsked ||= requestAnimationFrame(() => { frameAsked = 0; redraw(chart, index) })
  }
  input.onkeydown = () => { keyed = true }
  input.onpointerdown = () => { keyed = false }
  input.onchange = () => { // a held arrow key reports once, when it rests
    clearTimeout(waiting)
    const send = () => chart.tell(chart.sliders.map((s, i) => s.values[chart.at[i]]))
    waiting = setTimeout(send, keyed ? 150 : 0)
  }
}

const nearest = (grid, value) =>
  grid.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(grid[best] - value) ? i : best), 0)

const build = (chart, root) => {
  root.replaceChildren()
  chart.root = root
  chart.texts = []
  const follow = (node, value) => { if (value) chart.texts.push({ node, value }) }
  if (chart.headline) {
    const node = html(root, "p", "headline")
    node.setAttribute("aria-live", "polite")
    follow(node, chart.headline)
  }
  const controls = html(root, "div", "sliders")
  chart.sliders.forEach((slider, i) => control(chart, controls, slider, i))
  const panels = html(root, "div", "panels")
  panels.style.setProperty("--columns", chart.columns)
  chart.panels.forEach((panel, i) => {
    panel.node = html(panels, "figure")
    if (panel.title) follow(html(panel.node, "h4"), panel.title)
    panel.svg = make(panel.node, "svg", { role: "img" })
    panel.svg.setAttribute("aria-label", words(chart, panel.title) || panel.y.label)
    if (panel.caption) follow(html(panel.node, "figcaption"), panel.caption)
    panel.id = `clip${i}`
  })
  chart.panels.forEach((panel) => draw(chart, panel)) // only now have all of them their width
  say(chart)
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const root = parentElement.querySelector(".live")
  const tell = (values) => setStateValue("value", values)
  let chart = charts.get(parentElement)
  const sent = read(data)
  const asked = sent.digest + sent.at.join()
  if (chart && chart.asked === asked && chart.root === root) {
    chart.tell = tell
  } else {
    // Where only the payload is new, the sliders stay where the reader has put them.
    const stay = chart && chart.sliders.length === sent.sliders.length
    const values = stay ? chart.sliders.map((s, i) => s.values[chart.at[i]]) : sent.at
    const at = sent.sliders.map((s, i) => nearest(s.values, values[i]))
    chart?.observer.disconnect()
    chart = { ...sent, at, asked, tell, redraws: 0 }
    build(chart, root)
    const built = chart
    let width = root.clientWidth
    chart.observer = new ResizeObserver(() => {
      if (root.clientWidth === width) return
      width = root.clientWidth
      built.panels.forEach((panel) => draw(built, panel))
    })
    chart.observer.observe(root)
    charts.set(parentElement, chart)
  }
  return () => { charts.get(parentElement)?.observer.disconnect(); charts.delete(parentElement) }
}
