// A lesson around its chart: its question, its stages, what the student predicts, what is said, a
// formula with its values lit. Stage and prediction are sliders without a rail (live_controls.js).
// lesson_story.js tells a lesson by itself.
const STAGE = 0 // the first slider
const stageOf = (chart) => chart.lesson.stages[chart.at[STAGE]]
const valueOf = (chart, index) => chart.sliders[index].values[chart.at[index]]
const presenting = () => new URLSearchParams(location.search).has("present")
const inStory = () => new URLSearchParams(location.search).has("story") // arrows turn its scenes

// All that stands around the panels; gives where sliders and panels go.
const frameLesson = (chart, root) => {
  const { lesson } = chart
  root.classList.add("lesson")
  root.classList.toggle("present", presenting())
  const head = html(root, "header")
  html(head, "p", "kicker", `${lesson.title} \u00b7 ${lesson.minutes} minutes`)
  html(head, "h2", "", lesson.question)
  const steps = html(head, "nav", "stages")
  steps.setAttribute("aria-label", "Steps of the lesson")
  lesson.tabs = lesson.stages.map((stage, i) => {
    const button = html(steps, "button", "", stage.title)
    button.type = "button"
    button.onclick = () => { endStory(chart); open(chart, i) }
    return button
  })
  lesson.watch = html(steps, "button", "watch")
  lesson.watch.type = "button"
  lesson.watch.onclick = (event) => {
    event.stopPropagation()
    lesson.story ? endStory(chart) : tellStory(chart)
  }
  const body = html(root, "div", "body")
  const side = html(body, "div", "side")
  chart.said = html(side, "div", "words")
  chart.said.setAttribute("aria-live", "polite")
  lesson.answered = html(chart.said, "p", "answer")
  lesson.spoken = html(chart.said, "p", "spoken")
  lesson.formula = html(side, "div", "formula")
  Object.assign(lesson.formula, { tabIndex: 0, role: "group", ariaLabel: "Formula" }) // may scroll
  const asked = html(side, "div", "asked")
  const controls = html(side, "div", "sliders")
  const foot = html(side, "div", "turn")
  for (const [name, by] of [["back", -1], ["next", 1]]) {
    const button = lesson[name] = html(foot, "button", name)
    button.type = "button"
    button.onclick = () => { endStory(chart); turn(chart, by) }
  }
  const panels = html(body, "div", "panels")
  lesson.captions = html(side, "div", "captions")
  lesson.paper = notes(chart, root)
  lesson.asked = asked
  asked.classList.toggle("several", (lesson.prediction.bars?.length ?? 0) > 2)
  lesson.pictures = html(panels, "div", "pictures")
  predictions(chart, asked)
  return { controls, panels }
}

// The lecturer's notes, which N shows and hides.
const notes = (chart, root) => {
  const { lesson } = chart
  if (!lesson.notes?.length) return null
  const paper = html(root, "aside", "notes")
  paper.setAttribute("aria-label", "Notes for the lecturer")
  paper.hidden = true
  for (const line of lesson.notes) html(paper, "p", "", line)
  html(paper, "small", "", "N hides these notes.")
  return paper
}

// One stage further, or back.
const turn = (chart, by) => {
  const to = chart.at[STAGE] + by
  if (to >= 0 && to < chart.lesson.stages.length) open(chart, to)
}
// The reader opens a stage. From the question to its answer, bars are predictions where they stand.
const open = (chart, to) => {
  const { said } = chart.lesson.prediction
  if (said !== undefined && chart.at[STAGE] === 0 && to === 1 && !presenting()) move(chart, said, 1)
  enter(chart, to)
  release(chart)
}
// Open a stage: its sliders go where it wants them.
const enter = (chart, index) => {
  halt(chart)
  const stage = chart.lesson.stages[index]
  move(chart, STAGE, index)
  for (const [slider, value] of Object.entries(stage.at)) {
    move(chart, Number(slider), nearest(chart.sliders[slider].values, value))
  }
  dress(chart)
}
// Show what the open stage shows: its panels, its rails, the prediction.
const dress = (chart) => {
  const { lesson } = chart, index = chart.at[STAGE], stage = lesson.stages[index]
  const only = chart.root.classList.contains("present")
  if (only) document.documentElement.style.fontSize = `${25.6 * zoomed()}px` // 1.6 times
  const lineup = lesson.prediction.pick?.panels ?? []
  const first = stage.panels.find((i) => !lineup.includes(i))
  const seen = stage.panels.filter((i) => !only || i === first || lineup.includes(i))
  const pictures = index === 0 ? lesson.prediction.pick?.panels ?? [] : []
  lesson.pictures.hidden = !pictures.length && !seen.some((i) => lineup.includes(i))
  chart.panels.forEach((panel, i) => {
    const shown = seen.includes(i) || pictures.includes(i)
    panel.late ||= shown && panel.node.hidden
    panel.node.hidden = !shown
    panel.node.style.order = seen.indexOf(i)
    if (panel.further) panel.further.hidden = !shown
  })
  chart.sliders.forEach((slider, i) => { if (slider.box) slider.box.hidden = !stage.sliders.includes(i) })
  lesson.tabs.forEach((tab, i) => {
    i === index ? tab.setAttribute("aria-current", "step") : tab.removeAttribute("aria-current")
  })
  const tabs = lesson.tabs[0].parentElement
  tabs.scrollLeft = lesson.tabs[index].offsetLeft - tabs.clientWidth / 2
  chart.root.classList.toggle("revealed", index > 0)
  lesson.back.textContent = "Back"
  lesson.back.hidden = index === 0
  lesson.next.textContent = index === 0 ? "Show me" : lesson.stages[index + 1]?.title ?? ""
  lesson.next.hidden = index === lesson.stages.length - 1
  const { formula } = stage
  lesson.formula.hidden = !formula
  lesson.formula.innerHTML = formula ? formula.mathml : "" // made by the core, never a user's
  if (formula) html(lesson.formula, "small", "", formula.source)
  sayAll(chart) // a slider's value may take two lines
  if (only) tall(chart) // pictures get the room that words and sliders leave
  else if (chart.root.clientWidth >= WIDE) fit(chart)
  else fitPhone(chart)
  drawAnew(chart) // only now have they their width
}
// Before a room the picture takes what the window has left.
const tall = (chart) => {
  for (const panel of chart.panels) {
    if (panel.node.hidden || pictureCard(chart, chart.panels.indexOf(panel))) continue
    const rest = panel.node.clientHeight - panel.svg.clientHeight
    grow(panel, innerHeight - topOf(chart, panel.node.parentElement) - rest - 56 * zoomed())
  }
}
// On a desk the pictures are as high as the window has room, at most as high as they ask for and at
// least LEAST.
const LEAST = 108, WIDE = 736, RIM = 6
const fit = (chart) => {
  chart.root.classList.remove("below")
  const shown = chart.panels.filter((panel, i) => !panel.node.hidden && !panel.square && !pictureCard(chart, i))
  const { room } = roomOf(chart, shown, belowOf(chart))
  for (const panel of shown) high(panel, Math.min(panel.full, Math.max(LEAST, room)))
  for (const panel of chart.panels) { // as wide as high
    if (panel.node.hidden || !panel.square) continue
    panel.most = undefined
    panel.node.style.maxWidth = ""
    const beside = panel.node.clientHeight - panel.svg.clientHeight
    const most = innerHeight - belowOf(chart) - topOf(chart, panel.node) - beside
    panel.node.style.maxWidth = `${Math.max(2 * LEAST, most)}px`
  }
}
// On a phone the pictures share what the first screen has left. Where that is too little, the question
// makes room, and words that say more than the answer, captions too, stand below the pictures.
const fitPhone = (chart) => {
  const shown = chart.panels.filter((panel) => !panel.node.hidden)
  const least = (panel) => panel.square ? 1.6 * LEAST : Math.min(LEAST, 0.75 * panel.full)
  const lacks = ({ room, rows }) => rows.reduce((sum, row) => sum + Math.max(...row.map(least)) - room, 0) > 0
  chart.root.classList.remove("below")
  let found = roomOf(chart, shown, RIM)
  if (chart.at[STAGE] > 0 && lacks(found)) {
    chart.root.classList.add("below")
    found = roomOf(chart, shown, RIM)
  }
  const { room, rows } = found
  const big = rows.map((row) => Math.max(...row.map(least))).filter((height) => height > room)
  const rest = room - big.reduce((sum, height) => sum + height - room, 0) / Math.max(1, rows.length - big.length)
  for (const panel of shown) high(panel, Math.min(panel.full, Math.max(least(panel), Math.floor(rest))))
}
const high = (panel, height) => {
  panel.late ||= panel.square || panel.height !== height // a square may be lower than asked
  panel.height = panel.most = height
  panel.svg.setAttribute("height", height)
}
// How high a picture may be in each row of those shown, and the rows.
const roomOf = (chart, shown, below) => {
  const rows = new Map()
  for (const panel of shown) {
    panel.full ??= panel.height
    panel.svg.setAttribute("height", panel.full)
    const top = panel.node.getBoundingClientRect().top
    rows.set(top, [...rows.get(top) ?? [], panel])
  }
  const box = chart.lesson.pictures.parentElement
  const rest = box.scrollHeight - [...rows.values()]
    .reduce((sum, row) => sum + Math.max(...row.map((panel) => panel.full)), 0)
  const room = innerHeight - topOf(chart, box) - below - rest
  return { room: Math.floor(room / Math.max(1, rows.size)), rows: [...rows.values()] }
}
// Room for what stands below a lesson: links in the page, a line in a file.
const belowOf = (chart) => chart.root.getRootNode().host ? 92 : 64

// What is said follows the sliders; so do the formula's values.
const speak = (chart) => {
  const { lesson } = chart, stage = stageOf(chart), { formula } = stage
  const beat = lesson.story?.beat
  say(lesson.spoken, words(chart, beat?.words) || words(chart, stage.words))
  const answer = chart.at[STAGE] === 1 && (lesson.prediction.pick || predicted(chart) && !lesson.story)
  say(lesson.answered, answer ? words(chart, lesson.prediction.answer) : "")
  lesson.answered.hidden = !lesson.answered.textContent
  const { bars } = lesson.prediction // of several, the answer says all that they show
  lesson.asked.hidden = !bars || chart.at[STAGE] > 1 || (answer && bars.length > 1)
  for (const node of lesson.formula.querySelectorAll("[data-value]")) {
    say(node, words(chart, formula.values[node.dataset.value]))
  }
  lesson.watch.textContent = lesson.story ? "Pause" : "Watch"
  marksOf(chart)
}

// ---- What the student predicts ----

const predicted = (chart) => {
  const { bars, said } = chart.lesson.prediction
  return valueOf(chart, said) > 0 || bars.some((bar) => chart.at[bar.slider]
    !== nearest(chart.sliders[bar.slider].values, chart.sliders[bar.slider].start))
}
const predictions = (chart, parent) => {
  const { bars, pick: one } = chart.lesson.prediction
  for (const bar of bars ?? []) {
    const slider = chart.sliders[bar.slider]
    const box = html(parent, "div", "bar")
    const label = html(box, "label")
    label.htmlFor = `bar${bar.slider}`
    html(label, "span", "", bar.label)
    slider.output = html(label, "output")
    const track = html(box, "div", "track")
    bar.fill = html(track, "div", "fill")
    bar.mark = html(track, "div", "truth")
    const input = slider.input = track.appendChild(document.createElement("input"))
    Object.assign(input, { type: "range", id: label.htmlFor, min: 0, step: 1,
      max: slider.values.length - 1 })
    input.value = chart.at[bar.slider]
    input.setAttribute("aria-label", bar.label)
    input.oninput = () => move(chart, bar.slider, Number(input.value))
    input.onchange = () => { chart.told = []; release(chart) }
  }
  if (!one) return
  const { pictures } = chart.lesson
  pictures.classList.toggle("many", one.panels.length > 8)
  if (one.scale) html(pictures, "p", "scale", one.scale)
  one.cards = one.panels.map((_, i) => {
    const card = html(pictures, "button", "picture")
    card.type = "button"
    card.tag = html(card, "span", "tag")
    card.onclick = () => {
      if (chart.at[STAGE] > 0) return
      move(chart, one.slider, chart.sliders[one.slider].values.indexOf(i + 1))
      release(chart)
    }
    return card
  })
}
const pictureCard = (chart, panel) => {
  const { pick: one } = chart.lesson.prediction
  return one?.cards[one.panels.indexOf(panel)]
}
// How far along its bar a value lies, in percent.
const along = (slider, value) => {
  const low = slider.values[0], high = slider.values[slider.values.length - 1]
  return Math.max(0, Math.min(100, 100 * (value - low) / (high - low)))
}
const marksOf = (chart) => {
  const { bars, pick: one } = chart.lesson.prediction
  for (const bar of bars ?? []) {
    const slider = chart.sliders[bar.slider]
    bar.fill.style.width = `${along(slider, valueOf(chart, bar.slider))}%`
    bar.mark.style.left = `${along(slider, number(chart, bar.truth))}%`
    bar.mark.hidden = chart.at[STAGE] === 0
    slider.input.disabled = chart.at[STAGE] > 0
  }
  one?.cards.forEach((card, i) => {
    const picked = valueOf(chart, one.slider) === i + 1
    const right = chart.at[STAGE] > 0 && number(chart, one.right) === i + 1
    card.setAttribute("aria-pressed", String(picked))
    card.setAttribute("aria-disabled", String(chart.at[STAGE] > 0))
    card.classList.toggle("right", right)
    say(card.tag, right ? one.found + (picked ? " \u2713" : "") : picked ? "your pick" : "")
  })
}

// ---- Keys of a room ----

// Arrows and the keys of a presenter's remote turn stages; on a slider, arrows are the slider's.
const listen = (chart) => {
  const onkey = (event) => {
    const path = event.composedPath()[0]
    const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(path.tagName) && path.type !== "range"
    const { paper } = chart.lesson
    if (paper && event.key.toLowerCase() === "n" && !writing && !(event.altKey || event.ctrlKey || event.metaKey)) {
      paper.hidden = !paper.hidden
    }
    const onSlider = path instanceof HTMLInputElement
    const by = { PageDown: 1, PageUp: -1, ArrowRight: onSlider ? 0 : 1, ArrowLeft: onSlider ? 0 : -1 }
    if (!presenting() || inStory() || !by[event.key] || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    endStory(chart)
    turn(chart, by[event.key])
  }
  document.addEventListener("keydown", onkey)
  const touched = (event) => {
    if (event.isTrusted && !event.composedPath().includes(chart.lesson.watch)) endStory(chart)
  }
  for (const kind of ["pointerdown", "keydown"]) chart.root.addEventListener(kind, touched)
  chart.deaf = () => {
    document.removeEventListener("keydown", onkey)
    for (const kind of ["pointerdown", "keydown"]) chart.root.removeEventListener(kind, touched)
  }
}
