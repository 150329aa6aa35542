// Bricks that fall, one for each trial: where the slider that they follow stood when they fell is
// known here alone. They fall while a slider is played or a story told, and lie at once where the
// reader stops them, drags, or asks for less motion.
const FALL = 420 // ms from the top to the ground

const rainSliders = (mark) =>
  new Set(mark.only ? [mark.clock, mark.opens, mark.opensAt] : [mark.clock])

// All that have fallen so far, with the bin and the height of each.
const fallen = (chart, mark) => {
  const count = chart.at[mark.clock], place = chart.at[mark.follows]
  const falls = (chart.playing || chart.lesson?.story) && !calm()
  mark.fell ??= []
  if (mark.fell.length > count) mark.fell.length = count
  const cells = pick(chart, mark.cells), trials = mark.cells.shape[1]
  const heights = new Array(mark.bins).fill(0)
  for (const brick of mark.fell) heights[brick.cell] += 1
  while (mark.fell.length < count) {
    const cell = cells[place * trials + mark.fell.length]
    mark.fell.push({ place, cell, level: heights[cell]++, when: falls ? performance.now() : 0 })
  }
  if (!falls) for (const brick of mark.fell) brick.when = 0
  return mark.fell
}
// The middle of each brick, in the panel's coordinates: x, y, x, y, ...
const lying = (mark) => Float32Array.from(mark.fell.flatMap((brick) =>
  [(brick.cell + 0.5) / mark.bins, brick.level + 0.5]))

const rained = (chart, s, mark) => {
  const bricks = fallen(chart, mark), now = performance.now()
  let d = "", moving = false
  bricks.forEach((brick, trial) => {
    const { cell, level, when, place } = brick
    if (mark.only && (trial !== chart.at[mark.opens] || place !== chart.at[mark.opensAt])) return
    const part = when ? Math.min(1, (now - when) / FALL) : 1
    moving ||= part < 1
    const left = s.x(cell / mark.bins) + 0.5, right = s.x((cell + 1) / mark.bins) - 0.5
    const ground = s.y(level), height = Math.max(1, ground - s.y(level + 1) - 0.8)
    const y = s.top + part * part * (ground - s.top)
    d += `M${f(left)} ${f(y)}H${f(right)}v${f(-height)}H${f(left)}Z`
  })
  if (moving && !mark.only) queueMicrotask(() => { // after this redraw, with the next frame
    chart.moved.add(mark.clock)
    chart.frame ||= requestAnimationFrame(() => { chart.frame = 0; redraw(chart) })
  })
  return d
}
