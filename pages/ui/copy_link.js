// Copies the address with every setting that it is given; says so for a moment.
export default function (component) {
  const button = component.parentElement.querySelector("button")
  button.onclick = async () => {
    const link = new URL(location.href)
    link.search = component.data
    try {
      await navigator.clipboard.writeText(link.href)
      button.textContent = "Copied"
    } catch { // no clipboard without https
      prompt("Copy this link", link.href)
    }
    setTimeout(() => { button.textContent = "Copy link" }, 1500)
  }
}
