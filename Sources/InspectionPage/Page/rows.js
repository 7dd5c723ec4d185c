"use strict";

// The rows of one cache.
const browser = {
  name: undefined,
  search: 0,

  async open(name) {
    this.close();
    this.name = name;
    part("overview").hidden = true;
    part("browser").hidden = false;
    document.body.className = "rows";
    part("cacheName").textContent = overview.caches.get(name)?.cache.shownName ?? name;
    await this.read();
  },

  // Begins anew, with what the cache is now.
  async read() {
    const name = this.name;
    let view;
    try { view = await ask("view", { cache: name }); } catch (error) { if (this.name === name) this.fail(error); return; }
    if (this.name !== name) return;
    this.fail();
    const top = this.rows?.top ?? 0;
    this.rows?.close(); this.sections?.close();
    this.view = view;
    part("panes").classList.toggle("plain", !view.hasSections);
    part("sections").hidden = !view.hasSections;
    const head = element("div", "head");
    head.append(element("span", "cell place", "row"));
    if (view.hasSections) head.append(element("span", "cell section", "section"));
    for (const column of view.columns) {
      head.append(element("span", "cell " + column.kind, column.name));
    }
    this.rows = new RowList(part("rows"), head, async (from, limit) => {
      return (await ask("rows", { cache: name, from, limit })).rows;
    }, this.drawRow.bind(this));
    this.sections = new RowList(part("sections"), null, async (from, limit) => {
      return (await ask("sections", { cache: name, from, limit })).sections;
    }, this.drawSection.bind(this));
    this.rows.onfail = this.sections.onfail = error => this.fail(error);
    this.rows.ondraw = () => {
      const section = this.rows.row(this.rows.top)?.section;
      if (section !== undefined && section !== this.section) { this.section = section; this.sections.redraw(); }
    };
    this.showCount(view);
    this.sections.reload(view.sectionCount);
    this.rows.reload(view.count, new Map(), top);
  },

  // Shows why there are no rows, or nothing.
  fail(error) {
    part("unshown").textContent = error?.message ?? "";
    part("unshown").hidden = !error;
    part("panes").hidden = Boolean(error);
    if (!error) return;
    this.rows?.close(); this.sections?.close();
    this.rows = this.sections = this.section = undefined;
    part("rowCount").textContent = part("lastChange").textContent = "";
  },

  close() {
    this.fail();
    this.rows?.close(); this.sections?.close();
    this.rows = this.sections = this.name = this.section = undefined;
    this.search += 1;
    for (const id of ["found", "searchError", "more"]) part(id).hidden = true;
    for (const id of ["cacheState", "rowCount", "lastChange", "matches", "searchProgress"]) part(id).replaceChildren();
    part("overview").hidden = false;
    part("browser").hidden = true;
    document.body.className = "";
  },

  showState(cache, isNew) {
    part("cacheState").textContent = cache?.state ?? "deleted";
    part("cacheState").className = "state " + (cache?.style ?? "bad");
    if (isNew && !this.rows) this.read();
  },

  showCount({ count, sectionCount }) {
    const sections = this.view.hasSections ? ` in ${counted(sectionCount, "section")}` : "";
    part("rowCount").textContent = counted(count, "row") + sections;
  },

  drawRow(target, row, number, isTop) {
    const view = this.view, first = row?.sectionRow === 0;
    while (target.children.length < view.columns.length + (view.hasSections ? 2 : 1)) target.append(element("span"));
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
    if (row && target.dataset.id !== row.id) target.dataset.id = row.id;
  },

  drawSection(target, section, number) {
    while (target.children.length < 2) target.append(element("span"));
    target.children[0].className = section && !section.name ? "cell none" : "cell";
    target.children[0].textContent = section ? sectionTitle(section.name) : "";
    target.children[1].className = "cell number";
    target.children[1].textContent = section ? grouped(section.count) : "";
    target.classList.toggle("here", number === this.section);
    target.onclick = () => { if (section) this.rows.show(section.rowsBefore); };
  },

  async changed(change) {
    if (change.cache !== this.name) return;
    if (change.isReset || !this.rows) return this.read();
    const name = this.name, first = this.rows.row(this.rows.top);
    this.showCount(change);
    part("lastChange").textContent = change.sentence;
    let top;
    // Rows that come or go above do not push the screen's rows away.
    if (first && this.rows.top > 0 && change.shifts) {
      const found = await ask("place", { cache: name, id: first.id });
      if (found.row !== null) top = found.row;
    }
    if (this.name !== name) return;
    this.rows.reload(change.count, new Map(change.rows), top);
    this.sections.reload(change.sectionCount);
  },

  async find(where, from = 0, found = 0) {
    const search = this.search += 1, name = this.name, most = found + 200;
    part("found").hidden = false; part("more").hidden = true; part("searchError").hidden = true;
    if (from === 0) part("matches").replaceChildren();
    try {
      let count;
      do {
        const answer = await ask("search", { cache: name, where, from, limit: most - found });
        if (this.search !== search) return;
        for (const match of answer.matches) part("matches").append(this.match(match));
        found += answer.matches.length; from = answer.next; count = answer.count;
        part("searchProgress").textContent = `${counted(found, "row")} found in ${grouped(from)} of ${grouped(count)}`;
      } while (from < count && found < most);
      part("more").hidden = from >= count;
      part("more").onclick = () => this.find(where, from, found);
    } catch (error) {
      if (this.search !== search) return;
      part("searchProgress").textContent = "";
      part("searchError").hidden = false;
      part("searchError").textContent = error.message;
    }
  },

  match(match) {
    const item = element("li"), button = element("button", "", [grouped(match.number), ...match.values.filter(value => value !== null)].join("  ·  "));
    button.type = "button";
    button.onclick = async () => {
      // It may have moved since.
      const { row } = await ask("place", { cache: this.name, id: match.id });
      if (row === null) { button.disabled = true; return; }
      this.rows.show(row, false);
      this.rows.mark(match.id, "found");
    };
    item.append(button);
    return item;
  },
};

part("tools").onsubmit = event => {
  event.preventDefault();
  const where = part("where").value.trim(), number = part("rowNumber").value.replaceAll(/[\s,]/g, "");
  if (document.activeElement === part("rowNumber") && /^\d+$/.test(number)) return browser.rows?.show(Number(number));
  if (where) browser.find(where); else { browser.search += 1; part("found").hidden = true; }
};
