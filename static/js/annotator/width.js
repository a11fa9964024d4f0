// Runs before the first paint: sets the stored width of the source, so that nothing moves when divider.js is loaded.

try {
  const share = Number(localStorage.getItem("spanplat:divider"));
  if (share) document.documentElement.style.setProperty("--source-share", `${share}%`);
} catch {
  // storage is blocked: nothing is remembered there
}
