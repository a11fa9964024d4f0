// Opened details stay open and keep the focus when their part of the page is replaced: figures arrive in stages.

const READ = "details.explain, details.about";

export function keepWhatIsRead(body) {
  let opened = [];
  let focused = null;
  body.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
    const all = [...target.querySelectorAll(READ)];
    opened = all.filter((details) => details.open).map(nameOf);
    const holder = all.find((details) => details.querySelector("summary") === document.activeElement);
    focused = holder ? nameOf(holder) : null;
  });
  body.addEventListener("htmx:afterSwap", () => {
    for (const details of body.querySelectorAll(READ)) {
      const name = nameOf(details);
      if (opened.includes(name)) details.open = true;
      if (name === focused && document.activeElement === document.body) details.querySelector("summary").focus({ preventScroll: true });
    }
    [opened, focused] = [[], null];
  });
}

function nameOf(details) {
  return details.querySelector("summary").textContent.trim();
}
