// Buttons with data-copy put the text of the element they name on the clipboard.

const SHOWN_FOR_MS = 2000;

export function copyOnClick(root) {
  root.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source); // no permission, or no encrypted connection: the reader copies by hand
      return;
    }
    const label = button.textContent;
    button.textContent = button.dataset.copied;
    setTimeout(() => (button.textContent = label), SHOWN_FOR_MS);
  });
}
