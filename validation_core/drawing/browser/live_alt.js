// A panel in words, where the sliders stand: as `described` in validation_core/drawing/alt.py.
const digits = (v, count = 3) => {
  if (Math.abs(v) < 1e-6) return "0"
  return String(Number(v.toPrecision(count))).replace("-", "\u2212")
}
const numbered = (names) =>
  names.some(Boolean) && names.every((name) => !name || /^[\u2212-]?\d/.test(name))
const nearestTick = (ticks, v) => {
  const away = ticks.map((tick) => Math.abs(tick - v))
  return away.indexOf(Math.min(...away))
}
const ON_TICK = 0.02, BESIDE = 0.3  // of the least distance of two ticks, as in alt.py
const byTicks = ({ ticks, shown }, v, near) => {
  if (!numbered(shown)) return shown[nearestTick(ticks, v)]
  const named = [...ticks].map((at, i) => ({ at, name: shown[i] })).filter((tick) => tick.name)
    .sort((a, b) => a.at - b.at)
  const places = named.map((tick) => tick.at), closest = nearestTick(places, v)
  const gap = Math.min(...places.slice(1).map((at, i) => at - places[i]))
  if (named.length === 1 || Math.abs(places[closest] - v) <= near * gap) return named[closest].name
  const above = places.filter((at) => at < v).length
  if (!above) return `below ${named[0].name}`
  if (above === named.length) return `above ${named.at(-1).name}`
  return `between ${named[above - 1].name} and ${named[above].name}`
}
const tickOf = (axis, v, near = ON_TICK) => {
  if (axis.shown) return byTicks(axis, v, near)
  return axis.percent ? digits(100 * v) + "%" : digits(v)
}
const placeOf = (axis, v) => tickOf(axis, v, BESIDE)
const least = (values) => values.reduce((best, v, i) => (v < values[best] ? i : best), 0)
const most = (values) => values.reduce((best, v, i) => (v > values[best] ? i : best), 0)
const extremes = (at, values, x, y, name, place = tickOf) => {
  const there = values.map((v, i) => i).filter((i) => Number.isFinite(values[i]))
  if (!there.length) return ""
  const some = there.map((i) => values[i])
  const end = (i) => `${tickOf(y, values[i])} at ${place(x, at[i])}`
  return `${name}: highest ${end(there[most(some)])}, lowest ${end(there[least(some)])}`
}
const middles = (edges, shift = 0) =>
  edges.slice(1).map((edge, i) => (edge + edges[i]) / 2 + shift)

const inWords = {
  note: (chart, panel, mark) => words(chart, mark.label),
  vline: (chart, panel, mark, name) => crossing(number(chart, mark.x), panel.x, name),
  hline: (chart, panel, mark, name) => crossing(number(chart, mark.y), panel.y, name),
  band(chart, panel, mark, name) {
    const low = [...pick(chart, mark.y)].filter(Number.isFinite)
    const high = [...pick(chart, mark.high)].filter(Number.isFinite)
    if (!low.length || !high.length) return ""
    const ends = [low[least(low)], high[most(high)]].map((v) => tickOf(panel.y, v))
    return `${name || "band"}: ${ends.join(" to ")}`
  },
  bars(chart, panel, mark, name) {
    const at = middles([...pick(chart, mark.x)], number(chart, mark.shift))
    return extremes(at, [...pick(chart, mark.y)], panel.x, panel.y, name || "bars")
  },
  rain(chart, panel, mark) {
    if (mark.only) return ""
    const low = mark.fell.filter((brick) => brick.cell === 0).length
    return `${mark.fell.length} bricks, ${low} of them in the first of ${mark.bins} bins`
  },
  heat(chart, panel, mark, name) {
    const [rows, columns] = mark.values.shape.slice(-2)
    const values = [...pick(chart, mark.values)].map((v) => (v === -128 ? NaN : v))
    const there = values.map((v, i) => i).filter((i) => !Number.isNaN(values[i]))
    if (!there.length) return ""
    const along = (ends, i, n) => ends[0] + (i + 0.5) * (ends[1] - ends[0]) / n
    const end = (i) => {
      const x = along(pick(chart, mark.x), i % columns, columns)
      const y = along(pick(chart, mark.y), Math.floor(i / columns), rows)
      const beyond = { 127: "at least ", [-127]: "at most " }[values[i]] ?? ""
      const value = digits(values[i] * mark.limit / 127, 2)
      return `${beyond}${value} at (${tickOf(panel.x, x)}, ${tickOf(panel.y, y)})`
    }
    const some = there.map((i) => values[i])
    return `${name || "map"}: highest ${end(there[most(some)])}, lowest ${end(there[least(some)])}`
  },
  points: (chart, panel, mark, name) => cloud(chart, panel, mark, name || "points"),
  line(chart, panel, mark, name) {
    const [xs, ys] = places(chart, mark)
    if (!ys.length) return ""
    if (mark.fill) return area(panel, xs, ys, name || "line")
    const end = (i) => `${tickOf(panel.y, ys.at(i))} at ${placeOf(panel.x, xs.at(i))}`
    const [low, high] = [ys[least(ys)], ys[most(ys)]].map((v) => tickOf(panel.y, v))
    return `${name || "line"}: from ${end(0)} to ${end(-1)}, lowest ${low}, highest ${high}`
  },
}
const crossing = (v, axis, name) => {
  if (!name || !Number.isFinite(v)) return ""
  const place = tickOf(axis, v)
  return `${name === place ? "line" : name} at ${place}`
}
const places = (chart, mark) => {
  const xs = [...pick(chart, mark.x)], ys = [...pick(chart, mark.y)]
  const shift = number(chart, mark.shift)
  const there = ys.map((v, i) => i).filter((i) => Number.isFinite(xs[i] + ys[i]))
  return [there.map((i) => xs[i] + shift), there.map((i) => ys[i])]
}
const cloud = (chart, { x, y }, mark, name) => {
  const [xs, ys] = places(chart, mark)
  if (!ys.length) return ""
  if (ys.length < 2) {
    return `${name}: ${tickOf(y, ys[0])} at ${placeOf(x, xs[0])}`.replace(/ at $/, "")
  }
  if (y.shown && !numbered(y.shown)) return extremes(ys, xs, y, x, name)
  if (x.shown) return extremes(xs, ys, x, y, name, placeOf)
  return area({ x, y }, xs, ys, `${name}: ${ys.length} points`)
}
const area = ({ x, y }, xs, ys, name) => {
  const ends = (side, axis) => [least, most].map((end) => tickOf(axis, side[end(side)])).join(" to ")
  return `${name}, across ${ends(xs, x)}, up ${ends(ys, y)}`
}

const axisInWords = (side, axis) => {
  if (axis.hidden) return ""
  const label = axis.label ? axis.label + ", " : ""
  const shown = axis.shown?.filter(Boolean)
  if (!shown) return `${side}: ${label}${axis.limits.map((v) => tickOf(axis, v)).join(" to ")}`
  if (!shown.length) return axis.label ? `${side}: ${axis.label}` : ""
  if (shown.length <= 6) return `${side}: ${label}${shown.join(", ")}`
  return `${side}: ${label}${shown[0]} to ${shown.at(-1)}, ${shown.length} in all`
}
const nameOf = (chart, panel, mark) => {
  const label = words(chart, mark.label)
  if (label || ["band", "heat", "vline", "hline"].includes(mark.kind)) return label
  const same = panel.legend.filter((key) => key.color === mark.color)
  const symbols = mark.kind !== "line" ? [mark.symbol] : mark.dash ? [mark.dash, "dash"] : ["line"]
  const alike = symbols.flatMap((symbol) => same.filter((each) => each.symbol === symbol))
  const key = alike[0] ?? same[0]
  return key ? words(chart, key.label) : ""
}
const MOST = 600
const described = (chart, panel) => {
  const parts = [words(chart, panel.title), axisInWords("Across", panel.x),
    axisInWords("Up", panel.y)]
  const known = new Set([""])
  for (const mark of panel.marks) {
    const name = nameOf(chart, panel, mark)
    if (name && known.has(name)) continue
    known.add(name)
    parts.push(inWords[mark.kind]?.(chart, panel, mark, name) ?? "")
  }
  const sentences = parts.filter(Boolean).map((part) => part.replace(/[. ]+$/, "") + ".")
  let text = ""
  for (const [i, sentence] of sentences.entries()) {
    const left = sentences.length - i - 1, longer = `${text} ${sentence}`.trim()
    const tail = left ? ` And ${left} more.` : ""
    if (longer.length + tail.length > MOST) return `${text} And ${left + 1} more.`
    text = longer
  }
  return text
}
