// Copies the address with every setting that it is given; says so for a moment.
export default function (component) {
  const button = component.parentElement.querySelector("button")
  const { search, label } = component.data
  button.textContent = label
  button.onclick = async () => {
    const link = new URL(location.href)
    link.search = search
    try {
      await navigator.clipboard.writeText(link.href)
      button.textContent = "Copied"
    } catch { // no clipboard without https
      prompt("Copy this link", link.href)
    }
    setTimeout(() => { button.textContent = label }, 1500)
  }
}
