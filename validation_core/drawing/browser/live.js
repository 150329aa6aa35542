// Draws the payload of live.py: every mark is one SVG path whose `d` is set anew when one of its
// sliders moves. Python hears of a value on release only. The other files here are parts of the
// same module; lesson.js stands around a chart where its payload is a lesson.
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

// Written only where it is another: the browser lays out anew whatever is written.
const change = (node, name, value) => {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value)
}
const say = (node, text) => { if (node.textContent !== text) node.textContent = text }

// Message: length of the JSON, the JSON, then all numbers: float32, or bytes where they are small,
// or steps from a middle, of 16 bits or in bytes.
const read = (bytes) => {
  const copy = bytes.slice()
  const length = new DataView(copy.buffer).getUint32(0, true)
  const head = JSON.parse(new TextDecoder().decode(copy.subarray(4, 4 + length)))
  const from = 4 + length // a multiple of 4, as is the body's length
  return { ...head, numbers: { 1: new Int8Array(copy.buffer, from),
    2: new Int16Array(copy.buffer, from), 4: new Float32Array(copy.buffer, from) } }
}

// The part of a packed array that belongs to the sliders' present places.
const pick = (chart, packed) => {
  if (packed === null || packed === undefined || packed.first === undefined) return packed
  const size = packed.shape.slice(packed.by.length).reduce((a, b) => a * b, 1)
  let place = 0
  packed.by.forEach((s, i) => { place = place * packed.shape[i] + chart.at[s] })
  const first = packed.first + place * size
  const part = chart.numbers[packed.bytes ?? 4].subarray(first, first + size)
  if (packed.step === undefined) return part
  const nothing = packed.bytes === 1 ? -128 : -32768
  return Float32Array.from(part, (v) => v === nothing ? NaN : packed.middle + v * packed.step)
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
const longest = (value) => {
  if (!value || typeof value === "string") return value || ""
  if (value.strings) return value.strings.reduce((a, b) => (b.length > a.length ? b : a), "")
  return value.template.replace(/\{(\w+)\}/g, (_, name) => longest(value.parts[name]))
}
// Which sliders a description depends on.
const sliders = (value, found = new Set()) => {
  if (value && typeof value === "object") {
    if (Array.isArray(value.by)) value.by.forEach((s) => found.add(s))
    Object.values(value).forEach((item) => sliders(item, found))
  }
  return found
}

// One panel's nodes, made for a width; returns what redraws the marks of some sliders.
const draw = (chart, panel) => {
  const zoom = zoomed()
  panel.width = panel.node.clientWidth
  const width = Math.max(panel.small ? 80 : 150, panel.width / zoom)
  const s = scales(panel, width, zoom)
  panel.svg.setAttribute("viewBox", `0 0 ${width} ${s.height}`)
  panel.svg.setAttribute("height", zoom * s.height)
  panel.svg.replaceChildren()
  panel.under.replaceChildren()
  const px = (value) => `${value}px`
  Object.assign(panel.under.style, { left: px(zoom * s.left), top: px(zoom * s.top),
    width: px(s.right - s.left), height: px(s.bottom - s.top), transform: `scale(${zoom})` })
  frame(panel.svg, panel, s, width)
  const clip = make(panel.svg, "clipPath", { id: panel.id })
  make(clip, "rect", { x: s.left, y: s.top - 1, width: Math.max(0, s.right - s.left),
    height: s.bottom - s.top + 2 })
  const marks = make(panel.svg, "g", { "clip-path": `url(#${panel.id})` })
  const labels = make(panel.svg, "g")
  const colored = panel.marks.some((mark) => ["heat", "image"].includes(mark.kind))
  panel.drawn = panel.marks.map((mark) => {
    const by = mark.kind === "rain" ? rainSliders(mark) : sliders(mark)
    const under = { heat, image: photograph }[mark.kind]
    if (under) {
      const set = under(chart, panel, s, mark)
      set()
      return { by, set, mark }
    }
    const filled = ["bars", "band", "points", "rain"].includes(mark.kind) && !STROKED.includes(mark.symbol)
    const own = mark.color ? `stroke:${paint(mark.color)};` : ""
    const look = filled ? { style: `fill:${paint(mark.color) || "currentColor"}`, "fill-opacity": mark.opacity }
      : { "stroke-width": mark.width ?? 1.6, "stroke-dasharray": mark.dash || "none",
          "stroke-linejoin": "round", "stroke-opacity": mark.opacity ?? 1, class: "own",
          "fill-rule": "evenodd", "fill-opacity": mark.fill || 0,
          style: mark.fill ? `${own}fill:${paint(mark.color)}` : `${own}fill:none` }
    const halo = colored && mark.kind === "points" && make(marks, "path", { class: "halo" })
    const path = make(marks, "path", look)
    const ink = mark.color ? `fill:${inked(mark.color)}` : ""
    const label = mark.label ? make(labels, "text", { class: "mark", style: ink }) : null
    const ended = mark.kind === "line" || (mark.kind === "hline" && panel.margin > 0)
    const lead = label && ended ? make(labels, "path", { style: `${own}fill:none`, "stroke-opacity": 0.6 }) : null
    const item = { by, label, lead, mark }
    item.set = () => {
      const d = shapes[mark.kind](chart, s, mark)
      change(path, "d", d)
      if (halo) change(halo, "d", d)
      if (!label) return
      const [x, y, anchor] = labelPlace(chart, s, mark)
      const there = Number.isFinite(x + y) // a line of which no point is there has no label
      const text = words(chart, mark.label)
      const keyed = panel.legend.some((key) => words(chart, key.label) === text)
      say(label, there && !keyed ? text : "")
      if (!there) return
      change(label, "text-anchor", lead ? "start" : anchor)
      if (lead) { item.end = endPlace(chart, s, mark); return } // `apart` sets its place
      change(label, "x", f(x))
      change(label, "y", f(y))
    }
    item.set()
    return item
  })
  if (panel.click) pressable(chart, panel, s)
  apart(panel, s)
  narrow(panel)
}
// Notes that stand side by side have letters small enough not to touch.
const narrow = (panel) => {
  const rows = new Map()
  for (const { label, mark } of panel.drawn) {
    if (mark.kind !== "note" || mark.anchor !== "middle" || !label?.textContent) continue
    const y = label.getAttribute("y")
    rows.set(y, [...rows.get(y) ?? [], label])
  }
  for (const row of rows.values()) {
    if (row.length < 2) continue
    const xs = row.map((label) => Number(label.getAttribute("x"))).sort((a, b) => a - b)
    const pitch = Math.min(...xs.slice(1).map((x, i) => x - xs[i]))
    const longest = Math.max(...row.map((label) => label.getComputedTextLength()))
    const size = parseFloat(getComputedStyle(row[0]).fontSize) * Math.min(1, 0.86 * pitch / longest)
    for (const label of row) label.style.fontSize = `${size}px`
  }
}
// Names of lines stand as near to their ends as their pitch allows, where the panel keeps a margin
// for them below one another; a thin line leads to a name that is not beside its end.
const NAMES = { pitch: 14, beside: 5, far: 30, lead: 8 }
const apart = (panel, s) => {
  const ends = panel.drawn.filter((item) => item.lead && item.label.textContent)
    .sort((a, b) => a.end[1] - b.end[1])
  const ys = spaced(ends.map((item) => item.end[1]), s.top, s.bottom)
  const beside = ends.every((item, i) => Math.abs(ys[i] - item.end[1]) <= NAMES.beside)
  const column = Math.max(...ends.map((item) => item.end[0]))
  ends.forEach(({ label, lead, end: [x, y] }, i) => {
    const at = (panel.margin ? column : x) + (beside ? 6 : 6 + NAMES.lead)
    const led = Math.abs(ys[i] - y) > NAMES.beside || at - x > NAMES.far
    change(lead, "d", led ? `M${f(x + 3)} ${f(y)}L${f(at - 3)} ${f(ys[i])}` : "")
    change(label, "x", f(at))
    change(label, "y", f(ys[i] + 4))
  })
  for (const { label, lead } of panel.drawn) if (lead && !label.textContent) change(lead, "d", "")
  panel.scale = s
}
// Rising heights, moved as little as keeps their pitch; line_names.py does the same.
const spaced = (ys, top, bottom) => {
  const blocks = [] // of names that touch, each at the mean of what its names ask for
  const mean = ({ sum, count }) => sum / count
  ys.forEach((y, i) => {
    let block = { sum: y - NAMES.pitch * i, count: 1 }
    while (blocks.length && mean(blocks.at(-1)) > mean(block)) {
      const { sum, count } = blocks.pop()
      block = { sum: sum + block.sum, count: count + block.count }
    }
    blocks.push(block)
  })
  const lowest = bottom - NAMES.pitch * (ys.length - 1)
  return blocks.flatMap((block) => Array(block.count).fill(mean(block)))
    .map((y, i) => Math.max(top, Math.min(y, lowest)) + NAMES.pitch * i)
}

const sayAll = (chart) => {
  chart.sliders.forEach((slider, i) => {
    if (!slider.output) return
    const shown = slider.shown[chart.at[i]]
    slider.output.textContent = shown
    const part = chart.at[i] / Math.max(1, slider.values.length - 1)
    slider.input.style.setProperty("--fill", `${100 * part}%`)
    slider.input.setAttribute("aria-valuetext", shown)
  })
  for (const { node, value } of chart.texts) say(node, words(chart, value))
  if (chart.lesson) speak(chart)
}
// What a picture shows, for those who do not see it.
const describe = (chart, panel) => {
  const moved = chart.sliders.find((slider) => slider.name === panel.click)
  const press = moved ? ` Press to set ${moved.label}.` : ""
  panel.svg.setAttribute("aria-label", described(chart, panel) + press)
}
// At rest: words take longer than lines.
const describeSoon = (chart, panel) => {
  clearTimeout(panel.waiting)
  panel.waiting = setTimeout(() => describe(chart, panel), 200)
}
const redraw = (chart) => {
  for (const panel of chart.panels) {
    if (panel.node.hidden) continue
    let any = false
    for (const item of panel.drawn) {
      if (![...item.by].some((index) => chart.moved.has(index))) continue
      item.set(); any = true
    }
    if (!any) continue
    apart(panel, panel.scale)
    describeSoon(chart, panel)
  }
  chart.moved.clear()
  sayAll(chart)
  chart.redraws += 1
  chart.root.dataset.redraws = chart.redraws
}

const OUTLINED = { line: "M0 7H18", dash: "M0 7h7m4 0h7" }, DASHED = "M0 7H26"
// The marks of a panel under its title: symbols, and for a heat map its colours with their ends.
const legend = (chart, panel, follow) => {
  const heats = panel.marks.filter((mark) => mark.kind === "heat" && mark.label)
  if (!panel.legend.length && !heats.length) return
  const entries = html(panel.node, "div", "legend")
  for (const { label, color, symbol } of panel.legend) {
    const item = html(entries, "span")
    const dashed = /^\d/.test(symbol)
    const width = dashed ? 26 : symbol in OUTLINED || symbol === "band" ? 18 : 12
    const svg = make(item, "svg", { viewBox: `0 0 ${width} 14`, width, height: 14,
      "aria-hidden": "true" })
    const ink = paint(color) || "var(--st-text-color)"
    const line = dashed ? DASHED : OUTLINED[symbol]
    make(svg, "path", {
      d: line ?? (symbol === "band" ? "M0 3H18V11H0Z" : glyph(symbol, 6, 7, 4)),
      style: line || STROKED.includes(symbol) ? `fill:none;stroke:${ink}` : `fill:${ink}`,
      "stroke-width": line ? 2 : 1.6, "stroke-dasharray": dashed ? symbol : "none",
      "fill-opacity": symbol === "band" ? 0.35 : 1 })
    follow(html(item, "span"), label)
  }
  for (const mark of heats) {
    const item = html(entries, "span")
    const part = (color) => `color-mix(in srgb, ${color} ${100 * FULL}%, transparent)`
    const wash = `rgba(${NULL.join()}, ${WASH})`
    const end = String(Number(mark.limit.toPrecision(2)))
    html(item, "span", "", `\u2212${end}`)
    html(item, "i").style.background =
      `linear-gradient(to right, ${part(mark.low)}, ${wash}, ${part(mark.high)})`
    html(item, "span", "", end)
    follow(html(item, "span"), mark.label)
  }
}

const nearest = (grid, value) =>
  grid.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(grid[best] - value) ? i : best), 0)

// Before a room: the first row of pictures, as high as the window has room between the sliders and
// the bar; a square one is narrower where it would be higher. A hall is a room seen larger.
const BAR = 58, ROOM = [1280, 720]
const zoomed = () => presenting() ? Math.max(1, Math.min(innerWidth / ROOM[0], innerHeight / ROOM[1])) : 1
const oneScreen = (chart) => {
  chart.root.classList.add("present")
  chart.panels.forEach((panel, i) => {
    panel.node.hidden = i >= chart.columns
    if (!panel.node.hidden) grow(panel, innerHeight - topOf(chart, panel.svg) - BAR * zoomed())
  })
}
const grow = (panel, room) => {
  const height = Math.max(180, Math.floor(room))
  panel.late ||= height !== panel.height
  panel.height = panel.most = height
}
// Elsewhere the first row of pictures, on a phone the first one, is lower where that brings it onto
// the first screen.
const LOWER = 0.7, EDGE = 8
const firstScreen = (chart) => {
  const [{ node: first }] = chart.panels
  const { top } = first.getBoundingClientRect()
  for (const panel of chart.panels) {
    if (panel.node.getBoundingClientRect().top !== top) continue
    panel.full ??= panel.height
    const full = panel.square ? Math.min(460, panel.node.clientWidth) : panel.full
    const room = Math.floor(innerHeight - topOf(chart, panel.svg) - EDGE)
    const height = room < full && room >= LOWER * full ? room : full
    panel.late ||= height !== (panel.most ?? full)
    panel.height = panel.most = height
  }
}
const onePage = (chart) => chart.root.getRootNode().host?.closest('[data-testid="stMain"]')
// Where a node begins in the window before anything is scrolled.
const topOf = (chart, node) =>
  node.getBoundingClientRect().top + (onePage(chart)?.scrollTop ?? scrollY)
// A caption keeps room for its longest words, or else what lies below it, the whole page, would
// be moved and drawn anew while a slider is dragged.
const keepRoom = (chart) => {
  const captions = chart.texts.filter(({ node, value }) =>
    node.tagName === "FIGCAPTION" && sliders(value).size)
  for (const { node, value } of captions) {
    node.style.minHeight = ""
    node.textContent = longest(value)
  }
  const heights = captions.map(({ node }) => node.getBoundingClientRect().height)
  captions.forEach(({ node, value }, i) => {
    node.style.minHeight = `${heights[i]}px`
    node.textContent = words(chart, value)
  })
}
// Draw what is seen and has another size than it was drawn at.
const drawAnew = (chart) => {
  for (const panel of chart.panels) {
    if (panel.node.hidden || !(panel.late || panel.width !== panel.node.clientWidth)) continue
    panel.late = false
    draw(chart, panel)
    describe(chart, panel)
  }
}
const build = (chart, root) => {
  root.replaceChildren()
  chart.root = root
  root.classList.toggle("dense", chart.columns > 2)
  chart.texts = []
  const follow = (node, value) => { if (value) chart.texts.push({ node, value }) }
  if (chart.headline) {
    const node = html(root, "p", "headline")
    node.setAttribute("aria-live", "polite")
    chart.said = node
    follow(node, chart.headline)
  }
  const { controls, panels } = chart.lesson ? frameLesson(chart, root)
    : { controls: html(root, "div", "sliders"), panels: html(root, "div", "panels") }
  chart.sliders.forEach((slider, i) => {
    if (slider.values.length < 2 || slider.hidden) return
    if (slider.button) stepper(chart, controls, slider, i)
    else control(chart, controls, slider, i)
  })
  panels.style.setProperty("--columns", chart.columns)
  chart.panels.forEach((panel, i) => {
    const card = chart.lesson && pictureCard(chart, i)
    panel.small = Boolean(card) && panel.height < 100 // a picture to pick among many
    panel.node = html(card || panels, "figure", panel.square ? "square" : "")
    if (panel.title) {
      const title = html(panel.node, "h4")
      follow(html(title, "span"), panel.title)
      if (panel.click && !chart.lesson) html(title, "small", "", "press to choose")
    }
    legend(chart, panel, follow)
    const plot = html(panel.node, "div", "plot")
    panel.under = html(plot, "div", "under")
    panel.svg = make(plot, "svg", { role: "img" })
    if (panel.caption) follow(html(panel.node, "figcaption"), panel.caption)
    if (panel.caption && chart.lesson && !card) {
      panel.further = html(chart.lesson.captions, "p")
      follow(html(panel.further, "b"), panel.title)
      follow(html(panel.further, "span"), panel.caption)
    }
    panel.id = `clip${i}`
  })
  if (chart.lesson) {
    for (const panel of chart.panels) panel.node.hidden = true
    sayAll(chart) // pictures get the room that words leave
    dress(chart)
    listen(chart)
  } else {
    sayAll(chart) // words take their room first
    keepRoom(chart)
    if (presenting()) oneScreen(chart)
    else firstScreen(chart)
    drawAnew(chart) // only now have all of them their width
  }
  sayAll(chart)
}

const leave = (chart) => {
  halt(chart)
  chart.still?.()
  clearTimeout(chart.waiting)
  cancelAnimationFrame(chart.frame)
  if (chart.lesson) { endStory(chart); chart.deaf() }
  chart.observer.disconnect()
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const root = parentElement.querySelector(".live")
  const tell = (values) => setStateValue("value", values)
  let chart = charts.get(parentElement)
  const sent = read(data)
  sent.at = component.at?.length === sent.at.length ? component.at : sent.at // of a file, not Streamlit
  const asked = sent.digest + sent.at.join()
  if (chart && chart.asked === asked && chart.root === root) {
    chart.tell = tell
  } else {
    // Where only the payload is new, the sliders stay where the reader has put them.
    const stay = chart && chart.sliders.length === sent.sliders.length
    const places = (at) => {
      const values = stay ? chart.sliders.map((s, i) => s.values[at[i]]) : sent.at
      return sent.sliders.map((s, i) => nearest(s.values, values[i]))
    }
    const at = places(chart?.at), told = places(chart?.told)
    if (chart) leave(chart)
    chart = { ...sent, at, told, asked, tell, redraws: 0, moved: new Set(), frame: 0 }
    build(chart, root)
    const built = chart
    // What was moving when the payload came has no release of its own any more.
    chart.waiting = setTimeout(() => release(built))
    if (chart.lesson && untouched(chart) && !calm()) {
      chart.begin = setTimeout(() => tellStory(built), 1500)
    } else sweepOnce(chart)
    let width = root.clientWidth
    const present = presenting()
    chart.observer = new ResizeObserver(() => {
      if (root.clientWidth === width && !present) return
      width = root.clientWidth
      if (built.lesson) return dress(built)
      keepRoom(built)
      if (present) oneScreen(built)
      else firstScreen(built)
      drawAnew(built)
    })
    chart.observer.observe(root)
    if (present) { // the window's height, and what stands above and may come later
      const page = onePage(built) ?? document.documentElement
      for (const node of [page, ...page.children]) chart.observer.observe(node)
    }
    charts.set(parentElement, chart)
  }
  return () => {
    const last = charts.get(parentElement)
    if (last) leave(last)
    charts.delete(parentElement)
  }
}
