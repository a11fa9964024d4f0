// Live parts ask the server again every few seconds. The browser turns its 304 into the cached answer; an answer with the tag of
// the one on the page is not swapped in, so that focus, selection and open details stay.

const tags = new Map();

export function skipUnchangedFragments(body) {
  body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr, requestConfig } = event.detail;
    if (!target.matches("[data-live]")) return;
    if (requestConfig.elt !== target) return tags.clear(); // somebody asked for another view of it
    if (target.matches(":active")) return (event.detail.shouldSwap = false); // a press that ends on another element is no click
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

// A part that the page waits for shows the server's error in its place; a live part keeps what it has and asks again.
export function showErrorsInPlace(body) {
  body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    if (xhr.status >= 400 && !target.matches("[data-live]")) event.detail.shouldSwap = true;
  });
}
