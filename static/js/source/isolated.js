// Frames with the HTML of a source. No script runs in them; the page sets their height and style, and handles the keys that are pressed in
// them.

const STYLE = new URL("../../css/isolated.css", import.meta.url).href;
const KEYS = ["key", "code", "ctrlKey", "shiftKey", "altKey", "metaKey", "repeat"];

/**
 * Fits the frames of a pane.
 *
 * @param {HTMLElement} pane
 * @param {() => void} ready  called for each frame whose content can now be read
 */
export function fitFrames(pane, ready) {
  for (const frame of pane.querySelectorAll("iframe.isolated")) {
    const begin = () => {
      // A frame shows an empty document before its own.
      if (frame.contentDocument?.body && frame.contentDocument.URL === "about:srcdoc") fit(frame, ready);
    };
    if (frame.contentDocument?.readyState === "complete") begin();
    frame.addEventListener("load", begin);
  }
}

function fit(frame, ready) {
  const { head, documentElement, body } = frame.contentDocument;
  // The frame may be fitted already: its load event can follow although it was complete before.
  if (head.querySelector("link")) return;
  const link = frame.contentDocument.createElement("link");
  link.rel = "stylesheet";
  link.href = STYLE;
  const grow = () => frame.style.setProperty("height", `${Math.ceil(documentElement.getBoundingClientRect().height)}px`);
  link.addEventListener("load", () => {
    frame.classList.add("styled");
    grow();
  });
  head.append(link);
  new ResizeObserver(grow).observe(body);
  frame.contentDocument.addEventListener("keydown", (event) => {
    const options = Object.fromEntries(KEYS.map((name) => [name, event[name]]));
    const copy = new KeyboardEvent("keydown", { ...options, bubbles: true, cancelable: true });
    if (!frame.dispatchEvent(copy)) event.preventDefault();
  });
  ready();
}
