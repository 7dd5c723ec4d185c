"use strict";

// The overview of the store and the cards of its caches.
const overview = {
  // The page shows the filter if the store has at least this many caches.
  leastFiltered: 12,
  caches: new Map(),

  refreshStore: paced(async () => { part("store").innerHTML = await ask("store"); }),

  update({ caches, removed, isWhole }) {
    const names = new Set(caches.map(cache => cache.name));
    for (const name of isWhole ? [...this.caches.keys()].filter(name => !names.has(name)) : removed) {
      const gone = this.caches.get(name);
      if (!gone) continue;
      this.watch.unobserve(gone.card);
      gone.chip.remove(); gone.card.remove();
      this.caches.delete(name);
    }
    const count = this.caches.size;
    for (const cache of caches) {
      const known = this.caches.get(cache.name) ?? this.add(cache);
      known.cache = cache;
      known.link.className = cache.style;
      known.link.replaceChildren(cache.shownName + " ", element("span", "", cache.state));
      if (known.isSeen) known.refresh(); else known.isOld = true;
    }
    if (this.caches.size > count) {
      const sorted = [...this.caches.values()].sort((a, b) => (a.cache.name < b.cache.name ? -1 : 1));
      part("chips").append(...sorted.map(known => known.chip));
      part("cards").append(...sorted.map(known => known.card));
      if (address.card !== undefined && count === 0) this.show(address.card);
    }
    part("noCaches").hidden = this.caches.size > 0;
    part("filter").hidden = this.caches.size < this.leastFiltered;
    this.filter();
    if (browser.name !== undefined) browser.showState(this.caches.get(browser.name)?.cache, names.has(browser.name));
  },

  add(cache) {
    const chip = element("li"), link = element("a"), card = element("section", "card waiting");
    // The link stays when the card is read again, so it keeps the focus.
    const open = element("a", "open", "Show its rows"), frame = element("div");
    open.href = "#rows=" + encodeURIComponent(cache.name);
    open.ariaLabel = `Show its rows: ${cache.shownName}`;
    frame.append(element("h2", "", cache.shownName));
    card.append(open, frame);
    card.tabIndex = -1; card.role = "group"; card.ariaLabel = cache.shownName;
    link.href = "#cache=" + encodeURIComponent(cache.name);
    link.onclick = () => { if (location.hash === link.hash) this.show(cache.name); };
    chip.append(link);
    const known = { cache, chip, link, card, open, isSeen: false, isOld: true };
    known.refresh = paced(async () => {
      known.isOld = false;
      try {
        const made = element("div");
        made.innerHTML = await ask("card", { cache: cache.name });
        frame.replaceChildren(...made.firstElementChild.childNodes);
      } catch (error) {
        frame.replaceChildren(element("h2", "", cache.shownName), element("p", "defect", error.message));
      }
      card.className = "card";
    });
    this.caches.set(cache.name, known);
    card.known = known;
    this.watch.observe(card);
    return known;
  },

  // Hides the caches whose names and states don't have the text of the filter.
  filter() {
    const text = part("filter").hidden ? "" : part("filterText").value.trim().toLowerCase();
    let count = 0;
    for (const { cache, chip, card } of this.caches.values()) {
      const isShown = `${cache.shownName} ${cache.state}`.toLowerCase().includes(text);
      chip.hidden = card.hidden = !isShown;
      if (isShown) count += 1;
    }
    part("filtered").textContent = `${grouped(count)} of ${counted(this.caches.size, "cache")}`;
  },

  // Scrolls to the card of a cache and focuses it. Cards above it grow when they are loaded; browsers with scroll
  // anchoring compensate for that.
  show(name) {
    const card = this.caches.get(name)?.card;
    card?.scrollIntoView();
    card?.focus({ preventScroll: true });
  },

  watch: new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      const known = target.known;
      known.isSeen = isIntersecting;
      // Cards that are only scrolled past aren't read.
      if (isIntersecting) setTimeout(() => { if (known.isSeen && known.isOld) known.refresh(); }, 100);
    }
  }, { rootMargin: "300px" }),
};

part("filterText").oninput = () => {
  overview.filter();
  speak(part("filtered").textContent);
};
