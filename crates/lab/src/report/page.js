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
      // Rows without a figure stay at the bottom in both directions.
      body.append(...[...body.rows].sort((a, b) => empty(a) - empty(b) || (empty(a) ? 0 : sign * compare(a, b))));
    });
  });
}
// Shows one language alone, in tables and among bars, and orders bars where there are some; without scripts all are there.
const languages = [...new Set([...document.querySelectorAll("[data-language]")].map((e) => e.dataset.language))].sort();
if (languages.length > 1) {
  const choice = (label, names) => {
    const box = document.createElement("label"), select = document.createElement("select");
    box.append(label + " ", select);
    select.append(...names.map((name) => new Option(name)));
    select.addEventListener("change", apply);
    tools.append(box);
    return select;
  };
  const tools = document.createElement("p");
  tools.className = "tools";
  const language = choice("Language:", ["all", ...languages]);
  const order = document.querySelector("g.row") && choice("Bars by:", ["speed", "language", "name"]);
  const groups = [...document.querySelectorAll("svg")].map((svg) => [...svg.querySelectorAll("g.row")]);
  const places = groups.map((rows) => rows.map((row) => row.getAttribute("transform")));
  const key = (row) => order.value === "speed" ? "" : order.value === "name" ? row.dataset.name : row.dataset.language || "";
  function apply() {
    const wanted = (element) => language.value === "all" || element.dataset.language === language.value;
    for (const row of document.querySelectorAll("tr[data-language]")) row.hidden = !wanted(row);
    groups.forEach((rows, chart) => {
      const shown = rows.filter((row) => (row.style.display = wanted(row) ? "" : "none", wanted(row)));
      shown.sort((a, b) => key(a).localeCompare(key(b)) || rows.indexOf(a) - rows.indexOf(b));
      shown.forEach((row, place) => row.setAttribute("transform", places[chart][place]));
    });
  }
  document.querySelector("main").prepend(tools);
}
