// A lesson that nobody has touched tells its story: stage after stage its sliders glide from beat
// to beat. The first touch leaves it where it stands; a reader who asks for less motion starts it
// by hand, and then it jumps.
const GLIDE = 0.55 // of a beat's time, the rest is a rest

const wait = (chart, story, ms) => new Promise((resolve) => {
  story.timer = setTimeout(() => resolve(chart.lesson.story === story), ms)
})

// Sliders go to a beat's places in so many milliseconds; false where the story was ended.
const glide = (chart, story, at, ms) => new Promise((resolve) => {
  const ways = Object.entries(at).map(([index, value]) => ({
    index: Number(index), from: chart.at[index], to: nearest(chart.sliders[index].values, value) }))
  const began = performance.now()
  const step = (now) => {
    if (chart.lesson.story !== story) return resolve(false)
    const part = ms > 0 ? Math.min(1, Math.max(0, now - began) / ms) : 1
    for (const way of ways) {
      const place = Math.round(way.from + part * (way.to - way.from))
      if (place !== chart.at[way.index]) move(chart, way.index, place)
    }
    if (part < 1) return requestAnimationFrame(step)
    resolve(true)
  }
  requestAnimationFrame(step)
})

const tellStory = async (chart) => {
  const { lesson } = chart, story = { beat: null }
  endStory(chart)
  lesson.story = story
  chart.said.setAttribute("aria-live", "off")
  chart.root.classList.add("told")
  const from = chart.at[STAGE] === lesson.stages.length - 1 ? 0 : chart.at[STAGE]
  for (let i = from; i < lesson.stages.length; i++) {
    story.beat = null
    enter(chart, i)
    for (const beat of lesson.stages[i].beats) {
      story.beat = beat
      speak(chart)
      const ms = 1000 * beat.seconds
      if (!await glide(chart, story, beat.at, calm() ? 0 : GLIDE * ms)) return
      if (!await wait(chart, story, (1 - GLIDE) * ms)) return
    }
    if (!lesson.stages[i].beats.length && !await wait(chart, story, 5000)) return
  }
  // Told: back to the question, which is now the reader's.
  chart.sliders.forEach((slider, i) => move(chart, i, nearest(slider.values, slider.start)))
  endStory(chart)
}

const endStory = (chart) => {
  const { lesson } = chart
  clearTimeout(chart.begin)
  if (!lesson.story) return
  clearTimeout(lesson.story.timer)
  lesson.story = null
  chart.said.setAttribute("aria-live", "polite")
  chart.root.classList.remove("told")
  dress(chart)
}

// Only what nobody has touched or linked to begins by itself.
const untouched = (chart) =>
  chart.sliders.every((slider, i) => chart.at[i] === nearest(slider.values, slider.start))
