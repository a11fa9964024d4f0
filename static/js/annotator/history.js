// Back, forward and reload show the present state: never a form that was already sent, and no form is sent twice.

addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // restored from memory, so it may be outdated
});

// The answer to a form gets the address of the work: otherwise a reload would send the form again.
const { address } = document.body.dataset;
if (address && location.pathname !== new URL(address, location).pathname) history.replaceState(null, "", address);
