// Sorts a table by the column whose heading is pressed, with the mouse or from the keyboard.
for (const table of document.querySelectorAll("table.sort")) {
  const [body] = table.tBodies, heads = [...table.tHead.rows[0].cells];
  const number = (text) => parseFloat(text.replace(/,/g, ""));
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const words = head.classList.contains("word"), text = (row) => row.cells[column].textContent;
    const compare = words ? (a, b) => text(a).localeCompare(text(b)) : (a, b) => number(text(a)) - number(text(b));
    const empty = (row) => !words && Number.isNaN(number(text(row)));
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const order = was ? (was === "ascending" ? "descending" : "ascending") : words ? "ascending" : "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      // What has no figure stays below, whichever way the figures go.
      body.append(...[...body.rows].sort((a, b) => empty(a) - empty(b) || (empty(a) ? 0 : sign * compare(a, b))));
    });
  });
}
