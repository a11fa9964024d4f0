// Back, forward and reload show how things stand now: never a form that was sent already, and nothing is sent twice.

addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // kept by the browser as it was left
});

// The page that a form was answered with takes the address of the work; a reload of its own would ask to send the form again.
const { address } = document.body.dataset;
if (address && location.pathname !== new URL(address, location).pathname) history.replaceState(null, "", address);
