'use strict';
// Sorts a table by the column whose heading is clicked: first in descending order, then in ascending order.
for (const button of document.querySelectorAll('th button')) {
  button.addEventListener('click', () => {
    const heading = button.parentElement;
    const column = heading.cellIndex;
    const down = heading.getAttribute('aria-sort') !== 'descending';
    for (const other of heading.parentElement.cells) other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const body = heading.closest('table').tBodies[0];
    const value = (row) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const rows = Array.from(body.rows, (row) => [value(row), row]);
    rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  });
}
