// Copies the address, which carries every setting; says so for a moment.
export default function (component) {
  const button = component.parentElement.querySelector("button")
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(location.href)
      button.textContent = "Copied"
    } catch { // no clipboard without https
      prompt("Copy this link", location.href)
    }
    setTimeout(() => { button.textContent = "Copy link" }, 1500)
  }
}
