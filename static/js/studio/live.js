// Live parts are requested again every few seconds. The browser turns a 304 into the cached answer, so htmx would swap it in. An answer
// with the same tag as the page is not swapped, so that focus, selection and open details stay.

const tags = new Map();

export function skipUnchangedFragments(body) {
  body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr, requestConfig } = event.detail;
    if (!target.matches("[data-live]")) return;
    if (requestConfig.elt !== target) return tags.clear(); // another view was requested
    if (target.matches(":active")) return (event.detail.shouldSwap = false); // a swap between press and release would lose the click
    const tag = xhr.getResponseHeader("ETag");
    if (tag && tags.get(requestConfig.path) === tag) event.detail.shouldSwap = false;
    else if (tag) tags.set(requestConfig.path, tag);
  });
}

export function announceConnection(body, message) {
  if (!message) return;
  body.addEventListener("htmx:sendError", () => (message.hidden = false));
  body.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.xhr.status !== 0) message.hidden = true;
  });
}

export function restWhileHidden(body) {
  body.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.matches("[data-live]")) event.preventDefault();
  });
}

// htmx does not swap errors. A requested part shows the server's error in its place; a live part keeps its content and asks again.
export function showErrorsInPlace(body) {
  body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    if (xhr.status >= 400 && !target.matches("[data-live]")) event.detail.shouldSwap = true;
  });
}
