"use strict";

// The overview of the store and the cards of its caches.
const overview = {
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
    if (browser.name !== undefined) browser.showState(this.caches.get(browser.name)?.cache, names.has(browser.name));
  },

  add(cache) {
    const chip = element("li"), link = element("a"), card = element("section", "card waiting");
    card.append(element("h2", "", cache.shownName));
    link.href = "#cache=" + encodeURIComponent(cache.name);
    chip.append(link);
    const known = { cache, chip, link, card, isSeen: false, isOld: true };
    known.refresh = paced(async () => {
      known.isOld = false;
      try {
        const frame = element("div");
        frame.innerHTML = await ask("card", { cache: cache.name });
        const made = frame.firstElementChild, open = element("a", "open", "Show its rows");
        open.href = "#rows=" + encodeURIComponent(cache.name);
        made.querySelector("h2").append(open);
        card.replaceChildren(...made.childNodes);
      } catch (error) {
        card.replaceChildren(element("h2", "", cache.shownName), element("p", "defect", error.message));
      }
      card.className = "card";
    });
    this.caches.set(cache.name, known);
    card.known = known;
    this.watch.observe(card);
    return known;
  },

  // Scrolls to the card of a cache. Cards above it grow when they are loaded; browsers with scroll anchoring compensate
  // for that.
  show(name) { this.caches.get(name)?.card.scrollIntoView(); },

  watch: new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      target.known.isSeen = isIntersecting;
      if (isIntersecting && target.known.isOld) target.known.refresh();
    }
  }, { rootMargin: "300px" }),
};
