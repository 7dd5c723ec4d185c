"use strict";

// Events of the store come in one stream, which also names the cache whose rows are shown. A page that nobody sees has none:
// browsers keep only a few connections to a server.
let events, shownCache;

function listen(isAgain) {
  events?.close();
  events = new EventSource(shownCache === undefined ? "events" : `events?cache=${encodeURIComponent(shownCache)}`);
  const on = (kind, work) => events.addEventListener(kind, event => work(JSON.parse(event.data)));
  on("problem", ({ sentence }) => showProblem(sentence));
  on("caches", update => overview.update(update));
  on("store", () => overview.refreshStore());
  on("rows", change => browser.changed(change).catch(error => browser.fail(error)));
  events.onerror = () => showProblem("The page's program has ended or does not answer: start fetchindex browse again, and open the address that it prints.");
  events.onopen = () => {
    showProblem();
    // What happened meanwhile was not told.
    if (isAgain) {
      overview.refreshStore();
      if (browser.name !== undefined) browser.read();
    }
    isAgain = true;
  };
}

function cacheOfAddress() {
  const match = /^#rows=(.*)$/.exec(location.hash);
  try { return match ? decodeURIComponent(match[1]) : undefined; } catch { return undefined; }
}

async function route() {
  shownCache = cacheOfAddress();
  if (shownCache === undefined) browser.close();
  listen(false);
  if (shownCache !== undefined) await browser.open(shownCache);
}

addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => { if (document.hidden) events.close(); else listen(true); });
route();
