// The disagreement explorer by keyboard: j and k (or the arrows) go to the next and the previous output, in a list from row to row;
// / goes to the search. Everything is a link or a form, so that all of it works without this file too.

const STEPS = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, [role='region']:focus")) return;
  if (event.key === "/") {
    document.getElementById("find").focus();
    event.preventDefault();
  } else if (STEPS[event.key]) {
    move(STEPS[event.key]);
    event.preventDefault();
  }
});

function move(step) {
  const rows = [...document.querySelectorAll(".outputs .excerpt a")];
  if (!rows.length) {
    document.querySelector(step > 0 ? "a[rel='next']" : "a[rel='prev']")?.click();
    return;
  }
  const now = rows.indexOf(document.activeElement);
  const next = now < 0 ? (step > 0 ? 0 : rows.length - 1) : now + step;
  rows[Math.min(Math.max(next, 0), rows.length - 1)].focus();
}

/** Highlights a mark in the text and its entry in the list together. */
function chooseCluster(number) {
  for (const element of document.querySelectorAll("[data-cluster]")) {
    element.classList.toggle("chosen", element.dataset.cluster === number);
  }
}

document.getElementById("text")?.addEventListener("click", (event) => {
  const mark = event.target.closest(".mark");
  if (!mark || !getSelection().isCollapsed) return;
  chooseCluster(mark.dataset.cluster);
  document.getElementById(`cluster-${mark.dataset.cluster}`)?.scrollIntoView({ block: "nearest" });
});

for (const cluster of document.querySelectorAll(".cluster")) {
  for (const kind of ["pointerenter", "focusin"]) {
    cluster.addEventListener(kind, () => chooseCluster(cluster.dataset.cluster));
  }
}

const source = document.getElementById("source");
if (source) {
  const { SourceReader } = await import("../source/pane.js");
  const reader = new SourceReader(source, document.querySelector(".find-box"), () => source.focus());
  reader.begin((number) => `${location.pathname}/charts/${number}${location.search}`);
}
