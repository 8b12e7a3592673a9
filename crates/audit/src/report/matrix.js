// Filters the rows of the matrix by group, harm, verdict and text, and sorts them by a column.
const rows = [...document.querySelectorAll('#matrix tbody tr')]
const form = document.getElementById('filters')

function show () {
  const { group, harm, verdict, text } = Object.fromEntries(new FormData(form))
  const word = text.toLowerCase()
  for (const row of rows) {
    const { group: of, harm: harms, verdicts } = row.dataset
    row.hidden = (group && of !== group) || (harm && harms !== harm) || (verdict && !verdicts.split(',').includes(verdict)) ||
      !row.cells[0].textContent.toLowerCase().includes(word)
  }
}

form?.addEventListener('input', show)
form?.addEventListener('submit', (event) => event.preventDefault())
document.querySelectorAll('#matrix thead th').forEach((head, place) => head.addEventListener('click', () => {
  const of = (row) => row.cells[place].dataset.order
  rows.sort((a, b) => of(a).localeCompare(of(b))).forEach((row) => row.parentNode.append(row))
}))
// A link of the matrix may lead into what is folded.
addEventListener('hashchange', () => unfold(location.hash))
if (location.hash) unfold(location.hash)

function unfold (hash) {
  const place = document.getElementById(decodeURIComponent(hash.slice(1)))
  const folded = place?.closest('details') ?? place?.parentNode.querySelector(`[id="${place.id}"] ~ details`)
  if (folded) folded.open = true
  place?.scrollIntoView()
}
