// On a narrow screen, a table becomes a list of cards, one a row, which site.css draws. That happens if the table would
// scroll sideways, or if a narrow column has long text.
// Each cell gets its column's heading as a label. A card's title shows it only if the title is a number.
// Without this script, such a table scrolls.
{
  const NARROW = 150, LONG = 0.45 // px, and characters a px: some five lines of text
  const tables = [...document.querySelectorAll(".md-typeset table:not([class])")]
  for (const table of tables) {
    const headings = [...table.querySelectorAll("thead th")].map((heading) => heading.textContent.trim())
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.cells].forEach((cell, index) => cell.setAttribute("data-label", headings[index] ?? ""))
      row.cells[0]?.toggleAttribute("data-number", /^[\d.,]+(\s\S{1,3})?$/.test(row.cells[0].textContent.trim()))
    }
  }
  const narrow = window.matchMedia("(max-width: 45em)")
  const choose = () => {
    for (const table of tables) {
      table.removeAttribute("data-cards")
    }
    if (!narrow.matches) return
    const chosen = tables.filter((table) => {
      const frame = table.closest(".md-typeset__scrollwrap") ?? table
      const squeezed = (cell) => cell.offsetWidth < NARROW && cell.textContent.length > LONG * cell.offsetWidth
      return frame.scrollWidth > frame.clientWidth + 1 || [...table.querySelectorAll("td")].some(squeezed)
    })
    for (const table of chosen) {
      table.setAttribute("data-cards", "")
    }
  }
  choose()
  // The theme's script frames tables when the page is there.
  for (const moment of ["load", "resize"]) {
    window.addEventListener(moment, choose)
  }
}
