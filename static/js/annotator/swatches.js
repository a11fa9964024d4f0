// Colours of categories, on the pages around the work; the security policy forbids them in the markup.

for (const element of document.querySelectorAll("[data-color]")) element.style.setProperty("--c", element.dataset.color);
