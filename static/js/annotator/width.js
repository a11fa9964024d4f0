// Runs before anything is drawn: the source gets the width it was given on this device, so that nothing moves when divider.js comes.

try {
  const share = Number(localStorage.getItem("spanplat:divider"));
  if (share) document.documentElement.style.setProperty("--source-share", `${share}%`);
} catch {
  // storage is blocked: nothing is remembered there
}
