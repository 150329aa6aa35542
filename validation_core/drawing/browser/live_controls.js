// How live.js is moved: sliders, their play buttons, presses in a panel.

// A slider stands at another of its values: drawn with the next frame, Python is not told.
const move = (chart, index, place) => {
  chart.at[index] = place
  const { input } = chart.sliders[index]
  if (input) input.value = place
  chart.moved.add(index)
  chart.frame ||= requestAnimationFrame(() => { chart.frame = 0; redraw(chart) })
}
// Python hears where the sliders stand, unless it knows.
const release = (chart) => {
  clearTimeout(chart.waiting)
  if (chart.at.join() === chart.told.join()) return
  chart.told = [...chart.at]
  chart.tell(chart.sliders.map((slider, i) => slider.values[chart.at[i]]))
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches
const FACES = { Play: "M4 2.5L13.5 8L4 13.5Z", Pause: "M4 3h3v10h-3zM9.5 3h3v10h-3z" }
const face = (button, name) => {
  button.setAttribute("aria-label", name)
  button.querySelector("path").setAttribute("d", FACES[name])
}
const halt = (chart) => {
  clearInterval(chart.playing?.timer)
  if (chart.playing) face(chart.playing.button, "Play")
  chart.playing = null
  chart.said?.setAttribute("aria-live", "polite")
}
const play = (chart, index, button) => {
  halt(chart)
  const last = chart.sliders[index].values.length - 1
  if (chart.at[index] >= last) move(chart, index, 0)
  const step = () => {
    move(chart, index, Math.min(last, chart.at[index] + 1))
    if (chart.at[index] < last) return
    halt(chart)
    release(chart)
  }
  const every = calm() ? 500 : 1000 / chart.sliders[index].rate
  chart.playing = { index, button, timer: setInterval(step, every) }
  face(button, "Pause")
  chart.said?.setAttribute("aria-live", "off") // twelve sentences a second help nobody
}
// Unasked, once a page: from where it stands down to the first value, up to the last and back. The
// first press or key anywhere leaves it where it is; Python hears of that, of the way it does not.
const SWEEP = 7 // steps a second
let swept = false
const sweepOnce = (chart) => {
  const index = chart.sliders.findIndex((slider) => slider.sweep && slider.player)
  if (index < 0 || swept || calm() || !untouched(chart)) return
  const { values, player: button } = chart.sliders[index]
  const home = chart.at[index], top = values.length - 1
  const up = [...values.keys()], down = [...up].reverse()
  const way = [...down.slice(top - home + 1), ...up.slice(1), ...down.slice(1, top - home + 1)]
  const touched = (event) => {
    if (event.composedPath().includes(button)) return // it pauses by itself
    chart.still()
    if (chart.playing?.way !== way) return
    halt(chart)
    chart.waiting = setTimeout(() => release(chart), 300) // a press elsewhere may bring another chart
  }
  chart.still = () => {
    clearTimeout(chart.begin)
    for (const kind of ["pointerdown", "keydown"]) removeEventListener(kind, touched)
  }
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, touched)
  chart.begin = setTimeout(() => {
    swept = true
    const step = () => {
      move(chart, index, way.shift())
      if (way.length) return
      chart.still()
      halt(chart)
    }
    chart.playing = { index, button, way, timer: setInterval(step, 1000 / SWEEP) }
    face(button, "Pause")
    chart.said?.setAttribute("aria-live", "off")
  }, 1500)
}
const player = (chart, parent, index) => {
  const button = chart.sliders[index].player = html(parent, "button", "play")
  button.type = "button"
  make(make(button, "svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }), "path")
  face(button, "Play")
  button.onclick = () => {
    if (chart.playing?.index !== index) return play(chart, index, button)
    halt(chart)
    release(chart)
  }
}

const control = (chart, parent, slider, index) => {
  const box = slider.box = html(parent, "div")
  const id = `s${index}`
  const label = html(box, "label")
  label.htmlFor = id
  html(label, "span", "", slider.label)
  slider.output = html(label, "output")
  const plays = slider.play && slider.values.length > 1
  const row = html(box, "div", "row")
  if (plays) player(chart, row, index)
  const input = slider.input = row.appendChild(document.createElement("input"))
  Object.assign(input, { type: "range", id, min: 0, max: slider.values.length - 1, step: 1 })
  input.value = chart.at[index]
  input.setAttribute("aria-label", slider.label)
  if (slider.ends[0] || slider.ends[1]) {
    const ends = html(box, "div", plays ? "ends beside" : "ends")
    slider.ends.forEach((words) => html(ends, "span", "", words))
  }
  let keyed = false, stopped = false
  const rest = () => { // a held arrow key reports once, when it rests
    clearTimeout(chart.waiting)
    chart.waiting = setTimeout(() => release(chart), keyed ? 150 : 0)
  }
  // In a lesson one slider may be moved while another plays: gamma in mid-rain.
  const stop = () => { if (!chart.lesson || chart.playing?.index === index) halt(chart) }
  input.oninput = () => { stop(); move(chart, index, Number(input.value)) }
  input.onkeydown = () => { keyed = true }
  input.onpointerdown = () => { keyed = false; stopped = Boolean(chart.playing); stop() }
  input.onpointerup = input.onpointercancel = () => { if (stopped) rest() }
  input.onchange = () => { chart.told = []; rest() }
}

// A slider that is a button: each press takes the next value, after the last the first, or none
// where Python is to bring more.
const stepper = (chart, parent, slider, index) => {
  const button = slider.box = html(parent, "button", "stepper", slider.button)
  button.type = "button"
  button.onclick = () => {
    const next = chart.at[index] + 1
    if (slider.onwards && next === slider.values.length) return
    move(chart, index, next % slider.values.length)
    release(chart)
  }
}

// A press moves the panel's slider to the value whose place is nearest, seen in pixels. A finger
// drags where it sets out sideways; one that sets out upright scrolls the page and moves nothing.
const pressable = (chart, panel, s) => {
  const index = chart.sliders.findIndex((slider) => slider.name === panel.click)
  panel.svg.parentNode.classList.add("pressable")
  const hit = make(panel.svg, "rect", { x: s.left, y: s.top, class: "hit",
    width: Math.max(0, s.right - s.left), height: s.bottom - s.top })
  const go = (event) => {
    const box = panel.svg.getBoundingClientRect()
    const rain = panel.marks.find((mark) => mark.kind === "rain")
    const places = rain ? lying(rain) : pick(chart, panel.at)
    const x = (event.clientX - box.left) * s.width / box.width
    const y = (event.clientY - box.top) * s.height / box.height
    let best = chart.at[index], least = Infinity
    chart.sliders[index].values.forEach((value, i) => {
      const away = places ? Math.hypot(s.x(places[2 * i]) - x, s.y(places[2 * i + 1]) - y)
        : Math.abs(s.x(value) - x)
      if (away < least) { least = away; best = i }
    })
    if (rain && !rain.fell.length) return
    if (best !== chart.at[index]) move(chart, index, best)
    if (rain) move(chart, rain.opensAt, rain.fell[best].place)
  }
  let before = null, begun = null, dragged = false
  hit.onpointerdown = (event) => {
    if (event.button || !event.isPrimary) return
    halt(chart)
    before = chart.at[index]
    begun = event
    dragged = event.pointerType !== "touch"
    hit.setPointerCapture(event.pointerId)
    if (dragged) go(event)
  }
  hit.onpointermove = (event) => {
    if (before === null || !event.isPrimary) return
    const along = Math.abs(event.clientX - begun.clientX)
    dragged ||= along > Math.abs(event.clientY - begun.clientY)
    if (dragged) go(event)
  }
  hit.onpointerup = (event) => {
    if (before === null || !event.isPrimary) return
    go(event)
    before = null
    release(chart)
  }
  hit.onpointercancel = () => {
    if (before === null) return
    move(chart, index, before)
    before = null
    release(chart)
  }
}
