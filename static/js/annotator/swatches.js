// Colours of categories on the pages around the work. The content security policy forbids inline styles in the markup.

for (const element of document.querySelectorAll("[data-color]")) element.style.setProperty("--c", element.dataset.color);
