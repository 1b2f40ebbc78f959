'use strict';
// Sorts a table by the column whose heading is clicked. The first click sorts numbers from the largest on, and names
// from A to Z. Each further click reverses the order.
for (const button of document.querySelectorAll('th button')) {
  button.addEventListener('click', () => {
    const heading = button.parentElement;
    const column = heading.cellIndex;
    const body = heading.closest('table').tBodies[0];
    const numbers = body.rows[0].cells[column].dataset.v !== undefined;
    const [first, second] = numbers ? ['descending', 'ascending'] : ['ascending', 'descending'];
    const order = heading.getAttribute('aria-sort') === first ? second : first;
    for (const other of heading.parentElement.cells) other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', order);
    const value = ({ cells: { [column]: cell } }) => (numbers ? Number(cell.dataset.v) : cell.textContent);
    const rows = Array.from(body.rows, (row) => [value(row), row]);
    const compare = numbers ? (a, b) => a - b : new Intl.Collator().compare;
    rows.sort(([a], [b]) => compare(a, b) * (order === 'ascending' ? 1 : -1));
    body.append(...rows.map(([, row]) => row));
  });
}
