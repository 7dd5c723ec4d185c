"use strict";

// A list of many rows. It reads and draws only the rows near those on the screen.
//
// Browsers limit the height of elements. In lists that need more than mostHeight, rows near both ends have their true
// places in the scrolled height, and the rows between share the rest of it. Small steps of the wheel move by true rows
// everywhere.
class RowList {
  static rowHeight = 28;
  static mostHeight = 8e6;
  static trueHeight = 1e6;
  static blockLength = 64;
  static spareRows = 8;
  static changeTime = 2500;

  #frame; #layer; #spacer; #read; #draw;
  #count = 0;
  #top = 0;
  #lastScroll = 0;
  #version = 0;
  #blocks = new Map();
  #elements = new Map();
  #changes = new Map();
  #settling;
  #isDrawing = false;
  #isClosed = false;

  // read(from, limit) returns a promise of rows; draw(element, row, number, isTop) fills the element of a row.
  constructor(frame, head, read, draw) {
    this.#frame = frame; this.#read = read; this.#draw = draw;
    this.#spacer = document.createElement("div");
    this.#spacer.className = "spacer";
    this.#layer = document.createElement("div");
    this.#layer.className = "layer";
    this.#spacer.append(this.#layer);
    frame.replaceChildren(...(head ? [head, this.#spacer] : [this.#spacer]));
    frame.onscroll = () => this.#scrolled();
    this.resized = new ResizeObserver(() => this.redraw());
    this.resized.observe(frame);
  }

  // Empties the frame, so that another list can use it.
  close() {
    this.#isClosed = true;
    this.resized.disconnect();
    clearTimeout(this.#settling);
    this.#frame.onscroll = null;
    this.#frame.replaceChildren();
  }

  get count() { return this.#count; }
  get top() { return Math.floor(this.#top); }
  row(number) {
    const length = RowList.blockLength;
    return this.#blocks.get(Math.floor(number / length))?.rows[number % length];
  }

  get page() { return Math.max(1, Math.floor(this.#shown) - 1); }
  isVisible(number) { return number >= this.#top && number <= this.#top + this.#shown - 1; }

  // Returns rows that have been read and are completely visible, with their numbers.
  visible() {
    const rows = [];
    for (let number = Math.ceil(this.#top); number < Math.min(this.#count, this.#top + this.#shown - 1); number += 1) {
      const row = this.row(number);
      if (row) rows.push({ number, row });
    }
    return rows;
  }

  get #head() { return this.#frame.firstElementChild === this.#spacer ? undefined : this.#frame.firstElementChild; }
  get #height() { return Math.max(RowList.rowHeight, this.#frame.clientHeight - (this.#head?.offsetHeight ?? 0)); }
  get #isTrue() { return this.#count * RowList.rowHeight <= RowList.mostHeight; }
  get #shown() { return this.#height / RowList.rowHeight; }
  get #lastTop() { return Math.max(0, this.#count - this.#shown); }
  get #range() { return Math.max(0, this.#spacer.offsetHeight - this.#height); }

  // Converts a row number to its place in the scrolled height; #rowAt is the inverse.
  #place(top) {
    const { rowHeight, trueHeight } = RowList, all = this.#lastTop * rowHeight, at = top * rowHeight;
    if (this.#isTrue || at <= trueHeight) return at;
    if (all - at <= trueHeight) return this.#range - (all - at);
    return trueHeight + (at - trueHeight) / (all - 2 * trueHeight) * (this.#range - 2 * trueHeight);
  }
  #rowAt(place) {
    const { rowHeight, trueHeight } = RowList, all = this.#lastTop * rowHeight, range = this.#range;
    if (this.#isTrue || place <= trueHeight) return place / rowHeight;
    if (range - place <= trueHeight) return (all - (range - place)) / rowHeight;
    return (trueHeight + (place - trueHeight) / (range - 2 * trueHeight) * (all - 2 * trueHeight)) / rowHeight;
  }

  #scrolled() {
    const place = this.#frame.scrollTop, step = place - this.#lastScroll;
    if (step === 0) return this.redraw();
    this.#lastScroll = place;
    const isStep = Math.abs(step) < this.#height * 1.5;
    this.#top = this.#limited(isStep ? this.#top + step / RowList.rowHeight : this.#rowAt(place));
    if (place <= 0) this.#top = 0;
    if (place >= this.#range - 1) this.#top = this.#lastTop;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => { if (!this.#takeScroll()) this.#settle(); }, 150);
    this.redraw();
  }

  // Handles a scroll whose event has not arrived yet: browsers send it with the next frame. If #settle set scrollTop first, the scroll
  // would be lost.
  #takeScroll() {
    const isWaiting = this.#frame.scrollTop !== this.#lastScroll;
    if (isWaiting) this.#scrolled();
    return isWaiting;
  }

  #limited(top) { return Math.min(Math.max(0, top), this.#lastTop); }

  #settle() {
    this.#frame.scrollTop = this.#place(this.#top);
    this.#lastScroll = this.#frame.scrollTop;
  }

  // Scrolls a row to the top, or to a third of the height.
  show(number, isAtTop = true) {
    this.#top = this.#limited(number - (isAtTop ? 0 : Math.floor(this.#shown / 3)));
    this.#settle();
    this.redraw();
  }

  // Scrolls as little as necessary to show a whole row.
  reveal(number) {
    if (number < this.#top) this.show(number);
    else if (!this.isVisible(number)) this.show(number + 1 - this.#shown);
  }

  // Sets the number of rows and reads all visible rows again. `changes` has kinds of change by row id; these rows are highlighted. The
  // visible rows have moved down by `shift`.
  reload(count, changes = new Map(), shift = 0) {
    this.#takeScroll();
    const until = performance.now() + RowList.changeTime;
    for (const [id, kind] of changes) this.#changes.set(id, { kind, until });
    for (const [number, element] of this.#elements) {
      const row = this.row(number);
      if (row && changes.get(row.id) === "deleted") this.#fadeOut(element);
    }
    this.#count = count;
    this.#version += 1;
    this.#spacer.style.height = Math.max(1, Math.min(count * RowList.rowHeight, RowList.mostHeight)) + "px";
    this.#top = this.#limited(this.#top + shift);
    this.#settle();
    this.redraw();
  }

  // Highlights a row for a moment.
  mark(id, kind) {
    this.#changes.set(id, { kind, until: performance.now() + RowList.changeTime });
    this.redraw();
  }

  #fadeOut(element) {
    const ghost = element.cloneNode(true);
    ghost.classList.add("deleted");
    ghost.ariaHidden = true;
    ghost.onanimationend = event => { if (event.animationName === "hide") ghost.remove(); };
    setTimeout(() => ghost.remove(), RowList.changeTime);
    this.#layer.append(ghost);
  }

  redraw() {
    if (this.#isDrawing || this.#isClosed) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => { this.#isDrawing = false; this.#drawRows(); });
  }

  #drawRows() {
    if (this.#isClosed) return;
    if (this.#head) this.#spacer.style.width = this.#head.offsetWidth + "px";
    this.#layer.style.height = Math.min(this.#height, Math.max(1, this.#count * RowList.rowHeight)) + "px";
    const first = Math.max(0, Math.floor(this.#top)), last = Math.min(this.#count, Math.ceil(this.#top + this.#shown) + 1);
    this.#readBlocks(first, last);
    const now = performance.now();
    for (const [id, change] of this.#changes) if (change.until < now) this.#changes.delete(id);
    for (const [number, element] of this.#elements) {
      if (number < first || number >= last) { element.remove(); this.#elements.delete(number); }
    }
    // Screen readers read elements in the document's order.
    let previous;
    for (let number = first; number < last; number += 1) {
      let element = this.#elements.get(number);
      if (!element) {
        element = document.createElement("div");
        this.#elements.set(number, element);
        if (previous) previous.after(element); else this.#layer.prepend(element);
      }
      previous = element;
      const row = this.row(number), kind = row && this.#changes.get(row.id)?.kind;
      element.style.transform = `translateY(${Math.round((number - this.#top) * RowList.rowHeight)}px)`;
      const name = "row " + (row ? kind ?? "" : "waiting");
      if (element.className !== name) element.className = name;
      this.#draw(element, row, number, number === first);
    }
    this.ondraw?.(first, last);
  }

  #readBlocks(first, last) {
    const length = RowList.blockLength, spare = RowList.spareRows;
    const from = Math.floor(Math.max(0, first - spare) / length), to = Math.floor(Math.max(0, last - 1 + spare) / length);
    for (const number of this.#blocks.keys()) if (number < from - 4 || number > to + 4) this.#blocks.delete(number);
    for (let number = from; number <= to && number * length < this.#count; number += 1) {
      let block = this.#blocks.get(number);
      if (!block) { block = { rows: [], version: -1 }; this.#blocks.set(number, block); }
      if (block.version === this.#version) continue;
      const version = block.version = this.#version;
      this.#read(number * length, length).then(rows => {
        if (block.version !== version || this.#isClosed) return;
        block.rows = rows;
        this.redraw();
      }, error => { if (block.version === version && !this.#isClosed) this.onfail?.(error); });
    }
  }
}
