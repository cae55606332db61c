"use strict";
// Tables are sorted by their headings; everything opens before it is printed.
for (const button of document.querySelectorAll("table.sorts th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th"), table = heading.closest("table");
    const place = [...heading.parentElement.children].indexOf(heading);
    const down = heading.getAttribute("aria-sort") !== "descending";
    for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.children[place].dataset.value ?? row.children[place].textContent;
    const body = table.tBodies[0];
    const order = new Intl.Collator(undefined, { numeric: true });
    const compare = (one, other) => {
      const a = value(one), b = value(other), difference = Number(a) - Number(b);
      return Number.isNaN(difference) ? order.compare(a, b) : difference;
    };
    const rows = [...body.rows].sort(compare);
    body.append(...(down ? rows.reverse() : rows));
  });
}
addEventListener("beforeprint", () => {
  for (const closed of document.querySelectorAll("details:not([open])")) closed.open = true;
});
