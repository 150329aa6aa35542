'use strict'
;(() => {
  const element = (id) => document.getElementById(id)
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  const able = typeof DecompressionStream === 'function'

  const unpacked = (id) => {
    const stream = new Blob([bytes(element(id).textContent)]).stream()
    return new Response(stream.pipeThrough(new DecompressionStream('gzip'))).text()
  }

  const save = (blob, name) => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(blob)
    link.download = name
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10000)
  }

  const LIGHT = { ink: '#22272e', line: '#dadde2', paper: '#ffffff' }
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const colours = () => {
    const style = getComputedStyle(document.documentElement)
    const of = (name) => style.getPropertyValue('--' + name).trim()
    return { ink: of('ink'), line: of('line'), paper: of('paper') }
  }

  // What a theme decides: letters and grid. Everything else is the figure's own.
  const themed = (layout, theme) => {
    const own = { 'font.color': theme.ink }
    for (const name of Object.keys(layout)) {
      if (!/^[xy]axis\d*$/.test(name)) continue
      const given = layout[name]
      if (!given.gridcolor) own[name + '.gridcolor'] = theme.line
      if (!given.linecolor) own[name + '.linecolor'] = theme.line
      if (!given.zerolinecolor) own[name + '.zerolinecolor'] = theme.line
    }
    return own
  }

  const applied = (layout, changes) => {
    const copy = structuredClone(layout)
    for (const [path, value] of Object.entries(changes)) {
      const [first, second] = path.split('.')
      copy[first] = { ...copy[first], [second]: value }
    }
    return copy
  }

  const drawn = []
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'

  const draw = async (place, figure) => {
    const layout = { ...figure.layout, autosize: true }
    delete layout.width
    layout.font = { family: FONT, ...layout.font }
    const shown = applied(layout, themed(layout, colours()))
    await Plotly.newPlot(place, figure.data, shown, { displayModeBar: false, responsive: true })
    drawn.push({ place, layout, data: figure.data })
  }

  const recolour = (theme) =>
    Promise.all(drawn.map(({ place, layout }) => Plotly.relayout(place, themed(layout, theme))))

  // An image is for a paper or a slide: dark letters on white, whatever the screen shows.
  const image = async (place, kind) => {
    const { layout, data } = drawn.find((one) => one.place === place)
    const { width, height } = place.getBoundingClientRect()
    const own = { ...applied(layout, themed(layout, LIGHT)), paper_bgcolor: LIGHT.paper }
    const url = await Plotly.toImage({ data, layout: own },
      { format: kind, width, height, scale: kind === 'png' ? 3 : 1 })
    const head = url.indexOf(',')
    const content = url.slice(head + 1)
    const whole = url.slice(0, head).endsWith('base64') ? bytes(content) : decodeURIComponent(content)
    const type = kind === 'png' ? 'image/png' : 'image/svg+xml'
    save(new Blob([whole], { type }), place.dataset.name + '.' + kind)
  }

  const json = async () => {
    const held = element('json')
    const text = held.type === 'application/json' ? held.textContent : await unpacked('json')
    save(new Blob([text], { type: 'application/json' }), held.dataset.name || 'diagnosis.json')
  }

  document.addEventListener('click', (event) => {
    const button = event.target.closest('button')
    if (!button) return
    if (button.dataset.image) {
      const place = button.closest('figure').querySelector('.drawing')
      if (drawn.some((one) => one.place === place)) image(place, button.dataset.image)
    }
    if (button.dataset.save === 'json') json()
    if (button.dataset.save === 'draws') {
      const type = 'application/octet-stream'
      save(new Blob([bytes(element('draws').textContent)], { type }), 'draws.npz')
    }
  })

  const start = async () => {
    element('still').hidden = true
    if (!able) {
      element('old').hidden = false
      return
    }
    const figures = JSON.parse(await unpacked('figures'))
    if (figures.length) {
      const script = document.createElement('script')
      script.textContent = await unpacked('plotly')
      document.head.append(script)
    }
    // What is folded has no width to be drawn in: it is drawn when it is opened.
    const drawIn = async (part) => {
      for (const place of part.querySelectorAll('.drawing[data-figure]')) {
        if (drawn.some((one) => one.place === place) || place.closest('details:not([open])')) continue
        const figure = figures[Number(place.dataset.figure)]
        if (figure) await draw(place, figure)
        else place.closest('figure').hidden = true
      }
      document.documentElement.dataset.drawn = String(drawn.length)
    }
    addEventListener('toggle', (event) => event.target.open && drawIn(event.target), true)
    await drawIn(document)
    dark.addEventListener('change', () => recolour(colours()))
    addEventListener('beforeprint', () => recolour(LIGHT))
    addEventListener('afterprint', () => recolour(colours()))
  }

  start()
})()
