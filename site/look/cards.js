// On a narrow screen, a table that would scroll sideways becomes a list of cards, one a row: site.css draws them.
// Each cell gets its column's heading as a label. Without this script, such a table scrolls.
{
  const tables = [...document.querySelectorAll(".md-typeset table:not([class])")]
  for (const table of tables) {
    const headings = [...table.querySelectorAll("thead th")].map((heading) => heading.textContent.trim())
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.cells].forEach((cell, index) => cell.setAttribute("data-label", headings[index] ?? ""))
    }
  }
  const narrow = window.matchMedia("(max-width: 45em)")
  const choose = () => {
    for (const table of tables) {
      table.removeAttribute("data-cards")
      // The theme's script frames tables, perhaps after this one; a table without its frame scrolls by itself.
      const frame = table.closest(".md-typeset__scrollwrap") ?? table
      table.toggleAttribute("data-cards", narrow.matches && frame.scrollWidth > frame.clientWidth + 1)
    }
  }
  choose()
  window.addEventListener("resize", choose)
}
