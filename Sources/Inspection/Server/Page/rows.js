"use strict";

// The view of the rows of one cache. Each state of the rows has a number, which grows.
const browser = {
  name: undefined,
  state: 0,
  lastTop: 0,
  // The kinds of changes that are not shown yet, by row id.
  pending: new Map(),

  async open(name) {
    this.close();
    this.name = name;
    part("overview").hidden = true;
    part("browser").hidden = false;
    document.body.className = "rows";
    const shownName = overview.caches.get(name)?.cache.shownName ?? name;
    part("cacheName").textContent = part("cacheName").title = shownName;
    part("rows").ariaLabel = `Rows of ${shownName}`;
    part("back").href = "#cache=" + encodeURIComponent(name);
    document.title = `${shownName} – ${storeTitle}`;
    part("where").value = part("rowNumber").value = "";
    part("rowCount").textContent = "reading…";
    await this.read();
    // The keys scroll the rows at once. A hidden link keeps the focus until the browser draws the page again.
    const focused = document.activeElement, isFree = focused === document.body || part("overview").contains(focused);
    if (this.name === name && isFree) part("rows").focus({ preventScroll: true });
  },

  // Reads the view. Shows it unless the page shows another cache by then, or already this state or a newer one.
  async read() {
    const name = this.name;
    let view;
    try { view = await ask("view", { cache: name }); } catch (error) { if (this.name === name) this.fail(error); return; }
    if (this.name !== name || this.rows && view.state <= this.state) return;
    this.fail();
    const top = this.rows?.top ?? this.lastTop;
    this.rows?.close(); this.sections?.close();
    this.view = view;
    this.state = view.state;
    this.pending = new Map();
    part("panes").classList.toggle("plain", !view.hasSections);
    part("sections").hidden = !view.hasSections;
    const text = view.columns.find(column => column.kind === "text");
    part("where").placeholder = text ? `${text.name} CONTAINS[c] "x"` : "";
    const head = element("div", "head");
    head.append(element("span", "cell place", "row"));
    if (view.hasSections) head.append(element("span", "cell section", "section"));
    for (const column of view.columns) head.append(element("span", "cell " + column.kind, column.name));
    head.role = "row"; head.ariaRowIndex = 1;
    for (const cell of head.children) cell.role = "columnheader";
    const rows = new RowList(part("rows"), head, async (from, limit) => {
      return (await ask("rows", { cache: name, from, limit })).rows;
    }, this.drawRow.bind(this));
    const sections = new RowList(part("sections"), null, async (from, limit) => {
      return (await ask("sections", { cache: name, from, limit })).sections;
    }, this.drawSection.bind(this));
    this.rows = rows; this.sections = sections;
    rows.onfail = sections.onfail = error => this.fail(error);
    rows.ondraw = () => {
      const section = rows.row(rows.top)?.section;
      if (section === undefined || section === this.section) return;
      this.section = section;
      sections.redraw();
      // The list of sections does not scroll while the user is in it.
      if (!part("sections").matches(":hover, :focus") && !sections.isVisible(section)) sections.show(section, false);
    };
    this.showCount(view);
    sections.reload(view.sectionCount);
    rows.reload(view.count);
    rows.show(top);
  },

  // Arrow keys move the cursor through the sections; Enter and Space show the section at the cursor.
  moveCursor(event) {
    if (!this.sections || event.ctrlKey || event.altKey || event.metaKey) return;
    const { sections, view: { sectionCount } } = this, page = sections.page, at = this.cursor ?? this.section ?? 0;
    const to = {
      ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: sectionCount - 1,
      Enter: at, " ": at,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.cursor = Math.max(0, Math.min(to, sectionCount - 1));
    sections.reveal(this.cursor);
    const section = sections.row(at);
    if (to === at && section) this.rows.show(section.rowsBefore);
  },

  // Shows an error instead of the rows; without an error, shows the rows.
  fail(error) {
    part("unshown").textContent = error?.message ?? "";
    part("unshown").hidden = !error;
    part("panes").hidden = Boolean(error);
    if (!error) return;
    this.closeLists();
    part("rowCount").textContent = part("lastChange").textContent = "";
  },

  closeLists() {
    this.lastTop = this.rows?.top ?? this.lastTop;
    this.rows?.close(); this.sections?.close();
    this.rows = this.sections = this.section = this.cursor = undefined;
  },

  close() {
    this.fail();
    this.closeLists();
    this.name = undefined;
    this.lastTop = 0;
    document.title = storeTitle;
    search.close();
    for (const id of ["cacheState", "rowCount", "lastChange"]) part(id).replaceChildren();
    part("overview").hidden = false;
    part("browser").hidden = true;
    document.body.className = "";
  },

  showState(cache, isNew) {
    part("cacheState").textContent = cache?.state ?? "missing";
    part("cacheState").className = "state " + (cache?.style ?? "bad");
    if (isNew && !this.rows) this.read();
  },

  showCount({ count, sectionCount }) {
    this.view.sectionCount = sectionCount;
    part("rows").ariaRowCount = count + 1;
    const sections = this.view.hasSections ? ` in ${counted(sectionCount, "section")}` : "";
    part("rowCount").textContent = count === 0 ? "no rows" : counted(count, "row") + sections;
  },

  drawRow(target, row, number, isTop) {
    const view = this.view, first = row?.sectionRow === 0;
    while (target.children.length < view.columns.length + (view.hasSections ? 2 : 1)) {
      target.append(element("span"));
      target.lastElementChild.role = "cell";
    }
    target.role = "row"; target.ariaRowIndex = number + 2;
    const cells = target.children;
    const fill = (cell, text, className) => {
      if (cell.textContent !== text) cell.textContent = text;
      if (cell.className !== className) cell.className = className;
    };
    fill(cells[0], grouped(number), "cell place");
    if (view.hasSections) {
      const name = row?.sectionName;
      fill(cells[1], row && (first || isTop) ? sectionTitle(name) : "", name ? "cell section" : "cell section none");
      target.classList.toggle("begins", first);
    }
    const skipped = view.hasSections ? 2 : 1;
    view.columns.forEach((column, index) => {
      const value = row?.values[index];
      fill(cells[index + skipped], row ? value ?? "–" : "", `cell ${column.kind}${row && value === null ? " none" : ""}`);
    });
  },

  drawSection(target, section, number) {
    while (target.children.length < 2) target.append(element("span"));
    target.children[0].className = section && !section.name ? "cell none" : "cell";
    target.children[0].textContent = section ? sectionTitle(section.name) : "";
    target.children[1].className = "cell number";
    target.children[1].textContent = section ? grouped(section.count) : "";
    target.classList.toggle("here", number === this.section);
    const isCursor = number === (this.cursor ?? this.section);
    target.classList.toggle("cursor", isCursor);
    target.role = "option"; target.id = "section" + number;
    if (isCursor) part("sections").setAttribute("aria-activedescendant", target.id);
    target.ariaPosInSet = number + 1; target.ariaSetSize = this.view.sectionCount; target.ariaSelected = number === this.section;
    target.ariaLabel = section ? `${sectionTitle(section.name)}, ${counted(section.count, "row")}` : "";
    target.onclick = () => { if (section) this.rows.show(section.rowsBefore); };
  },

  async changed(change) {
    if (change.cache !== this.name) return;
    if (change.isReset || !this.rows) return this.read();
    if (change.state < this.state) return;
    this.state = change.state;
    const rows = this.rows;
    for (const [id, kind] of change.rows) this.pending.set(id, kind);
    this.showCount(change);
    // Each part of the sentence, such as "2 inserted", has the colour of its rows.
    part("lastChange").replaceChildren(...change.sentence.split(", ").flatMap((text, index) =>
      [index > 0 ? ", " : "", element("span", text.split(" ").at(-1), text)]));
    speak(change.sentence);
    let shift = 0;
    // Keeps the visible rows in place when rows above them are inserted or deleted.
    const anchor = rows.top > 0 && change.shifts && rows.visible().find(({ row }) => !this.pending.has(row.id));
    if (anchor) {
      const found = await ask("place", { cache: change.cache, id: anchor.row.id });
      // Meanwhile the list was closed, or a newer change came, which includes this one.
      if (this.rows !== rows || this.state !== change.state) return;
      if (found.row !== null) shift = found.row - anchor.number;
    }
    rows.reload(change.count, this.pending, shift);
    this.pending = new Map();
    this.sections.reload(change.sectionCount);
  },

  // Shows the current row of an object. Returns whether it is shown.
  async show(id) {
    const rows = this.rows;
    if (!rows) return false;
    const { row } = await ask("place", { cache: this.name, id });
    if (row === null || this.rows !== rows) return false;
    rows.show(row, false);
    rows.mark(id, "found");
    speak(`row ${grouped(row)} is shown`);
    return true;
  },
};

part("sections").onkeydown = event => browser.moveCursor(event);
part("sections").onblur = () => { browser.cursor = undefined; browser.sections?.redraw(); };
// A text that is cut off is shown as a whole by its tooltip.
part("rows").onmouseover = ({ target: cell }) => {
  if (cell.classList.contains("cell")) cell.title = cell.scrollWidth > cell.clientWidth ? cell.textContent : "";
};
