// Buttons that copy the texts of the page. A page of a file may not be let near the clipboard: then the text is selected.
function copyButtons() {
  const words = document.getElementById("made-again").dataset;
  for (const text of document.querySelectorAll("pre[data-copy]")) {
    const button = document.createElement("button"), said = document.createElement("span"), row = document.createElement("p");
    row.className = "wb-copy";
    button.type = "button";
    button.textContent = words.copyWords;
    button.setAttribute("aria-label", `${words.copyWords} ${text.dataset.copy}`);
    said.setAttribute("role", "status");
    said.className = "wb-quiet";
    button.addEventListener("click", async () => { said.textContent = (await copied(text)) ? words.copied : words.selected; });
    row.append(button, said);
    text.before(row);
  }
}
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(text);
    return document.execCommand("copy");
  }
}
copyButtons();
