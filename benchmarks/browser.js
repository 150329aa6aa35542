// Tells when a figure on the page is a new one. Installed before any page script.
window.bench = (() => {
  const all = (selector, root = document, found = []) => {
    found.push(...root.querySelectorAll(selector))
    for (const node of root.querySelectorAll("*")) if (node.shadowRoot) all(selector, node.shadowRoot, found)
    return found
  }
  // When the server's latest message came: what follows is the browser's own work.
  let heard = 0
  const Plain = window.WebSocket
  window.WebSocket = class extends Plain {
    constructor(...given) {
      super(...given)
      this.addEventListener("message", () => { heard = performance.now() })
    }
  }
  const ids = new WeakMap()
  let next = 0
  const id = (node) => { if (!ids.has(node)) ids.set(node, ++next); return ids.get(node) }
  // Plotly remounts a changed figure: a node that is drawn and was not there before is a new one.
  const plots = () => all(".js-plotly-plot .main-svg").filter((node) => node.querySelector(".trace")).map(id)
  const live = () => all(".live").map((root) =>
    [root.querySelector(".headline")?.textContent,
     ...[...root.querySelectorAll("path")].map((path) => path.getAttribute("d"))].join())
  const look = { plots, live }
  const changed = (before, now) => now.filter((one, i) =>
    typeof one === "number" ? !before.includes(one) : one !== before[i]).length
  let result = null
  const arm = (kind, quiet, event) => {
    const before = look[kind]()
    result = new Promise((resolve, reject) => {
      window.addEventListener(event, () => {
        const start = performance.now()
        let first = 0, last = 0, answered = 0, previous = before.join("|")
        const frame = () => {
          const now = look[kind](), text = now.join("|")
          const time = performance.now() - start
          if (now.length >= before.length && text !== previous) {
            previous = text
            if (!first && changed(before, now)) { first = time; answered = heard - start }
            if (first) last = time
          }
          if (first && time - last > quiet) resolve({ first, last, answered })
          else if (time > 8000) reject(new Error("no new figure in 8 s"))
          else requestAnimationFrame(frame)
        }
        requestAnimationFrame(frame)
      }, { capture: true, once: true })
    })
    return before.length
  }
  const redraws = () => all(".live").reduce((sum, root) => sum + Number(root.dataset.redraws || 0), 0)
  return { plots, arm, redraws, done: () => result, now: () => performance.now() }
})()
