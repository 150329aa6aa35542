// How live.js turns the numbers of one panel into paths, colours and places of words.
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

const scales = (panel, width, zoom) => {
  const longest = Math.max(0, ...(panel.y.shown ?? []).map((name) => name.length))
  const bare = panel.small ? 4 : 12
  const left = panel.y.hidden ? bare : Math.min(Math.max(48, 6.5 * longest + 12), 0.45 * width)
  const top = panel.small ? 2 : panel.y.label ? 26 : 18
  const foot = panel.x.hidden && !panel.x.label ? 4 : panel.small ? 17 : 38
  const room = width - Math.max(panel.y.hidden ? bare : 16, (panel.small ? 4 : 8) + panel.margin)
  const right = panel.square && panel.most ? Math.min(room, left + panel.most / zoom - top - foot) : room
  const height = panel.square ? top + right - left + foot : panel.height / zoom
  const box = { left, right, top, bottom: height - foot, width, height }
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
// Words in a mark's colour are moved towards the text's own until they read well, as by plotly.
const inked = (color) => color ? `color-mix(in srgb, ${color} 65%, var(--st-text-color))` : ""

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
// The outline of a symbol; those of STROKED are drawn as lines, the others filled.
const STROKED = ["cross", "ring"]
const glyph = (symbol, x, y, r) => {
  if (symbol === "square") return `M${f(x - r)} ${f(y - r)}h${2 * r}v${2 * r}h${-2 * r}Z`
  if (symbol === "diamond") {
    const q = r * 1.3
    return `M${f(x)} ${f(y - q)}l${q} ${q}l${-q} ${q}l${-q} ${-q}Z`
  }
  if (symbol === "triangle") {
    const h = 0.9 * r
    return `M${f(x)} ${f(y - 1.3 * r)}L${f(x + 1.2 * r)} ${f(y + h)}L${f(x - 1.2 * r)} ${f(y + h)}Z`
  }
  if (symbol === "cross") {
    const w = 2 * r
    return `M${f(x - r)} ${f(y - r)}l${w} ${w}m0 ${-w}l${-w} ${w}`
  }
  return `M${f(x - r)} ${f(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`
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
      d += glyph(mark.symbol, x, y, r)
      if (!low || !high || Number.isNaN(low[i] + high[i])) continue
      d += `M${f(x - 0.6)} ${f(s.y(low[i]))}V${f(s.y(high[i]))}h1.2V${f(s.y(low[i]))}Z`
    }
    return d
  },
  vline(chart, s, mark) {
    const x = number(chart, mark.x)
    return Number.isNaN(x) ? "" : `M${f(s.x(x))} ${s.top}V${s.bottom}`
  },
  hline(chart, s, mark) {
    const y = number(chart, mark.y)
    return Number.isNaN(y) ? "" : `M${s.left} ${f(s.y(y))}H${s.right}`
  },
  note: () => "",
  rain: (chart, s, mark) => rained(chart, s, mark),
}

// The colour of each byte a heat map can hold: a thin wash at 0, full at 127 either way, clear at
// -128. style.py says how (`tint`).
const NULL = [138, 143, 152], WASH = 0.06, FULL = 0.85
const tint = (rgb, part) => {
  const full = FULL * part, wash = WASH * (1 - full)
  return [...rgb.map((v, i) => (full * v + wash * NULL[i]) / (full + wash)), 255 * (full + wash)]
}
const palette = (context, mark) => {
  const bytes = new Uint8ClampedArray(4 * 256)
  for (const [sign, color] of [[1, mark.high], [-1, mark.low]]) {
    context.fillStyle = color // the browser writes any colour as #rrggbb
    const rgb = [1, 3, 5].map((i) => parseInt(context.fillStyle.slice(i, i + 2), 16))
    for (let v = 0; v <= 127; v++) bytes.set(tint(rgb, v / 127), 4 * (sign * v & 255))
  }
  return new Uint32Array(bytes.buffer)
}
// A canvas below the panel's marks, of so many pixels.
const sheet = (chart, panel, s, mark, columns, rows) => {
  const [x0, x1] = pick(chart, mark.x), [y0, y1] = pick(chart, mark.y)
  const canvas = html(panel.under, "canvas")
  Object.assign(canvas, { width: columns, height: rows })
  Object.assign(canvas.style, {
    left: `${s.x(x0) - s.left}px`, width: `${s.x(x1) - s.x(x0)}px`,
    top: `${s.y(y1) - s.top}px`, height: `${s.y(y0) - s.y(y1)}px` })
  return canvas.getContext("2d")
}
// One pixel for each value; returns what fills it anew.
const heat = (chart, panel, s, mark) => {
  const [rows, columns] = mark.values.shape.slice(-2)
  const context = sheet(chart, panel, s, mark, columns, rows)
  const colors = palette(context, mark)
  const image = context.createImageData(columns, rows)
  const pixels = new Uint32Array(image.data.buffer)
  return () => {
    const values = pick(chart, mark.values)
    for (let i = 0; i < rows; i++) { // the first row lies lowest
      const from = (rows - 1 - i) * columns, to = i * columns
      for (let j = 0; j < columns; j++) pixels[to + j] = colors[values[from + j] & 255]
    }
    context.putImageData(image, 0, 0)
  }
}

// The pixels themselves, first row on top; returns what fills them anew.
const photograph = (chart, panel, s, mark) => {
  const [rows, columns] = mark.pixels.shape.slice(-3)
  const context = sheet(chart, panel, s, mark, columns, rows)
  const image = context.createImageData(columns, rows)
  image.data.fill(255)
  return () => {
    const values = pick(chart, mark.pixels)
    for (let i = 0, to = 0; i < values.length; to++) { // every fourth number is opacity
      for (let c = 0; c < 3; c++) image.data[to++] = values[i++] & 255
    }
    context.putImageData(image, 0, 0)
  }
}

// The last point of a line, the right end of one across the panel.
const endPlace = (chart, s, mark) => {
  if (mark.kind === "hline") return [s.right, s.y(number(chart, mark.y))]
  const xs = pick(chart, mark.x), ys = pick(chart, mark.y)
  let last = ys.length - 1
  while (last > 0 && Number.isNaN(ys[last] + xs[last])) last--
  return [s.x(xs[last]), s.y(ys[last])]
}
// Where a mark's label stands: [x, y, anchor].
const labelled = {
  line: (chart, s, mark) => endPlace(chart, s, mark),
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
    const marks = panel.y.ticks ?? ticks(s.y0, s.y1, Math.min(4, (s.bottom - s.top) / 16))
    const pitch = Math.abs(s.y(marks[1]) - s.y(marks[0])) // of numbers; names all stand
    const every = panel.y.shown || !(pitch > 0) ? 1 : Math.ceil(12 / pitch)
    for (const [i, v] of marks.entries()) {
      line(s.left, s.y(v), s.right, s.y(v), "grid")
      if (i % every === 0) put(s.left - 6, s.y(v) + 4, written(v, panel.y, i), "tick", "end")
    }
    put(0, 10, panel.y.label, "axis", "start")
  }
  if (!panel.x.hidden) {
    for (const [i, v] of (panel.x.ticks ?? ticks(s.x0, s.x1, width / 80)).entries()) {
      put(s.x(v), s.bottom + 15, written(v, panel.x, i), "tick", "middle")
    }
  }
  put((s.left + s.right) / 2, s.bottom + 32, panel.x.label, "axis", "middle")
  if (!panel.x.hidden) line(s.left, s.bottom, s.right, s.bottom, "base")
}

