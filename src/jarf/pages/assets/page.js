"use strict";
(function () {
  const root = document.documentElement;
  const all = (query, from) => Array.from((from || document).querySelectorAll(query));

  // theme: the system's, until the button is used
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const paint = () => { root.dataset.theme = chosen || (dark.matches ? "dark" : "light"); };
  dark.addEventListener("change", paint);
  paint();
  const theme = document.getElementById("theme");
  if (theme) theme.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    paint();
  });

  // which numbers the tables show
  for (const button of all(".views button")) {
    button.addEventListener("click", () => {
      document.body.dataset.view = button.value;
      for (const other of all(".views button"))
        other.setAttribute("aria-pressed", String(other === button));
    });
  }

  // filters: everything that carries the name of a hidden dataset or method is hidden
  const hidden = { dataset: new Set(), method: new Set() };
  const filter = () => {
    for (const kind of ["dataset", "method"]) {
      for (const element of all("[data-" + kind + "]")) {
        const off = (hidden.dataset.has(element.dataset.dataset || "") ||
          hidden.method.has(element.dataset.method || ""));
        element.classList.toggle("off", off);
      }
    }
  };
  for (const box of all("input[data-filter]")) {
    box.addEventListener("change", () => {
      const kind = box.dataset.filter;
      if (box.value === "") {
        for (const other of all("input[data-filter=" + kind + "]")) {
          other.checked = box.checked;
          if (other.value) hidden[kind][box.checked ? "delete" : "add"](other.value);
        }
      } else {
        hidden[kind][box.checked ? "delete" : "add"](box.value);
        const every = all("input[data-filter=" + kind + "]");
        every[0].checked = every.slice(1).every((other) => other.checked);
      }
      filter();
    });
  }
  document.addEventListener("click", (event) => {
    for (const menu of all(".bar details[open]"))
      if (!menu.contains(event.target)) menu.open = false;
  });

  // sorting: by the numbers on view; summary lines stay below
  const value = (row, place) => {
    const cell = row.cells[place];
    if (!cell) return null;
    const view = document.body.dataset.view;
    const name = view === "paper" ? "paper" : view === "difference" ? "gap" : "ours";
    const raw = cell.dataset[name];
    if (raw !== undefined && raw !== "") return Number(raw);
    return cell.dataset.text !== undefined ? cell.dataset.text : null;
  };
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" && typeof b === "number" ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const sort = (head) => {
    const table = head.closest("table");
    const body = table.tBodies[0];
    const place = head.cellIndex;
    const text = head.dataset.first === "ascending";
    const up = head.getAttribute("aria-sort") === "none" ? text
      : head.getAttribute("aria-sort") === "descending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = Array.from(body.rows);
    const plain = rows.filter((row) => !row.classList.contains("summary"));
    const keyed = plain.map((row) => [value(row, place), row]);
    keyed.sort((a, b) => (a[0] === null || b[0] === null ? compare(a[0], b[0])
      : (up ? 1 : -1) * compare(a[0], b[0])));
    const rest = rows.filter((row) => row.classList.contains("summary"));
    body.append(...keyed.map((pair) => pair[1]), ...rest);
  };
  for (const head of all("thead th")) {
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(head); }
    });
  }

  // words over points and cells
  const tip = document.getElementById("tip");
  const show = (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    if (!mark) { tip.classList.remove("on"); return; }
    tip.textContent = mark.dataset.tip;
    tip.classList.add("on");
    const width = tip.offsetWidth;
    const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (event.clientY > 60 ? event.clientY - 38 : event.clientY + 18) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
})();
